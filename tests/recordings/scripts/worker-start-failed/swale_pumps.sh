#!/usr/bin/env bash
# Drainage board: nightly run hours of the pumping stations.
# Starts a scheduler and two workers on this host, runs the report, stops them.
set -u
PYTHON=${PYTHON:-python}
export PYTHONUNBUFFERED=1
PIDS=()

stop_all() {
    for pid in "${PIDS[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -f scheduler.json
}
trap stop_all EXIT

mkdir -p conf logs
cat > conf/board.yaml <<'YAML'
board: middle level
stations: [denver, upwell, welmore, salters_lode]
telemetry:
  host: localhost
  zone: fens-2
YAML

cat > conf/pump_setup.py <<'PY'
"""Loaded by each worker: pump constants are kept in the worker's memory."""
import logging
import pathlib

import yaml

log = logging.getLogger("distributed.pump_setup")

CONF = yaml.safe_load((pathlib.Path("conf") / "board.yaml").read_text())
STATIONS = CONF["stations"]
PUMP_ZONE = CONF["telemetry"]["pump_zone"]


def dask_setup(worker):
    log.info("pumps of board %s in %s", CONF["board"], PUMP_ZONE)
    worker.stations = STATIONS
PY

cat > report.py <<'PY'
"""Sums the run hours by station."""
import sys

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client

rng = np.random.default_rng(3)
frame = pd.DataFrame({"station": rng.choice(["denver", "upwell", "welmore"], 9000), "hours": rng.uniform(0, 1, 9000)})


def main():
    client = Client(scheduler_file="scheduler.json", timeout=20)
    print("connected to", client.scheduler.address)
    try:
        client.wait_for_workers(2, timeout=15)
        hours = dd.from_pandas(frame, npartitions=4).groupby("station")["hours"].sum().compute()
        hours.to_csv("hours.csv")
    finally:
        client.close()


if __name__ == "__main__":
    sys.exit(main())
PY

echo "starting the scheduler"
"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file scheduler.json > logs/scheduler.log 2>&1 &
PIDS+=($!)

for _ in $(seq 1 60); do
    [ -s scheduler.json ] && break
    sleep 0.25
done

for n in 1 2; do
    echo "starting worker $n"
    "$PYTHON" -m dask worker --scheduler-file scheduler.json --nworkers 1 --nthreads 1 --no-dashboard \
        --memory-limit 400MB --name "pumps-$n" --preload conf/pump_setup.py > "logs/worker$n.log" 2>&1 &
    PIDS+=($!)
done

echo "running the report"
"$PYTHON" report.py
status=$?
if [ $status -ne 0 ]; then
    echo "report failed with $status" >&2
fi
exit $status
