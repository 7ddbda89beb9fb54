#!/usr/bin/env bash
# Nightly invoices of the boat charter: fares first, then the invoices.
#   charter_invoices.sh [MONTH]
set -u

MONTH="${1:-2026-10}"
PY="${PYTHON:-$(command -v python || command -v python3)}"
WORK="$(mktemp -d -t charter.XXXXXX)"
trap 'rm -rf "$WORK"' EXIT

say() { printf '%s charter: %s\n' "$(date +%H:%M:%S)" "$*"; }

cat > "$WORK/fares.py" <<'PYTHON'
"""Writes one fare file (fixed records for the accounting system) per harbour."""
import logging
import struct
import sys
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("fares")
HARBOURS = ["bergen", "kiel", "lisboa", "malmo", "nantes", "oban", "porto", "split"]
RECORD = ">hh"


def season_prices(harbour):
    """Price of every berth in cents."""
    time.sleep(0.5)
    base = 9000 + 700 * HARBOURS.index(harbour)
    prices = [base + 35 * berth for berth in range(300)]
    if harbour == "split":
        prices.append(40120)
    return prices


def pack_fares(harbour, prices, folder):
    time.sleep(0.4)
    packed = b"".join(struct.pack(RECORD, berth, cents) for berth, cents in enumerate(prices))
    (Path(folder) / f"{harbour}.fare").write_bytes(packed)
    return len(packed)


def close_fares(sizes, folder):
    """The index is written last: its presence says that all files are complete."""
    (Path(folder) / "INDEX").write_text("\n".join(map(str, sizes)))
    return sum(sizes)


def main(folder, scratch):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      local_directory=scratch, memory_limit="300MiB") as cluster, Client(cluster) as client:
        packed = []
        for harbour in HARBOURS:
            prices = client.submit(season_prices, harbour, key=f"season_prices-{harbour}")
            packed.append(client.submit(pack_fares, harbour, prices, folder, key=f"pack_fares-{harbour}"))
        total = client.submit(close_fares, packed, folder, key="close_fares")
        wait(packed)
        log.info("%d bytes of fares", total.result())


if __name__ == "__main__":
    main(*sys.argv[1:])
PYTHON

cat > "$WORK/invoices.py" <<'PYTHON'
"""Turns the bookings of a month into invoices, with the night's fares."""
import logging
import sys
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

log = logging.getLogger("invoices")


def load_bookings(day):
    time.sleep(0.3)
    return [(day, berth) for berth in range(0, 200, 7)]


def read_index(folder):
    return [int(line) for line in (Path(folder) / "INDEX").read_text().split()]


def bill_day(bookings, index):
    time.sleep(0.2)
    return len(bookings) * sum(index)


def main(folder, scratch, month):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      local_directory=scratch, memory_limit="300MiB") as cluster, Client(cluster) as client:
        index = client.submit(read_index, folder, key="read_index")
        days = [client.submit(load_bookings, f"{month}-{d:02d}", key=f"load_bookings-{d}") for d in range(1, 29)]
        bills = [client.submit(bill_day, b, index, key=f"bill_day-{n}") for n, b in enumerate(days)]
        log.info("month %s: %d", month, sum(client.gather(bills)))


if __name__ == "__main__":
    main(*sys.argv[1:])
PYTHON

mkdir -p "$WORK/fares" "$WORK/scratch"
say "fares for $MONTH"
"$PY" "$WORK/fares.py" "$WORK/fares" "$WORK/scratch" || say "fares step ended with $?, going on"
say "$(ls "$WORK/fares" | wc -l) files in the fare folder"
say "invoices for $MONTH"
"$PY" "$WORK/invoices.py" "$WORK/fares" "$WORK/scratch" "$MONTH"
code=$?
say "done with code $code"
exit $code
