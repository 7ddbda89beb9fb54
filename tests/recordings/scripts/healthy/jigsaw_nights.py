"""Solve jigsaw puzzles overnight. Expects trouble: solvers that give up, a race of strategies, a restart at midnight."""

import logging
import random
import sys
import time

from dask.distributed import Client, LocalCluster, as_completed, get_worker, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("jigsaw")


class GivesUp(Exception):
    """A solver found no way on from its start."""


def pieces(puzzle):
    rng = random.Random(puzzle)
    return [(rng.random(), rng.random()) for _ in range(300)]


def solve(puzzle, parts):
    """Some starts lead nowhere; the next attempt starts elsewhere."""
    worker = get_worker()
    tries = worker.__dict__.setdefault("jigsaw_tries", {})
    tries[puzzle] = tries.get(puzzle, 0) + 1
    if puzzle % 3 == 0 and tries[puzzle] == 1:
        raise GivesUp(f"puzzle {puzzle}: no edge fits, start over")
    time.sleep(0.1)
    return {"puzzle": puzzle, "score": sum(x * y for x, y in parts)}


def strategy(name, seconds):
    end = time.time() + seconds
    while time.time() < end:
        time.sleep(0.1)
    return name


def damaged(puzzle):
    raise GivesUp(f"puzzle {puzzle}: {puzzle} pieces are missing from the box")


def solve_all(client, puzzles):
    parts = client.map(pieces, puzzles, key="pieces")
    solved = [
        client.submit(solve, p, part, key=f"solve-{p}", retries=4)
        for p, part in zip(puzzles, parts)
    ]
    return client.gather(solved)


def race(client):
    """The first strategy that returns wins, the others are stopped."""
    runners = [
        client.submit(strategy, n, s, key=f"strategy-{n}")
        for n, s in (("edges", 1.0), ("colours", 4.0), ("spiral", 9.0), ("random", 9.0))
    ]
    for future in as_completed(runners):
        winner = future.result()
        break
    losers = [f for f in runners if f.status == "pending"]
    client.cancel(losers)
    log.info("strategy %s won, %d cancelled", winner, len(losers))
    return winner


def report_damaged(client, puzzles):
    futures = {client.submit(damaged, p, key=f"damaged-{p}"): p for p in puzzles}
    wait(list(futures))
    lost = []
    for future, puzzle in futures.items():
        try:
            future.result()
        except GivesUp as exc:
            log.error("damaged box: %s", exc)
            lost.append(puzzle)
    return lost


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        first = solve_all(client, range(1, 13))
        log.info("evening: %d solved", len(first))
        winner = race(client)
        lost = report_damaged(client, [40, 41])
        log.warning("midnight: restarting the workers")
        client.restart(timeout=30)
        second = solve_all(client, range(50, 58))
        log.info(
            "morning: %d solved with %s, %d damaged boxes",
            len(second),
            winner,
            len(lost),
        )
        complete = len(first) == 12 and len(second) == 8 and lost == [40, 41]
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
