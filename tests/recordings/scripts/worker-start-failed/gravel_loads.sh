#!/usr/bin/env bash
# Weighbridge statistics of three gravel pits, run by cron on the dispatch server.
#
# Starts a scheduler and the workers, runs the statistics, stops all of it.  The settings of the server
# come from site.env, which the server's administrators deliver.
set -u
PYTHON=${PYTHON:-python}
STAMP() { date +%H:%M:%S; }

[ -f site.env ] || cat > site.env <<'SITE'
# network of the dispatch server since the move to the new rack
SITE_NAME=pit-office
WORKER_INTERFACE=bond7
WORKER_COUNT=2
WORKER_MEMORY=300MB
SITE
set -a
. ./site.env
set +a

cat > weigh_stats.py <<'PY'
"""Net loads for each pit and truck class from the weighbridge tickets."""
import os
import sys

import dask.bag as db
from distributed import Client


def tickets(pit, count=3000):
    import random
    rng = random.Random(pit)
    return [{"pit": pit, "axles": rng.choice([2, 3, 4]), "gross": rng.gauss(27, 4), "tare": rng.gauss(11, 1)}
            for _ in range(count)]


def net(ticket):
    return ticket["pit"], ticket["axles"], max(ticket["gross"] - ticket["tare"], 0)


def total(so_far, row):
    return so_far + row[2]


def main():
    wanted = int(os.environ["WORKER_COUNT"])
    with Client(scheduler_file="scheduler.json", timeout="15s") as client:
        print("connected to", client.scheduler.address, flush=True)
        client.wait_for_workers(wanted, timeout=12)
        bag = db.from_sequence(["north", "quarry", "river"], npartitions=3).map(tickets).flatten().map(net)
        sums = bag.foldby(lambda row: row[:2], total, 0.0, lambda a, b: a + b, 0.0).compute()
        for (pit, axles), tons in sorted(sums):
            print(f"{pit:8s} {axles} axles {tons:10.1f} t")


if __name__ == "__main__":
    sys.exit(main())
PY

rm -f scheduler.json
echo "$(STAMP) $SITE_NAME: starting"
$PYTHON -m dask scheduler --host 127.0.0.1 --port 0 --dashboard-address :0 --scheduler-file scheduler.json > scheduler.log 2>&1 &
SCHEDULER=$!
WORKERS=()

finish() {
    for pid in ${WORKERS[@]+"${WORKERS[@]}"} "$SCHEDULER"; do
        kill -TERM "$pid" 2>/dev/null
    done
    wait
    echo "$(STAMP) $SITE_NAME: all processes gone"
}
trap finish EXIT

for _ in $(seq 1 60); do
    [ -s scheduler.json ] && break
    sleep 0.25
done
[ -s scheduler.json ] || { echo "scheduler did not start, see scheduler.log"; exit 4; }

for number in $(seq 1 "$WORKER_COUNT"); do
    $PYTHON -m dask worker --scheduler-file scheduler.json --name "bridge-$number" --nthreads 1 \
        --interface "$WORKER_INTERFACE" --memory-limit "$WORKER_MEMORY" --no-dashboard > "worker-$number.log" 2>&1 &
    WORKERS+=($!)
done

$PYTHON weigh_stats.py
CODE=$?
if [ $CODE -ne 0 ]; then
    echo "$(STAMP) statistics ended with $CODE, the dispatchers get yesterday's table"
fi
exit $CODE
