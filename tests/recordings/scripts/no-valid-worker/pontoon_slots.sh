#!/bin/bash
# Nightly assignment of boats to pontoon slots for a marina group.
#
# Starts a scheduler and two workers on this host: one plain and one on the seat of the commercial
# optimiser, of which the company owns one. Then runs the assignment and puts everything away.
set -u
PY=${PYTHON:-python}
WORK=$(mktemp -d)
SEATS=${OPTIMISER_SEATS:-1}
HARBOURS=${HARBOURS:-"Alness Brora Cromarty Dornoch"}
pids=()

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }

tidy() {
  say "putting the cluster away"
  for p in "${pids[@]}"; do kill -TERM "$p" 2>/dev/null; done
  for p in "${pids[@]}"; do wait "$p" 2>/dev/null; done
  rm -rf "$WORK"
}
trap tidy EXIT

cat > assign_boats.py <<'PY_END'
"""Assign boats to slots, harbour by harbour."""
import random
import sys
import time

from dask.distributed import Client, TimeoutError

scheduler_file, *harbours = sys.argv[1:]


def boats_of(harbour, n=60):
    rng = random.Random(harbour)
    return [(f"{harbour[:2].upper()}{i:03d}", round(rng.uniform(5, 18), 1)) for i in range(n)]


def slots_of(harbour, n=64):
    rng = random.Random(harbour + "slots")
    return sorted(round(rng.uniform(6, 20), 1) for _ in range(n))


def optimise_slots(boats, slots):
    """Smallest slot that is long enough, longest boats first (stands for the optimiser)."""
    free, placed = list(slots), {}
    for boat, length in sorted(boats, key=lambda b: -b[1]):
        fits = [s for s in free if s >= length + 0.5]
        if fits:
            free.remove(fits[0])
            placed[boat] = fits[0]
    time.sleep(0.3)
    return placed


def bill(placed):
    return sum(12.5 * metres for metres in placed.values())


with Client(scheduler_file=scheduler_file, timeout=20) as client:
    client.wait_for_workers(2, timeout=20)
    boats = client.map(boats_of, harbours)
    slots = client.map(slots_of, harbours)
    placed = [
        client.submit(optimise_slots, b, s, resources={"OPTIMISER_SEATS": 1}, key=f"optimise_slots-{h}")
        for b, s, h in zip(boats, slots, harbours)
    ]
    bills = client.map(bill, placed)
    print("boats known:", sum(len(b) for b in client.gather(boats)), flush=True)
    try:
        for h, f in zip(harbours, bills):
            print(f"{h:12s} {f.result(timeout=15):10.2f}", flush=True)
    except TimeoutError:
        print("no assignment in time, yesterday's stays valid", file=sys.stderr)
        sys.exit(5)
PY_END

say "scheduler"
"$PY" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard \
  --scheduler-file "$WORK/cluster.json" > "$WORK/scheduler.log" 2>&1 &
pids+=($!)
for _ in $(seq 60); do [ -s "$WORK/cluster.json" ] && break; sleep 0.25; done

say "workers"
"$PY" -m distributed.cli.dask_worker --scheduler-file "$WORK/cluster.json" --name plain --nthreads 2 \
  --memory-limit 400MB --no-dashboard --local-directory "$WORK" > "$WORK/plain.log" 2>&1 &
pids+=($!)
"$PY" -m distributed.cli.dask_worker --scheduler-file "$WORK/cluster.json" --name seat --nthreads 1 \
  --memory-limit 400MB --no-dashboard --local-directory "$WORK" \
  --resources "OPTIMIZER_SEATS=$SEATS" > "$WORK/seat.log" 2>&1 &
pids+=($!)

say "assignment for $HARBOURS"
"$PY" assign_boats.py "$WORK/cluster.json" $HARBOURS
status=$?
if [ $status -ne 0 ]; then
  say "assignment ended with $status; last lines of the workers:"
  tail -n 3 "$WORK/plain.log" "$WORK/seat.log"
fi
exit $status
