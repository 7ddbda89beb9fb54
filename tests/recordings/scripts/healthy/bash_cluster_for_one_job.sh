#!/usr/bin/env bash
set -eu
dask scheduler --port 0 --no-dashboard --scheduler-file sched.json > scheduler.log 2>&1 &
SCHED=$!
dask worker --nthreads 1 --nworkers 2 --scheduler-file sched.json > workers.log 2>&1 &
WORKERS=$!
trap 'kill $WORKERS $SCHED; wait' EXIT

cat > job.py <<'PY'
import dask.array as da
from dask.distributed import Client

if __name__ == "__main__":
    with Client(scheduler_file="sched.json") as client:
        client.wait_for_workers(2)
        x = da.random.random((4000, 2000), chunks=(1000, 1000))
        print("norm", float((x**2).sum().compute()) ** 0.5)
PY
python job.py
