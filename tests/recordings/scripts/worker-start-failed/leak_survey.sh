#!/bin/bash
# Gas-leak survey: turns the night's sniffer readings into a list of places to dig.
#
# A scheduler and two workers on this host.  Workers load the network's units
# (pressure zones, conversion factors) from conf/units.ini by a preload, so that
# the jobs need not.
set -u
PYTHON=${PYTHON:-python}
HOME_DIR=$PWD
SCRATCH=$(mktemp -d)
PIDS=()

cleanup() {
    for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$SCRATCH"
}
trap cleanup EXIT

mkdir -p conf lib
cat > conf/units.ini <<'INI'
[pipeline]
zones = north, harbour, old-town
ppm_per_volt = 41.5

[survey]
threshold_ppm = 90
INI

cat > lib/survey_units.py <<'PY'
"""Units of the gas network, read once per worker."""
import configparser

parser = configparser.ConfigParser()
parser.read("conf/units.ini")
PPM_PER_VOLT = parser.getfloat("pipeline", "ppm_per_volt")
ZONES = [z.strip() for z in parser.get("pipeline", "zones").split(",")]


def dask_setup(worker):
    worker.zones = ZONES
    worker.ppm_per_volt = PPM_PER_VOLT
PY

cat > survey_job.py <<'PY'
"""Counts the readings over the threshold in each zone."""
import random
import sys

from dask.distributed import Client, get_worker


def places(zone):
    worker = get_worker()
    rng = random.Random(zone)
    volts = [rng.random() * 4 for _ in range(2000)]
    return zone, sum(v * worker.ppm_per_volt > 90 for v in volts)


def main():
    with Client(scheduler_file=sys.argv[1], timeout=20) as client:
        print("survey: waiting for the workers", flush=True)
        client.wait_for_workers(2, timeout=14)
        for zone, count in client.gather(client.map(places, ["north", "harbour", "old-town"])):
            print(zone, count)


if __name__ == "__main__":
    main()
PY

"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file "$SCRATCH/scheduler.json" &
PIDS+=($!)

for n in 1 2; do
    mkdir -p "$SCRATCH/worker-$n"
    (
        cd "$SCRATCH/worker-$n" || exit 1
        export PYTHONPATH="$HOME_DIR/lib"
        exec "$PYTHON" -m dask worker --scheduler-file "$SCRATCH/scheduler.json" \
            --name "sniffer-$n" --nthreads 1 --no-dashboard --preload survey_units
    ) &
    PIDS+=($!)
done

"$PYTHON" survey_job.py "$SCRATCH/scheduler.json"
status=$?
if [ $status -ne 0 ]; then
    echo "leak survey: no dig list today (status $status)" >&2
fi
exit $status
