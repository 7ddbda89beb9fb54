"""Pair dancers of a festival: five halls improve their pairings in rounds and swap dancers between rounds."""

import argparse
import logging
import random
import sys
import time

from dask.distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("tango")


def dancers(hall, count=40):
    rng = random.Random(hall)
    return [
        {
            "id": hall * 1000 + n,
            "height": rng.gauss(172, 9),
            "years": rng.randint(0, 25),
        }
        for n in range(count)
    ]


def cost(a, b):
    return abs(a["height"] - b["height"]) / 10 + abs(a["years"] - b["years"]) / 5


def improve(people, rng, steps=1500):
    people = list(people)
    for _ in range(steps):
        i, j = rng.sample(range(len(people)), 2)
        a, b = min(i, j), max(i, j)
        before = cost(people[a], people[a ^ 1]) + cost(people[b], people[b ^ 1])
        people[a], people[b] = people[b], people[a]
        after = cost(people[a], people[a ^ 1]) + cost(people[b], people[b ^ 1])
        if after > before:
            people[a], people[b] = people[b], people[a]
    return people


def meet(round_no, hall, halls, patience=None):
    """Come back when all halls have finished this round."""
    arrivals = Queue(f"round-{round_no}")
    arrivals.put(hall)
    logger = logging.getLogger("distributed.worker")
    last = None
    while (here := arrivals.qsize()) < halls:
        if here != last:
            logger.info(
                "hall %d waits in round %d: %d of %d halls are here",
                hall,
                round_no,
                here,
                halls,
            )
            last = here
        time.sleep(0.25)
    return here


def dance_hall(hall, people, halls, rounds):
    rng = random.Random(hall * 7)
    for round_no in range(rounds):
        people = improve(people, rng)
        meet(round_no, hall, halls)
        people = people[2:] + people[:2]
    pairs = list(zip(people[::2], people[1::2]))
    return {
        "hall": hall,
        "pairs": len(pairs),
        "cost": sum(cost(a, b) for a, b in pairs),
    }


def report(results):
    total = sum(r["cost"] for r in results)
    for r in sorted(results, key=lambda r: r["cost"]):
        log.info("hall %(hall)d: %(pairs)d pairs, cost %(cost).1f", r)
    return total


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--halls", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--deadline", type=float, default=30)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="300MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        people = client.map(dancers, range(args.halls), key="dancers")
        wait(people)
        results = [
            client.submit(
                dance_hall, h, people[h], args.halls, args.rounds, key=f"dance_hall-{h}"
            )
            for h in range(args.halls)
        ]
        finished, open_ones = wait_all(results, args.deadline)
        if open_ones:
            log.error(
                "%d of %d halls not finished after %.0f s",
                len(open_ones),
                args.halls,
                args.deadline,
            )
            return 2
        log.info("total cost %.1f", report(client.gather(results)))
    return 0


def wait_all(futures, deadline):
    end = time.monotonic() + deadline
    while time.monotonic() < end and any(f.status == "pending" for f in futures):
        time.sleep(0.5)
    done = [f for f in futures if f.done()]
    return done, [f for f in futures if not f.done()]


if __name__ == "__main__":
    sys.exit(main())
