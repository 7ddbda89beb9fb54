#!/usr/bin/env bash
# MEMORY comes from the deployment's settings.
MEMORY="${MEMORY:-4 gigs}"
dask scheduler --port 0 --no-dashboard --scheduler-file sched.json > scheduler.log 2>&1 &
SCHED=$!
dask worker --nthreads 1 --memory-limit "$MEMORY" --scheduler-file sched.json > worker.log 2>&1 &
trap 'kill $SCHED; wait' EXIT

python - <<'PY'
from dask.distributed import Client

client = Client(scheduler_file="sched.json")
client.wait_for_workers(1, timeout=14)
print(client.submit(sum, range(100)).result())
PY
STATUS=$?
tail -3 worker.log
exit $STATUS
