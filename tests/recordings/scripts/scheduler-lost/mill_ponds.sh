#!/usr/bin/env bash
# Water levels of mill ponds: routes the night's rain through 40 ponds.
# Starts its own small cluster, runs the model, collects the hydrographs.
set -u
PY="${PYTHON:-python}"
SLOT="${SLOT_SECONDS:-18}"          # the slot that the batch desk gives us
export DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=4s
export DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=20s

mkdir -p run logs
rm -f run/scheduler.json

cleanup() {
    status=$?
    for pid in "${WORKER_A:-}" "${WORKER_B:-}" "${SCHED:-}"; do
        [ -n "$pid" ] && kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    tail -n 3 logs/model.log 2>/dev/null
    exit "$status"
}
trap cleanup EXIT

cat > ponds.py <<'PY'
"""The routing model: one task per pond and six-hour window."""
import sys
import time

import numpy as np
from dask.distributed import Client


def rain(window, seed=11):
    rng = np.random.default_rng(seed + window)
    return rng.gamma(0.6, 3.0, 720)


def route_pond(pond, window, inflow):
    level, outflow = 1.2, []
    for step in inflow * (0.8 + 0.01 * pond):
        level = max(0.0, level + 0.01 * step - 0.004 * level**1.5)
        outflow.append(level)
    time.sleep(0.35)                    # the gate tables come from a slow disk
    return float(np.mean(outflow))


def main(path):
    with Client(scheduler_file=path, name="mill-ponds") as client:
        client.wait_for_workers(2, timeout=20)
        print("workers ready", flush=True)
        windows = client.map(rain, range(4))
        levels = [
            client.submit(route_pond, pond, w, windows[w])
            for w in range(4)
            for pond in range(40)
        ]
        means = client.gather(levels)
    np.savetxt("levels.csv", np.reshape(means, (4, 40)), delimiter=",")
    print("highest mean level", max(means))


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    finally:
        print("model left at", time.strftime("%H:%M:%S"), flush=True)
PY

timeout -s KILL "$SLOT" "$PY" -m distributed.cli.dask_scheduler \
    --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file run/scheduler.json > logs/scheduler.log 2>&1 &
SCHED=$!

for _ in $(seq 60); do
    [ -s run/scheduler.json ] && break
    sleep 0.25
done

for w in a b; do
    "$PY" -m distributed.cli.dask_worker --scheduler-file run/scheduler.json \
        --name "pond-$w" --nthreads 1 --memory-limit 300MB --no-dashboard \
        --death-timeout 10 > "logs/worker-$w.log" 2>&1 &
    [ "$w" = a ] && WORKER_A=$! || WORKER_B=$!
done

"$PY" ponds.py run/scheduler.json 2> >(tee logs/model.log >&2)
rc=$?
echo "model ended with $rc"
exit "$rc"
