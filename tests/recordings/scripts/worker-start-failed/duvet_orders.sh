#!/usr/bin/env bash
# Nightly price check of the duvet and pillow orders.
# Starts a scheduler and two workers on this host, runs the report against them and stops them again.
set -u
PY="${PYTHON:-python}"
WORK="run"
mkdir -p "$WORK/logs"

cat > site_settings.py <<'PYEOF'
"""Site settings, loaded into each worker before it takes work."""
import logging
import os

log = logging.getLogger("duvet.settings")

PRICE_BOOK = os.environ["DUVET_PRICE_BOOK"]
CURRENCY = os.environ.get("DUVET_CURRENCY", "EUR")


def dask_setup(worker):
    log.info("price book %s in %s", PRICE_BOOK, CURRENCY)
    worker.price_book = PRICE_BOOK
PYEOF

cat > report.py <<'PYEOF'
"""Compare the list price of each order with what was invoiced."""
import argparse
import logging
import random

from dask.distributed import Client, get_worker

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("duvet.report")


def make_orders(day, shop):
    rng = random.Random(f"{day}-{shop}")
    return [(rng.choice(["duvet", "pillow", "topper"]), rng.randint(20, 240)) for _ in range(400)]


def check_prices(orders):
    book = get_worker().price_book
    low = sum(1 for _, price in orders if price < 30)
    return book, low


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", required=True)
    parser.add_argument("--scheduler-file", required=True)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    client = Client(scheduler_file=args.scheduler_file, timeout=15)
    try:
        log.info("connected to %s", client.scheduler.address)
        client.wait_for_workers(args.workers, timeout=12)
        orders = client.map(make_orders, [args.day] * 12, range(12), pure=False)
        for book, low in client.gather(client.map(check_prices, orders)):
            log.info("%s: %d below the floor", book, low)
    finally:
        client.close()


main()
PYEOF

stop_all() {
    for pid in $PIDS; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
}
PIDS=""
trap stop_all EXIT

# the price book moved to the report's own settings in October
export DUVET_CURRENCY=EUR

"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --dashboard-address 127.0.0.1:0 \
    --scheduler-file "$WORK/scheduler.json" > "$WORK/logs/scheduler.log" 2>&1 &
PIDS="$PIDS $!"

for i in 1 2; do
    "$PY" -m dask worker --scheduler-file "$WORK/scheduler.json" --nthreads 1 --memory-limit 300MB \
        --no-dashboard --name "duvet-$i" --preload ./site_settings.py \
        --local-directory "$WORK/scratch-$i" --death-timeout 30 > "$WORK/logs/worker-$i.log" 2>&1 &
    PIDS="$PIDS $!"
done

"$PY" report.py --day 2026-11-28 --scheduler-file "$WORK/scheduler.json" --workers 2
rc=$?
echo "report ended with $rc"
exit $rc
