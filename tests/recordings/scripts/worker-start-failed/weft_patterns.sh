#!/usr/bin/env bash
# Weave simulation of the new weft patterns.
#
# Starts a scheduler and two workers on this machine, waits for them, simulates
# the patterns and writes patterns.csv.  Each worker is prepared by loom_setup.py,
# which reads the settings of the loom that it stands for.
set -u
PYTHON="${PYTHON:-python}"
LOOMS="jacquard dobby"
mkdir -p logs settings

say() { printf '%s weft: %s\n' "$(date +%T)" "$*"; }

cat > settings/jacquard.json <<'JSON'
{"loom": "jacquard", "harness": {"hooks": 1344, "repeat": 2}, "picks_per_minute": 480}
JSON
cat > settings/dobby.json <<'JSON'
{"loom": "dobby", "shafts": 24, "picks_per_minute": 610}
JSON

cat > loom_setup.py <<'PY'
"""Prepare a worker for the loom that it stands for."""
import json
import os


def load(path):
    with open(path) as f:
        return json.load(f)


LOOM = load(os.environ["LOOM_SETTINGS"])
HOOKS = LOOM["harness"]["hooks"] * LOOM["harness"]["repeat"]


def dask_setup(worker):
    worker.loom_hooks = HOOKS
PY

cat > weave.py <<'PY'
"""Simulate patterns on the workers that stand for the looms."""
import csv
import sys
import time

from distributed import Client, get_worker


def weave(pattern, picks):
    time.sleep(0.2)
    hooks = get_worker().loom_hooks
    lifted = sum((pattern * p + 7) % hooks for p in range(1, picks))
    return pattern, lifted / picks / hooks


def main():
    with Client(scheduler_file="scheduler.json", timeout=15) as client:
        client.wait_for_workers(2, timeout=14)
        rows = client.gather(client.map(weave, range(3, 23), picks=800))
    with open("patterns.csv", "w", newline="") as f:
        csv.writer(f).writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
PY

pids=""
cleanup() {
    code=$?
    say "cleaning up"
    for pid in $pids; do kill "$pid" 2>/dev/null; done
    wait
    exit "$code"
}
trap cleanup EXIT

rm -f scheduler.json
"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file scheduler.json > logs/scheduler.log 2>&1 &
pids="$pids $!"
for _ in $(seq 60); do
    [ -s scheduler.json ] && break
    sleep 0.2
done

for loom in $LOOMS; do
    LOOM_SETTINGS="$PWD/settings/$loom.json" "$PYTHON" -m dask worker \
        --scheduler-file scheduler.json --name "$loom" --nthreads 1 \
        --memory-limit 300MB --no-dashboard --local-directory spill \
        --preload "$PWD/loom_setup.py" > "logs/$loom.log" 2>&1 &
    pids="$pids $!"
done

say "simulating"
if ! "$PYTHON" weave.py; then
    say "simulation failed, no patterns tonight"
    exit 4
fi
say "done: $(wc -l < patterns.csv) patterns"
