#!/bin/bash
# Dockside weighings: average landed weight per species from the auction's scales.
# One scheduler, two worker processes, one small job; run from cron at 05:10.
set -u

PY=${PYTHON:-python}
HERE=$(pwd)
ADDRESS_FILE="$HERE/weighings-scheduler.json"
export DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=10s

# site settings; the same file serves the old machines in the fish hall
cat > weighings.env <<'EOF'
WORKERS=2
THREADS=1
MEMORY=300MB
WORKER_FLAGS="--nprocs 2 --nthreads 1 --memory-limit 300MB --no-dashboard"
EOF
. ./weighings.env

mkdir -p scales
"$PY" - <<'EOF'
import csv, random
rng = random.Random(27)
for scale in "ABCDEF":
    with open(f"scales/{scale}.csv", "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["species", "kg"])
        for _ in range(3000):
            out.writerow([rng.choice(["cod", "hake", "ling", "saithe"]), round(rng.uniform(0.4, 9.0), 2)])
EOF

cat > weighings_job.py <<'EOF'
import glob
import sys
from collections import defaultdict

from dask.distributed import Client, as_completed


def read_scale(path):
    import csv
    sums = {}
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            kg, n = sums.get(row["species"], (0.0, 0))
            sums[row["species"]] = (kg + float(row["kg"]), n + 1)
    return sums


def main(address_file):
    client = Client(scheduler_file=address_file)
    print("connected:", client.scheduler.address, flush=True)
    futures = client.map(read_scale, sorted(glob.glob("scales/*.csv")))
    total = defaultdict(lambda: [0.0, 0])
    try:
        for future in as_completed(futures, timeout=15):
            for species, (kg, n) in future.result().items():
                total[species][0] += kg
                total[species][1] += n
    finally:
        client.close()
    for species, (kg, n) in sorted(total.items()):
        print(f"{species:8} {kg / n:6.2f} kg in {n} boxes")


if __name__ == "__main__":
    main(sys.argv[1])
EOF

PIDS=""
cleanup() {
    for pid in $PIDS; do
        kill "$pid" 2>/dev/null
    done
    wait
    rm -f "$ADDRESS_FILE"
}
trap cleanup EXIT

"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$ADDRESS_FILE" > scheduler.log 2>&1 &
PIDS="$PIDS $!"

for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    [ -s "$ADDRESS_FILE" ] && break
    sleep 0.5
done
if [ ! -s "$ADDRESS_FILE" ]; then
    echo "scheduler did not write $ADDRESS_FILE" >&2
    exit 3
fi

"$PY" -m dask worker --scheduler-file "$ADDRESS_FILE" --name scale $WORKER_FLAGS > worker.log 2>&1 &
PIDS="$PIDS $!"

"$PY" weighings_job.py "$ADDRESS_FILE"
status=$?
echo "weighings: job ended with status $status"
exit $status
