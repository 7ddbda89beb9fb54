#!/usr/bin/env bash
# Hourly report of the sundial network: own scheduler, two workers, one python step.
# PYTHON may name the interpreter of the environment.
set -u
PYTHON=${PYTHON:-python}
WORK=$(mktemp -d)
SCHEDULER_FILE=$WORK/scheduler.json
PIDS=()

cleanup() {
    for pid in "${PIDS[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$WORK"
}
trap cleanup EXIT

say() { echo "[$(date +%H:%M:%S)] $*"; }

# the curators look at the running report in a notebook
SCHEDULER_OPTIONS=(--host 127.0.0.1 --port 0 --dashboard-address 127.0.0.1:0 --jupyter)

cat > "$WORK/report.py" <<'PY'
import logging
import sys

import numpy as np
from dask import delayed
from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("sundial")


@delayed
def readings(dial, hours=24):
    rng = np.random.default_rng(dial)
    angle = np.linspace(-90, 90, hours * 60)
    return angle + rng.normal(0, 0.4 + dial * 0.01, angle.size)


@delayed
def error_of(dial, measured):
    ideal = np.linspace(-90, 90, measured.size)
    return dial, float(np.abs(measured - ideal).mean())


@delayed
def table(rows):
    return "\n".join(f"dial {dial:3d}  {err:.3f} deg" for dial, err in sorted(rows))


def main(scheduler_file):
    log.info("connecting with %s", scheduler_file)
    with Client(scheduler_file=scheduler_file) as client:
        client.wait_for_workers(2, timeout=20)
        rows = [error_of(d, readings(d)) for d in range(30)]
        print(table(rows).compute())
        log.info("report finished")


if __name__ == "__main__":
    main(sys.argv[1])
PY

say "starting scheduler"
"$PYTHON" -m dask scheduler "${SCHEDULER_OPTIONS[@]}" --scheduler-file "$SCHEDULER_FILE" &
PIDS+=($!)
sleep 4

for name in gnomon style; do
    say "starting worker $name"
    "$PYTHON" -m dask worker --scheduler-file "$SCHEDULER_FILE" --name "$name" --nthreads 1 \
        --memory-limit 300MiB --no-dashboard --local-directory "$WORK" &
    PIDS+=($!)
done

say "report"
timeout 30 "$PYTHON" "$WORK/report.py" "$SCHEDULER_FILE"
rc=$?
say "report ended with $rc"
exit $rc
