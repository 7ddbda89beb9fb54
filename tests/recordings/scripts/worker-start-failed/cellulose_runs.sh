#!/usr/bin/env bash
# Cellulose mill: yield of the digester runs of the last shift.
# Brings up a small cluster on this host, runs the yield job, takes it down again.
set -u
PYTHON=${PYTHON:-python}
SHIFT=${SHIFT:-night}
MILL_SITE=${MILL_SITE:-kotka}
export MILL_SITE SHIFT
export PYTHONUNBUFFERED=1

work=$(pwd)
mkdir -p "$work/site" "$work/log"

# calibration of the sensors, one file per site
cat > "$work/site/calibration-rauma.json" <<'JSON'
{"kappa_offset": 0.4, "temperature_gain": 1.02}
JSON

# what every worker of the mill loads first
cat > "$work/mill_site.py" <<'PY'
"""Site settings of the mill for Dask workers."""
import json
import os

SITE = os.environ["MILL_SITE"]
with open(os.path.join("site", f"calibration-{SITE}.json")) as source:
    CALIBRATION = json.load(source)


def dask_setup(worker):
    worker.calibration = CALIBRATION
PY

cat > "$work/yield_job.py" <<'PY'
"""Yield of the digester runs."""
import random
import sys
import time

from dask.distributed import Client, get_worker


def run_yield(number):
    gain = get_worker().calibration["temperature_gain"]
    rng = random.Random(number)
    time.sleep(0.1)
    return 47.0 + rng.gauss(0, 1.5) * gain


def main():
    client = Client(scheduler_file="scheduler.json", timeout=15)
    for attempt in (1, 2):
        try:
            client.wait_for_workers(2, timeout=7)
            break
        except TimeoutError as problem:
            print(f"yield_job: attempt {attempt}: {problem}", flush=True)
            if attempt == 2:
                raise
    yields = client.gather(client.map(run_yield, range(40)))
    print(f"mean yield {sum(yields) / len(yields):.2f} % over {len(yields)} runs")
    client.close()


if __name__ == "__main__":
    sys.exit(main())
PY

pids=()
take_down() {
    status=$?
    trap - EXIT
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait
    rm -f "$work/scheduler.json"
    echo "cellulose_runs: shift $SHIFT ended with status $status"
    exit "$status"
}
trap take_down EXIT

"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --dashboard-address :0 \
    --scheduler-file "$work/scheduler.json" 2> "$work/log/scheduler.log" &
pids+=($!)

for _ in $(seq 60); do
    [ -s "$work/scheduler.json" ] && break
    sleep 0.25
done

for number in 1 2; do
    "$PYTHON" -m dask worker --scheduler-file "$work/scheduler.json" \
        --name "digester-$number" --nthreads 1 --memory-limit 400MB --host 127.0.0.1 \
        --preload "$work/mill_site.py" &
    pids+=($!)
done

"$PYTHON" "$work/yield_job.py" || {
    echo "cellulose_runs: yield job failed, no report for shift $SHIFT" >&2
    exit 4
}
echo "cellulose_runs: report for shift $SHIFT written"
