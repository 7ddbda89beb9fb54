#!/usr/bin/env bash
# Coracle hire of the river stations: the tills' receipts are tidied station by station and summed up
# for the morning's mail to the station masters.
set -euo pipefail

work=$(mktemp -d)
cleanup() {
    rc=$?
    rm -rf "$work"
    echo "hire report: ended with $rc"
}
trap cleanup EXIT

mkdir -p "$work/receipts"
for station in ironbridge llangollen cenarth bewdley hay ross; do
    {
        echo "time;boat;minutes;pence"
        for n in $(seq 1 60); do
            echo "2026-11-27T$((9 + n % 8)):$((n % 50 + 10));c$((n % 9)); $((20 + n)) ;$((350 + 5 * n))"
        done
    } > "$work/receipts/$station.txt"
done

cat > "$work/hires.py" <<'PY'
"""Sum of the hires of each station."""
import json
import subprocess
import sys
from pathlib import Path

import dask.bag as db
from distributed import Client


def tidy_receipts(path):
    """Blanks and broken lines are taken out by the till vendor's filter."""
    done = subprocess.run(
        ["till-tidy", "--separator", ";", path], check=True, capture_output=True, text=True
    )
    return {"station": Path(path).stem, "lines": done.stdout.splitlines()[1:]}


def takings(station):
    pence = sum(int(line.split(";")[3]) for line in station["lines"])
    return station["station"], pence / 100


def main(folder, target):
    paths = sorted(str(path) for path in Path(folder).glob("*.txt"))
    with Client(n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None):
        sums = db.from_sequence(paths, npartitions=3).map(tidy_receipts).map(takings).compute()
    Path(target).write_text(json.dumps(dict(sums), indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
PY

attempt=1
until ${PYTHON:-python} "$work/hires.py" "$work/receipts" "$work/hires.json"; do
    echo "hire report: attempt $attempt did not work" >&2
    if [ "$attempt" -ge 2 ]; then
        break
    fi
    attempt=$((attempt + 1))
    sleep 1
done

lines=$(wc -l < "$work/hires.json")
echo "mail to the station masters with $lines lines"
cat "$work/hires.json"
