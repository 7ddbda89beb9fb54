#!/usr/bin/env bash
# Someone cleans up "old" schedulers by cron while the job runs.
dask scheduler --port 0 --no-dashboard --scheduler-file sched.json &
SCHED=$!
dask worker --nthreads 1 --nworkers 2 --scheduler-file sched.json &
WORKERS=$!
(until [ -e job.lock ]; do sleep 0.2; done; sleep 4; kill -TERM $SCHED) &

python - <<'PY'
import time
from dask.distributed import Client, as_completed

def simulate(seed):
    time.sleep(0.5)
    return seed * seed

client = Client(scheduler_file="sched.json")
client.wait_for_workers(2)
open("job.lock", "w").close()
total = 0
for future in as_completed(client.map(simulate, range(60))):
    total += future.result()
print("total", total)
PY
STATUS=$?
kill $WORKERS 2>/dev/null
wait
exit $STATUS
