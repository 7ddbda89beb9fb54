"""Nightly yield of the apple presses. One host is drained on purpose while the job runs."""

import argparse
import logging
import os
import random
import sys
import tempfile
import time

from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("apple_presses")

PRESSES = ["braeburn", "cox", "elstar", "gala", "jonagold", "rubinette"]


class GaugeError(Exception):
    """A press answered with a reading that cannot be."""


def read_gauge(press, hour, folder):
    """The first reading of a press after a restart of its controller is nonsense; the next one is right."""
    time.sleep(0.4)
    mark = os.path.join(folder, f"{press}-{hour}")
    if hour == 2 and not os.path.exists(mark):
        open(mark, "w").close()
        raise GaugeError(f"press {press}: gauge says -1 bar")
    rng = random.Random(f"{press}{hour}")
    return {"press": press, "hour": hour, "litres": rng.randint(400, 700)}


def slow_forecast(press):
    for _ in range(600):
        time.sleep(0.1)
    return {"press": press, "source": "model"}


def last_year(press):
    time.sleep(0.3)
    return {"press": press, "source": "last year"}


def forecast(client, press):
    """Whoever is first; the loser is cancelled."""
    racers = [
        client.submit(slow_forecast, press, pure=False),
        client.submit(last_year, press, pure=False),
    ]
    winner = next(as_completed(racers))
    result = winner.result()
    client.cancel([racer for racer in racers if racer is not winner])
    return result


def collect(client, hours, folder):
    rows = []
    for hour in hours:
        futures = [
            client.submit(
                read_gauge,
                press,
                hour,
                folder,
                key=f"read_gauge-{press}-{hour}",
                retries=3,
            )
            for press in PRESSES
        ]
        rows += client.gather(futures)
        log.info(
            "hour %d: %d litres",
            hour,
            sum(row["litres"] for row in rows if row["hour"] == hour),
        )
    return rows


def drain_one(cluster, client):
    """The host of one worker is patched tonight."""
    log.warning("draining one of %d workers", len(client.scheduler_info()["workers"]))
    cluster.scale(1)
    while len(client.scheduler_info()["workers"]) > 1:
        time.sleep(0.2)
    log.warning("drained, %d worker left", len(client.scheduler_info()["workers"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=4)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with (
        tempfile.TemporaryDirectory(prefix="presses-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = collect(client, range(args.hours), folder)

        drain_one(cluster, client)
        cluster.scale(2)
        client.wait_for_workers(2, timeout=120)
        log.info("back to %d workers", len(client.scheduler_info()["workers"]))
        rows += collect(client, range(args.hours, args.hours + 2), folder)

        result = forecast(client, "gala")
        log.info("forecast of %s from %s", result["press"], result["source"])

        log.warning("restarting all workers before the audit, as every night")
        client.restart(timeout=120)
        broken = client.submit(
            read_gauge, "elstar", 2, os.path.join(folder, "no", "such", "folder")
        )
        error = broken.exception(timeout=120)
        log.error("audit: a missing folder is noticed: %r", error)
        assert isinstance(error, FileNotFoundError)

        expected = len(PRESSES) * (args.hours + 2)
        assert len(rows) == expected, (len(rows), expected)
        log.info(
            "%d readings, %d litres", len(rows), sum(row["litres"] for row in rows)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
