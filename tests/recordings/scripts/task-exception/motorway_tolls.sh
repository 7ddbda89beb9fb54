#!/usr/bin/env bash
# Tolls of the motorway, priced every night: a scheduler and two workers are started, the passages of the day are
# priced on them, everything is stopped again. Rates are in an ini file that the concession's office maintains.
set -u
PYTHON=${PYTHON:-python}
here=$PWD
spool=$(mktemp -d)

mkdir -p etc
cat > etc/tolls.ini <<'INI'
[motorway]
per_km = 0.112
lorry_factor = 2.6
[tunnel]
flat = 9.50
INI

cat > toll_rates.py <<'PY'
"""Rates of the concession, from the file named by TOLLS_INI."""
import configparser
import functools
import os


@functools.cache
def read_rates():
    rates = configparser.ConfigParser()
    rates.read(os.environ.get("TOLLS_INI", "tolls.ini"))
    return {
        "per_km": rates.getfloat("motorway", "per_km"),
        "lorry": rates.getfloat("motorway", "lorry_factor"),
        "tunnel": rates.getfloat("tunnel", "flat"),
    }


def price_passages(passages):
    rates = read_rates()
    total = 0.0
    for km, lorry, tunnel in passages:
        total += km * rates["per_km"] * (rates["lorry"] if lorry else 1) + (rates["tunnel"] if tunnel else 0)
    return round(total, 2)
PY

cat > price_day.py <<'PY'
"""Prices the passages of one day and books the total per gantry."""
import sys
import time

from distributed import Client

import toll_rates


def passages_of(gantry):
    return [(5 + (gantry * 7 + n) % 60, n % 5 == 0, n % 11 == 0) for n in range(3000)]


def main(scheduler_file, day):
    print("rates of today:", toll_rates.read_rates(), flush=True)
    with Client(scheduler_file=scheduler_file, timeout=20) as client:
        client.wait_for_workers(2, timeout=30)
        gantries = list(range(1, 13))
        futures = client.map(toll_rates.price_passages, [passages_of(g) for g in gantries], retries=1)
        totals = {}
        try:
            for gantry, future in zip(gantries, futures):
                totals[gantry] = future.result()
        finally:
            with open(f"tolls-{day}.csv", "w") as book:
                for gantry in gantries:
                    book.write(f"{gantry};{totals[gantry]:.2f}\n")
                time.sleep(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
PY

export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
pids=()
stop() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    wait
    rm -rf "$spool"
}
trap stop EXIT

"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$spool/tolls.json" & pids+=($!)
for _ in $(seq 100); do [ -s "$spool/tolls.json" ] && break; sleep 0.2; done

cd "$spool"
for lane in 1 2; do
    "$PYTHON" -m dask worker --scheduler-file "$spool/tolls.json" --name "lane-$lane" --nthreads 1 \
        --memory-limit 300MB --no-dashboard & pids+=($!)
done
cd "$here"

day=2026-11-27
TOLLS_INI=etc/tolls.ini "$PYTHON" price_day.py "$spool/tolls.json" "$day"
status=$?
if [ $status -eq 0 ]; then echo "tolls of $day booked"; else echo "tolls of $day: pricing ended with status $status" >&2; fi
exit $status
