#!/bin/bash
# Harrow bookings: the machinery ring's nightly allocation of harrows to farms.
# Starts a scheduler and workers from the command line, runs the allocation, and stops all of it.
set -u
PY="${PYTHON:-python}"
WORKERS="${RING_WORKERS:-3}"
HOME_DIR="$(mktemp -d)"
TICKET="$HOME_DIR/ring.json"
LINK="${RING_LINK:-ib0}"
pids=()

say() { echo "$(date +%H:%M:%S) ring: $*"; }

cleanup() {
    say "stopping ${#pids[@]} processes"
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$HOME_DIR"
}
trap cleanup EXIT

cat > "$HOME_DIR/worker.opts" <<OPTS
--nthreads 1
--memory-limit 250MB
--no-dashboard
--death-timeout 30
--interface $LINK
OPTS

cat > "$HOME_DIR/allocate.py" <<'PYTHON_END'
"""Allocates harrows to farms by distance and soil."""
import random
import sys

from dask.distributed import Client

FARMS = ["Ashdown", "Birkby", "Coldwell", "Dunham", "Easter", "Fallow", "Garth", "Holm"]


def distance_row(farm, seed=4):
    rng = random.Random(f"{farm}-{seed}")
    return farm, [round(rng.uniform(1, 40), 1) for _ in range(12)]


def allocate(rows):
    taken, plan = set(), {}
    for farm, row in sorted(rows):
        best = min((value, n) for n, value in enumerate(row) if n not in taken)
        taken.add(best[1])
        plan[farm] = best
    return plan


def main(ticket, wanted):
    with Client(scheduler_file=ticket, timeout=20) as client:
        client.wait_for_workers(wanted, timeout=12)
        rows = client.map(distance_row, FARMS)
        plan = client.submit(allocate, rows).result(timeout=60)
        for farm, (far, number) in plan.items():
            print(f"{farm:10} harrow {number:2d} {far:5.1f} km")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
PYTHON_END

say "scheduler"
"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$TICKET" &
pids+=($!)
for _ in $(seq 60); do [ -s "$TICKET" ] && break; sleep 0.25; done
[ -s "$TICKET" ] || { say "no scheduler file"; exit 3; }

say "$WORKERS workers"
for n in $(seq "$WORKERS"); do
    # shellcheck disable=SC2046
    "$PY" -m dask worker --scheduler-file "$TICKET" --name "ring-$n" \
        $(tr '\n' ' ' < "$HOME_DIR/worker.opts") &
    pids+=($!)
done

say "allocation"
"$PY" "$HOME_DIR/allocate.py" "$TICKET" "$WORKERS"
code=$?
if [ $code -ne 0 ]; then
    say "allocation ended with code $code; the plan of the day before stays in force"
fi
exit $code
