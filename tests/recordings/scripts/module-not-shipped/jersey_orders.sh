#!/usr/bin/env bash
# Club shop of a football league: sum the sizes of all jerseys ordered and reserve the cloth.
# The nightly job lives in jobs/, the workers' home is farm/.
set -u

PYTHON="${PYTHON:-python}"
HOME_DIR="$PWD"
mkdir -p jobs farm logs
export DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=15s

cat > jobs/kit_sizes.py <<'PY'
"""How much cloth a jersey takes."""
CLOTH_M2 = {"XS": 0.9, "S": 1.0, "M": 1.15, "L": 1.3, "XL": 1.45, "XXL": 1.6}


def cloth_of(order):
    club, sizes = order
    return club, sum(CLOTH_M2[size] * n for size, n in sizes.items())


def waste(total, share=0.08):
    return total * (1 + share)
PY

cat > jobs/reserve_cloth.py <<'PY'
"""Reserve the cloth of all clubs' orders."""
import random
import sys

from distributed import Client

import kit_sizes


def orders(seed):
    rng = random.Random(seed)
    clubs = ["Rovers", "United", "Albion", "Athletic", "Wanderers", "Harriers"]
    return [(club, {s: rng.randrange(5, 60) for s in kit_sizes.CLOTH_M2}) for club in clubs]


def total(per_club):
    return sum(m2 for _, m2 in per_club)


def main(scheduler_file):
    with Client(scheduler_file=scheduler_file, timeout=20) as client:
        client.wait_for_workers(2, timeout=10)
        todays = client.submit(orders, 28).result(timeout=10) if "--remote" in sys.argv else orders(28)
        print(f"{len(todays)} clubs have ordered", flush=True)
        cloth = client.map(kit_sizes.cloth_of, todays, retries=1)
        m2 = client.submit(total, cloth)
        print(f"reserved {kit_sizes.waste(m2.result(timeout=12)):.0f} m2")


if __name__ == "__main__":
    main(sys.argv[1])
PY

PIDS=()
finish() {
    for pid in "${PIDS[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
}
trap finish EXIT

FILE="$HOME_DIR/farm/scheduler.json"
rm -f "$FILE"
# the scheduler is started from the job's folder by the job's own unit
(cd jobs && exec "$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file "$FILE") > logs/scheduler.log 2>&1 &
PIDS+=($!)
for i in 1 2; do
    (cd farm && exec "$PYTHON" -m dask worker --scheduler-file "$FILE" --name "press-$i" --nthreads 1 \
        --memory-limit 400MB --no-dashboard --local-directory "$HOME_DIR/farm") > "logs/press-$i.log" 2>&1 &
    PIDS+=($!)
done

for attempt in 1 2; do
    echo "jersey orders, attempt $attempt"
    if (cd jobs && "$PYTHON" reserve_cloth.py "$FILE"); then
        echo "cloth is reserved"
        exit 0
    fi
    sleep 1
done
echo "cloth was not reserved" >&2
exit 4
