"""Collect a tide cycle from the estuary's gauges.

Pollers read the gauges and put their readings on a queue; consumers take them
off, despike them and keep the highest water level per gauge.  When all pollers
are done the consumers are told that nothing more will come.
"""

import argparse
import logging
import math
import random
import sys
import tempfile
import time
from urllib.parse import urlsplit

from dask.distributed import Client, LocalCluster, Queue

log = logging.getLogger("estuary_gauges")

GAUGES = ["north-pier", "south-pier", "ferry-slip", "weir", "old-lock", "bar-buoy"]
QUEUE = "gauge-readings"


def poll_gauge(gauge, n, seed):
    """Put n readings of one gauge on the queue."""
    rng = random.Random(f"{seed}-{gauge}")
    queue = Queue(QUEUE)
    for i in range(n):
        level = 2.4 + 1.9 * math.sin(i / n * 2 * math.pi) + rng.gauss(0, 0.03)
        if rng.random() < 0.02:
            level += 8  # a wake or a bird
        queue.put({"gauge": gauge, "minute": i * 10, "level": level})
        time.sleep(0.02)
    return gauge, n


def despike(level, last):
    if last is not None and abs(level - last) > 3:
        return last
    return level


def consume_readings(name):
    """Take readings until the end marker; return the highest level per gauge."""
    wlog = logging.getLogger("distributed.worker.consume")
    queue = Queue(QUEUE)
    highest, last, count = {}, {}, 0
    while True:
        item = queue.get()
        if item is None:
            wlog.warning("consumer %s: end marker after %d readings", name, count)
            break
        count += 1
        level = despike(item["level"], last.get(item["gauge"]))
        last[item["gauge"]] = level
        highest[item["gauge"]] = max(level, highest.get(item["gauge"], -99.0))
    return {"consumer": name, "count": count, "highest": highest}


def finish_queue(client):
    """Tell the consumers that all readings are in."""
    hosts = {urlsplit(addr).hostname for addr in client.scheduler_info()["workers"]}
    queue = Queue(QUEUE)
    for host in sorted(hosts):
        queue.put(None)
    log.info("end markers put: %d", len(hosts))


def merge(parts):
    out = {}
    for part in parts:
        for gauge, level in part["highest"].items():
            out[gauge] = max(level, out.get(gauge, -99.0))
    return out


def run(client, args):
    consumers = [
        client.submit(
            consume_readings, f"c{i}", key=f"consume_readings-{i}", pure=False
        )
        for i in range(args.consumers)
    ]
    pollers = [
        client.submit(
            poll_gauge, g, args.readings, args.seed, key=f"poll_gauge-{g}", priority=5
        )
        for g in GAUGES
    ]
    total = sum(n for _, n in client.gather(pollers))
    log.info("all %d pollers finished, %d readings", len(pollers), total)
    finish_queue(client)

    deadline = time.monotonic() + args.limit
    parts = []
    for i, fut in enumerate(consumers):
        parts.append(fut.result(timeout=max(deadline - time.monotonic(), 0.1)))
        log.info(
            "consumer %s returned %d readings",
            parts[-1]["consumer"],
            parts[-1]["count"],
        )
    return merge(parts)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--readings", type=int, default=144)
    p.add_argument("--consumers", type=int, default=2)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--limit", type=float, default=25)
    args = p.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="estuary-") as work:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=2,
                dashboard_address=":0",
                local_directory=work,
            ) as cluster,
            Client(cluster) as client,
        ):
            highest = run(client, args)
    for gauge, level in sorted(highest.items()):
        log.info("%-12s %.2f m", gauge, level)
    return 0


if __name__ == "__main__":
    sys.exit(main())
