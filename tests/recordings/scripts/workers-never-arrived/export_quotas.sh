#!/usr/bin/env bash
# Export quotas of the dairies, once a week.
#
# Brings up a scheduler and two worker processes on this machine, runs the job against them and takes everything
# down again.  The options of the workers come from quotas.env, which the operations team keeps.
set -u
PYTHON="${PYTHON:-python}"

cat > quotas.env <<'ENV'
WORKER_OPTIONS="--nprocs 1 --nthreads 1 --memory-limit 300MB --no-dashboard"
WORKERS=2
PATIENCE=14
ENV

cat > quotas.py <<'PY'
"""Share the national quota among the dairies by their deliveries of the last three years."""
import os
import sys

import pandas as pd
from distributed import Client


def deliveries(year):
    n = 400
    return pd.DataFrame({
        "dairy": [f"D{i:03d}" for i in range(n)],
        "litres": [((i * 7919 + year * 31) % 5000) + 100.0 for i in range(n)],
    })


def share(frames, quota):
    total = pd.concat(frames).groupby("dairy")["litres"].sum()
    return (total / total.sum() * quota).round(1)


def main(address, wanted, patience):
    with Client(address, timeout=10) as client:
        print("connected to", address, flush=True)
        client.wait_for_workers(wanted, timeout=patience)
        frames = client.map(deliveries, [2023, 2024, 2025])
        table = client.submit(share, frames, 2_500_000.0).result()
        table.to_csv("quotas.csv")
        print(table.head())


if __name__ == "__main__":
    main(sys.argv[1], int(os.environ["WORKERS"]), int(os.environ["PATIENCE"]))
PY

set -a
. ./quotas.env
set +a

PORT=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
ADDRESS="tcp://127.0.0.1:$PORT"
pids=()

cleanup() {
    echo "taking the cluster down"
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait
}
trap cleanup EXIT

echo "scheduler at $ADDRESS"
"$PYTHON" -m dask scheduler --host 127.0.0.1 --port "$PORT" --no-dashboard &
pids+=($!)

for i in $(seq 1 "$WORKERS"); do
    # shellcheck disable=SC2086
    "$PYTHON" -m dask worker "$ADDRESS" --name "dairy-$i" $WORKER_OPTIONS > "worker-$i.log" 2>&1 &
    pids+=($!)
done

"$PYTHON" quotas.py "$ADDRESS"
status=$?
if [ "$status" -ne 0 ]; then
    echo "quotas were not computed (status $status)" >&2
fi
exit "$status"
