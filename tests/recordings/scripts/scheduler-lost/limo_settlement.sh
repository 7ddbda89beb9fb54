#!/usr/bin/env bash
# Weekly settlement with the limousine partners: fares are priced on the cluster, the bank's statement is matched
# by the driver, and the payouts are computed on the cluster again.
set -u
PY="${PYTHON:-python}"
PORT_FILE=scheduler.json
export DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT=5s

cat > settlement.py <<'PY'
import logging
import random
import sys
import time

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s settlement %(message)s")
log = logging.getLogger("settlement")


def price_rides(partner):
    rng = random.Random(partner)
    time.sleep(0.1)
    return [(f"P{partner:02d}", round(6 + 2.1 * rng.uniform(1, 60), 2)) for _ in range(300)]


def total_fares(rides):
    return rides[0][0], round(sum(fare for _, fare in rides), 2)


def payout(total, share, deductions):
    partner, amount = total
    return partner, round(amount * share - deductions.get(partner, 0.0), 2)


def match_statement(totals, lines=260):
    """The matching of the bank's lines is old single-threaded code."""
    rng = random.Random(7)
    deductions = {}
    for n in range(lines):
        time.sleep(0.05)
        partner = f"P{rng.randrange(len(totals)):02d}"
        deductions[partner] = deductions.get(partner, 0.0) + rng.uniform(0, 3)
    return deductions


def main():
    with Client(scheduler_file=sys.argv[1], timeout=20) as client:
        client.wait_for_workers(2, timeout=40)
        totals = client.map(total_fares, client.map(price_rides, range(20)))
        known = dict(client.gather(totals))
        log.info("priced the rides of %d partners", len(known))
        deductions = match_statement(known)
        log.info("matched the bank's statement")
        payouts = client.map(payout, totals, share=0.78, deductions=deductions)
        for partner, amount in client.gather(payouts):
            print(f"{partner}\t{amount}")


if __name__ == "__main__":
    main()
PY

cleanup() {
    for pid in ${WORKERS:-} ${SCHEDULER:-}; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -f "$PORT_FILE"
}
trap cleanup EXIT

# forgotten clusters have cost us money in the past
"$PY" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$PORT_FILE" \
    --idle-timeout 6s > scheduler.log 2>&1 &
SCHEDULER=$!
for _ in $(seq 100); do [ -s "$PORT_FILE" ] && break; sleep 0.1; done

WORKERS=""
for n in 1 2; do
    "$PY" -m distributed.cli.dask_worker --scheduler-file "$PORT_FILE" --name "limo-$n" --nthreads 1 \
        --memory-limit 400MB --no-dashboard > "worker-$n.log" 2>&1 &
    WORKERS="$WORKERS $!"
done

"$PY" settlement.py "$PORT_FILE" > payouts.tsv
rc=$?
if [ "$rc" -ne 0 ]; then
    echo "settlement failed with $rc, payouts are not sent" >&2
    mv payouts.tsv payouts.incomplete
fi
exit "$rc"
