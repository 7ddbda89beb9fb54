#!/usr/bin/env bash
# Print files of the nautical charts that changed this week. Each sheet is composed from its layers and then set
# by the plotting command of the print shop. A small cluster is brought up for the run.
set -euo pipefail

PYTHON="${PYTHON:-python}"
WORK="$(mktemp -d)"
CONTACT="$WORK/scheduler.json"
children=()

tidy() {
    status=$?
    echo "$(date +%T) tidying up"
    for pid in "${children[@]:-}"; do
        [ -n "$pid" ] && kill "$pid" 2>/dev/null || true
    done
    wait 2>/dev/null || true
    rm -rf "$WORK"
    exit "$status"
}
trap tidy EXIT

echo "$(date +%T) cluster for the chart run"
"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$CONTACT" 2>"$WORK/scheduler.log" &
children+=($!)
for node in east west; do
    "$PYTHON" -m dask worker --scheduler-file "$CONTACT" --name "$node" --nthreads 1 --memory-limit 350MB \
        --no-dashboard --local-directory "$WORK/$node" 2>"$WORK/$node.log" &
    children+=($!)
done

for _ in $(seq 100); do
    [ -s "$CONTACT" ] && break
    sleep 0.1
done

cat >"$WORK/compose_charts.py" <<'PY'
"""Composes the sheets and hands them to the plotting command."""
import json
import subprocess
import sys
from pathlib import Path

from distributed import Client, wait

SHEETS = {
    "1120": ["coast", "depths", "lights"],
    "1121": ["coast", "depths", "lights", "wrecks"],
    "1135": ["coast", "depths"],
    "2046": ["coast", "depths", "lights", "cables"],
    "2047": ["coast", "depths", "cables"],
    "3301": ["coast", "lights"],
}


def compose_sheet(number, layers):
    items = []
    for position, layer in enumerate(layers):
        for step in range(4000):
            x = (int(number) * 31 + step * 17) % 841
            y = (position * 211 + step * 13) % 594
            items.append([layer, x, y])
    return {"sheet": number, "items": items}


def plot_sheet(sheet, folder):
    source = Path(folder) / f"{sheet['sheet']}.json"
    source.write_text(json.dumps(sheet))
    target = source.with_suffix(".ps")
    subprocess.run(["chartplot", "--paper", "A1", "--output", str(target), str(source)], check=True)
    return target.stat().st_size


def main(contact, folder):
    with Client(scheduler_file=contact, timeout=30) as client:
        client.wait_for_workers(2, timeout=30)
        sizes = {}
        for number, layers in SHEETS.items():
            sheet = client.submit(compose_sheet, number, layers)
            sizes[number] = client.submit(plot_sheet, sheet, folder, retries=1)
        wait(list(sizes.values()))
        done = [number for number, future in sizes.items() if future.status == "finished"]
        print(f"{len(done)} of {len(SHEETS)} sheets plotted", flush=True)
        for number, future in sizes.items():
            print(f"sheet {number}: {future.result() / 1024:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
PY

mkdir "$WORK/sheets"
"$PYTHON" "$WORK/compose_charts.py" "$CONTACT" "$WORK/sheets"

tar -C "$WORK/sheets" -czf charts.tar.gz .
echo "$(date +%T) charts packed for the print shop"
