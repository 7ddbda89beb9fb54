import csv
import datetime as dt
import logging
import os
import sys
import tempfile
from zoneinfo import ZoneInfo

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("slots")
AIRPORTS = {
    "AMS": "Europe/Amsterdam",
    "ATH": "Europe/Athens",
    "BCN": "Europe/Madrid",
    "BUD": "Europe/Budapest",
    "CPH": "Europe/Copenhagen",
    "DUB": "Europe/Dublin",
    "FRA": "Europe/Berlin",
    "GVA": "Europe/Zurich",
    "HEL": "Europe/Helsinki",
    "IST": "Europe/Istanbul",
    "KIV": "Europe/Chisinau",
    "LIS": "Europe/Lisbon",
    "LJU": "Europe/Ljubliana",
    "LUX": "Europe/Luxembourg",
    "OSL": "Europe/Oslo",
    "OTP": "Europe/Bucharest",
    "PRG": "Europe/Prague",
    "RIX": "Europe/Riga",
    "SOF": "Europe/Sofia",
    "ARN": "Europe/Stockholm",
    "TLL": "Europe/Tallinn",
    "VIE": "Europe/Vienna",
    "VNO": "Europe/Vilnius",
    "WAW": "Europe/Warsaw",
}


def to_utc(code, zone, day):
    start = dt.datetime.combine(day, dt.time(5, 0), ZoneInfo(zone))
    slots = [start + dt.timedelta(minutes=20 * k) for k in range(50)]
    return code, [s.astimezone(dt.timezone.utc).isoformat() for s in slots]


def convert(client, day, out):
    futures = {
        client.submit(to_utc, code, zone, day, key=f"slots-{code}"): code
        for code, zone in AIRPORTS.items()
    }
    failed = []
    with open(out, "w", newline="") as fh:
        writer = csv.writer(fh)
        for future in as_completed(futures):
            if future.status == "error":
                failed.append(futures[future])
                continue
            code, slots = future.result()
            writer.writerows((code, s) for s in slots)
    return failed


def main():
    logging.basicConfig(level=logging.WARNING)
    day = dt.date(2026, 10, 25)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "slots.csv")
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            failed = convert(client, day, out)
        rows = sum(1 for _ in open(out))
        print(f"{rows} slots written for {day}")
    if failed:
        log.error(
            "%d airport(s) not converted: %s", len(failed), ", ".join(sorted(failed))
        )
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
