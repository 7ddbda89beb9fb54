"""Collect the fixes of the wombat collars and count visits per burrow.

Collar readers put their fixes on a bounded queue (so that they do not run
ahead of the counting), `count_visits` takes them off.
"""

import argparse
import logging
import random
import sys
import time
from collections import Counter

from distributed import Client, LocalCluster, Queue

log = logging.getLogger("wombat_burrows")

DONE = "end-of-collar"
BURROWS = ["creek", "stump", "ridge", "fence", "quarry"]


def read_collar(collar, fixes, queue_name):
    """Decode the fixes of a collar and hand them over one by one."""
    rng = random.Random(collar)
    queue = Queue(queue_name)
    for number in range(fixes):
        time.sleep(0.02)
        queue.put({"collar": collar, "fix": number, "burrow": rng.choice(BURROWS)})
    queue.put(DONE)
    return fixes


def count_visits(collars, queue_name):
    """Count the fixes until every collar has said that it is done."""
    queue = Queue(queue_name)
    visits, open_collars = Counter(), collars
    while open_collars:
        item = queue.get()
        if item == DONE:
            open_collars -= 1
        else:
            visits[item["burrow"]] += 1
    return dict(visits)


def battery_level(collar):
    return round(random.Random(collar * 7).uniform(3.1, 4.2), 2)


def check_batteries(client, collars):
    levels = client.gather(client.map(battery_level, range(collars)))
    weak = [number for number, level in enumerate(levels) if level < 3.4]
    log.info("%d collars, weak batteries: %s", collars, weak or "none")


def wait_for_first_fixes(queue, count, patience):
    """The counter is sent off once the first fixes are in."""
    end = time.monotonic() + patience
    while queue.qsize() < count and time.monotonic() < end:
        time.sleep(0.3)
    log.info("%d fixes on the queue", queue.qsize())


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--collars", type=int, default=3)
    parser.add_argument("--fixes", type=int, default=60)
    parser.add_argument("--backlog", type=int, default=12)
    parser.add_argument("--deadline", type=float, default=25)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        check_batteries(client, args.collars)
        queue = Queue("collar-fixes", client=client, maxsize=args.backlog)
        readers = client.map(
            read_collar, range(args.collars), fixes=args.fixes, queue_name=queue.name
        )
        wait_for_first_fixes(queue, args.backlog, patience=20)
        visits = client.submit(count_visits, args.collars, queue.name)

        try:
            for burrow, number in sorted(visits.result(timeout=args.deadline).items()):
                log.info("%-8s %4d visits", burrow, number)
        except TimeoutError:
            log.error(
                "no visits after %.0f s, the nightly window is over", args.deadline
            )
            return 1
        log.info("%d fixes read", sum(client.gather(readers)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
