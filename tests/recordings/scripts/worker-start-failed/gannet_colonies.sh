#!/bin/bash
# Gannet colonies: counts nests on the drone tiles of the season and writes nests.csv for the reserve's wardens.
# Usage: gannet_colonies.sh [season]
set -u
PYTHON="${PYTHON:-python}"
SEASON="${1:-2026}"
WORKERS=2
THREADS=1
here="$PWD"
mkdir -p logs tiles

cat > make_tiles.py <<'PY'
import sys

import numpy as np

rng = np.random.default_rng(int(sys.argv[1]))
for name in ("stac-lee", "boreray", "sule-skerry", "bass"):
    np.save(f"tiles/{name}.npy", rng.random((300, 300)).astype("float32"))
PY

cat > count_nests.py <<'PY'
"""Count bright spots on each tile."""
import csv
import pathlib
import sys

import numpy as np
from distributed import Client


def nests(path):
    tile = np.load(path)
    bright = tile > 0.995
    return pathlib.Path(path).stem, int(bright.sum())


if __name__ == "__main__":
    workers = int(sys.argv[1])
    with Client(scheduler_file="colony.json", timeout=20) as client:
        client.wait_for_workers(workers, timeout=12)
        tiles = sorted(str(p.resolve()) for p in pathlib.Path("tiles").glob("*.npy"))
        rows = client.gather(client.map(nests, tiles))
    with open("nests.csv", "w", newline="") as f:
        csv.writer(f).writerows([("colony", "nests"), *rows])
    print(f"{len(rows)} colonies counted")
PY

pids=()
cleanup() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -f "$here/colony.json"
}
trap cleanup EXIT

"$PYTHON" make_tiles.py "$SEASON" || exit 2

"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file colony.json > logs/scheduler.log 2>&1 &
pids+=($!)

for i in $(seq 200); do
    [ -s colony.json ] && break
    sleep 0.1
done

# two processes on the reserve's box, one thread each: numpy holds the cores anyway
"$PYTHON" -m dask worker --scheduler-file colony.json --nprocs "$WORKERS" --nthreads "$THREADS" \
    --memory-limit 400MB --no-dashboard --local-directory "$here/scratch" > logs/workers.log 2>&1 &
pids+=($!)

"$PYTHON" count_nests.py "$WORKERS"
status=$?
if [ "$status" -ne 0 ]; then
    echo "count for season $SEASON failed with status $status" >&2
    tail -n 3 logs/scheduler.log >&2
else
    column -s, -t nests.csv
fi
exit "$status"
