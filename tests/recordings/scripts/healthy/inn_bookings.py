"""Collects tomorrow's bookings of a group of country inns and proposes prices.

The inns' booking systems are slow and often refuse the first call, so calls are repeated.  The cluster grows with
the number of inns that wait and shrinks afterwards.
"""

import argparse
import datetime
import logging
import pathlib
import statistics
import tempfile
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

logger = logging.getLogger("inn_bookings")


class InnBusy(ConnectionError):
    """The booking system asks to call again."""


def call(inn, day, marks):
    """One inn's bookings; every third inn refuses its first call of the night."""
    mark = pathlib.Path(marks) / f"inn_{inn}"
    time.sleep(0.3)
    if inn % 3 == 0 and not mark.exists():
        mark.touch()
        raise InnBusy(f"inn {inn}: busy, call again")
    rng = np.random.default_rng(inn * 1000 + day.toordinal() % 1000)
    rooms = int(rng.integers(8, 40))
    return {
        "inn": inn,
        "rooms": rooms,
        "booked": int(rng.integers(0, rooms + 1)),
        "last": float(rng.normal(92, 12)),
    }


def price(bookings):
    share = bookings["booked"] / bookings["rooms"]
    time.sleep(0.05)
    return bookings["inn"], round(bookings["last"] * (0.85 + 0.4 * share), 1)


def optional_events(day):
    """The tourist office's calendar; not every day has one."""
    try:
        return pathlib.Path(f"events_{day:%Y%m%d}.txt").read_text().splitlines()
    except FileNotFoundError:
        logger.info("no events on %s", day)
        return []


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--inns", type=int, default=45)
    parser.add_argument(
        "--day", type=datetime.date.fromisoformat, default=datetime.date(2026, 11, 28)
    )
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)-7s %(name)s: %(message)s"
    )

    events = optional_events(args.day)
    with tempfile.TemporaryDirectory(prefix="inns-") as marks:
        with LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster:
            cluster.adapt(minimum=1, maximum=3, interval="500ms", wait_count=3)
            with Client(cluster) as client:
                calls = [
                    client.submit(
                        call, inn, args.day, marks, key=f"call-{inn}", retries=2
                    )
                    for inn in range(args.inns)
                ]
                prices = {}
                for future in as_completed(
                    [
                        client.submit(price, bookings, key=f"price-{inn}")
                        for inn, bookings in enumerate(calls)
                    ]
                ):
                    inn, value = future.result()
                    prices[inn] = value + (5 if events else 0)
                logger.info(
                    "%d prices, median %.1f, %d workers at the end of the calls",
                    len(prices),
                    statistics.median(prices.values()),
                    len(cluster.workers),
                )
                del calls, future
                # the quiet part of the night: one inn after the other is told its price
                for inn in sorted(prices)[:10]:
                    client.submit(time.sleep, 0.2, key=f"tell-{inn}").result()
                logger.info("told; %d workers", len(cluster.workers))
        assert len(prices) == args.inns


if __name__ == "__main__":
    main()
