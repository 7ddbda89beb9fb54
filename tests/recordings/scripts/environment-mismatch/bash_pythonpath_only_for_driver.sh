#!/usr/bin/env bash
# Starts a small cluster, runs the job and takes everything down again.
set -u
mkdir -p lib
cat > lib/geo_tools.py <<'PY'
def to_grid(point):
    lat, lon = point
    return int(lat * 10), int(lon * 10)
PY
cat > job.py <<'PY'
from dask.distributed import Client
import geo_tools

client = Client(scheduler_file="sched.json")
client.wait_for_workers(4, timeout=60)
points = [(n / 7, n / 11) for n in range(200)]
futures = client.map(geo_tools.to_grid, points)
cells = [future.result(timeout=12) for future in futures]
print(len(set(cells)), "cells")
PY

PYTHONPATH=lib:${PYTHONPATH:-} dask scheduler --port 0 --no-dashboard --scheduler-file sched.json &
SCHED=$!
dask worker --nworkers 4 --nthreads 1 --scheduler-file sched.json &
WORKERS=$!
trap 'kill $WORKERS $SCHED; wait' EXIT

PYTHONPATH=lib:${PYTHONPATH:-} python job.py
STATUS=$?
echo "job.py ended with $STATUS"
exit $STATUS
