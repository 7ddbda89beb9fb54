#!/bin/bash
# Escalator spare parts, nightly: which parts must be ordered for each depot.
#
# Workers keep the parts catalogue in memory; a preload reads it once per
# worker so that the 40 depots need not read it again and again.
#
# usage: escalator_parts.sh [first-depot] [last-depot]
set -u
PYTHON="${PYTHON:-python}"
FIRST="${1:-1}"
LAST="${2:-24}"
WORK="$(mktemp -d)"
PORT="$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
PIDS=()

log() { printf '%s [parts] %s\n' "$(date +%H:%M:%S)" "$*"; }

cleanup() {
    log "stopping the cluster"
    for pid in "${PIDS[@]}"; do
        kill -TERM "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$WORK"
}
trap cleanup EXIT

# ---------------------------------------------------------------- inputs
# The catalogue as the purchasing system exports it.
"$PYTHON" - "$WORK" <<'PY'
import json, pathlib, sys
work = pathlib.Path(sys.argv[1])
items = [{"code": f"ESC-{i:04d}", "lead_days": 3 + i % 11, "price": 12.5 + i} for i in range(600)]
(work / "catalogue.json").write_text(json.dumps({"edition": "2026-11", "sections": {"escalators_and_walkways": items}}))
PY

cat > "$WORK/parts_catalogue.py" <<'PY'
"""Preload: hold the parts catalogue on each worker."""
import json
import os


def dask_setup(worker):
    with open(os.environ["PARTS_CATALOGUE"]) as source:
        document = json.load(source)
    parts = document["sections"]["escalators"]
    worker.parts_catalogue = {part["code"]: part for part in parts}
PY

cat > "$WORK/order_parts.py" <<'PY'
"""Driver: orders per depot."""
import argparse
import random
import sys

from distributed import Client, as_completed, get_worker


def depot_stock(depot):
    rng = random.Random(depot)
    return {f"ESC-{rng.randrange(600):04d}": rng.randrange(0, 9) for _ in range(80)}


def parts_to_order(depot, stock):
    catalogue = get_worker().parts_catalogue
    lines = []
    for code, quantity in stock.items():
        part = catalogue[code]
        if quantity < part["lead_days"] // 3:
            lines.append((code, part["lead_days"] - quantity, part["price"]))
    return depot, lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    args = parser.parse_args()
    with Client(args.address, timeout=15) as client:
        client.wait_for_workers(2, timeout=25)
        depots = list(range(args.first, args.last + 1))
        stock = client.map(depot_stock, depots)
        orders = client.map(parts_to_order, depots, stock)
        total = 0.0
        for _, (depot, lines) in as_completed(orders, with_results=True):
            amount = sum(n * price for _, n, price in lines)
            print(f"depot {depot:3d}: {len(lines)} lines, {amount:.2f}")
            total += amount
        print(f"total {total:.2f}")


if __name__ == "__main__":
    sys.exit(main())
PY

# --------------------------------------------------------------- cluster
export PARTS_CATALOGUE="$WORK/catalogue.json"
export PYTHONPATH="$WORK${PYTHONPATH:+:$PYTHONPATH}"
log "scheduler on port $PORT"
"$PYTHON" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port "$PORT" --no-dashboard &
PIDS+=($!)
for number in 1 2; do
    "$PYTHON" -m distributed.cli.dask_worker "tcp://127.0.0.1:$PORT" \
        --name "depot-worker-$number" --nthreads 1 --memory-limit 400MB \
        --local-directory "$WORK/scratch" --no-dashboard --preload parts_catalogue &
    PIDS+=($!)
done

# ------------------------------------------------------------------- run
"$PYTHON" "$WORK/order_parts.py" "tcp://127.0.0.1:$PORT" "$FIRST" "$LAST"
status=$?
log "orders ended with $status"
exit "$status"
