"""Freight quotes for almond shippers.

Step one puts the tariff table on the quoting node. Step two turns the harbours' legacy booking
records into ours with the converter that came with the old system. Step three prices them.
"""

import logging
import os
import sys
import time

import dask
import pandas as pd
from distributed import Client, Nanny, Scheduler, SpecCluster, wait

log = logging.getLogger("freights")

dask.config.set({"distributed.scheduler.allowed-failures": 2})


def tariff_table():
    harbours = ["VLC", "MRS", "GOA", "PIR", "IZM", "HAI"]
    rows = [
        (a, b, 40 + 7 * i + 3 * j)
        for i, a in enumerate(harbours)
        for j, b in enumerate(harbours)
        if a != b
    ]
    return pd.DataFrame(rows, columns=["origin", "target", "per_ton"])


class LegacyConverter:
    """Port of the old booking converter; keeps its habits."""

    RECORD = 22

    def __init__(self, strict_host):
        self.strict_host = strict_host

    def fatal(self, code, text):
        sys.stderr.write(f"BOOKCONV: {text}\n")
        sys.stderr.flush()
        os._exit(code)

    def convert(self, line):
        if len(line) != self.RECORD:
            if self.strict_host:
                self.fatal(17, f"record length {len(line)}")
            line = line.ljust(self.RECORD)[: self.RECORD]
        return {
            "booking": line[:8].strip(),
            "origin": line[8:11],
            "target": line[11:14],
            "tons": float(line[14:22]),
        }


def convert_bookings(lines):
    from distributed import get_worker

    # the quoting node still runs with the old system's strict profile
    converter = LegacyConverter(strict_host=str(get_worker().name) == "quoting")
    time.sleep(0.3)
    return pd.DataFrame([converter.convert(line) for line in lines])


def price_bookings(bookings, tariff):
    priced = bookings.merge(tariff, on=["origin", "target"], how="left")
    priced["price"] = priced.tons * priced.per_ton
    return priced


def harbour_records(day):
    pairs = [("VLC", "GOA"), ("MRS", "PIR"), ("IZM", "HAI"), ("GOA", "IZM")]
    for i in range(30):
        a, b = pairs[i % 4]
        record = f"{'B%d%04d' % (day, i):<8}{a}{b}{12.5 + i:>8.2f}"
        yield record + "0" if (day, i) == (3, 19) else record


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    node = {
        "cls": Nanny,
        "options": {"nthreads": 1, "memory_limit": "400MB", "dashboard_address": None},
    }
    cluster = SpecCluster(
        scheduler={
            "cls": Scheduler,
            "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": None},
        },
        workers={"quoting": node, "archive": node},
    )
    client = None
    try:
        client = Client(cluster)
        client.wait_for_workers(2, timeout=20)
        infos = client.scheduler_info()["workers"]
        quoting = next(a for a, w in infos.items() if w["name"] == "quoting")

        tariff = client.scatter(tariff_table(), workers=[quoting])
        log.info("tariffs are on %s", quoting)

        days = [list(harbour_records(d)) for d in range(1, 6)]
        # day 3 is today: wanted where the tariffs are
        bookings = [
            client.submit(
                convert_bookings,
                lines,
                key=f"convert-bookings-{d}",
                workers=[quoting] if d == 3 else None,
                allow_other_workers=d == 3,
            )
            for d, lines in enumerate(days, 1)
        ]
        wait(bookings, timeout=40)
        log.info("%d days converted: %s", len(bookings), [b.status for b in bookings])

        priced = [
            client.submit(price_bookings, b, tariff, key=f"price-bookings-{i}")
            for i, b in enumerate(bookings, 1)
        ]
        total = pd.concat(client.gather(priced))
        print(f"{len(total)} quotes, {total.price.sum():.2f} EUR")
    finally:
        if client is not None:
            client.close()
        cluster.close()


if __name__ == "__main__":
    main()
