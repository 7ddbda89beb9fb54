#!/usr/bin/env bash
# Green-wave timing of the ring road.
#
# Five junctions are simulated side by side; after every cycle each junction waits until all the others have
# published their queues, because the cars that leave one arrive at the next.  Runs every Sunday on the small
# traffic server: one scheduler, two workers.
set -uo pipefail
PY="${PYTHON:-python}"
PORT=$("$PY" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
JUNCTIONS="${JUNCTIONS:-5}"
pids=()

cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf wave_state
}
trap cleanup EXIT

cat > ringroad.py <<'PY'
"""Simulation of one junction, and the night's driver."""
import random
import sys
import time

from distributed import Client, Event


def simulate(junction, everyone, cycles):
    rng = random.Random(junction)
    queue, log = 0, []
    for cycle in range(cycles):
        queue = max(0, queue + rng.randrange(4, 9) - 6)
        time.sleep(0.05)
        log.append(queue)
        Event(f"cycle-{cycle}-{junction}").set()
        for other in everyone:
            Event(f"cycle-{cycle}-{other}").wait()
    return junction, log


def offsets(results):
    base = {name: sum(log) / len(log) for name, log in results}
    return {name: round(4 + 2.5 * load, 1) for name, load in sorted(base.items())}


def main(address, count):
    names = [f"ring-{letter}" for letter in "ABCDEFGH"[:count]]
    with Client(address, timeout=20, set_as_default=True) as client:
        client.wait_for_workers(2, timeout=20)
        # smoke test of last week's set, two junctions only
        small = client.map(simulate, names[:2], everyone=names[:2], cycles=2,
                           key=[f"smoke-{n}" for n in names[:2]], pure=False)
        print("smoke test:", offsets(client.gather(small)), flush=True)
        for n in names[:2]:
            for cycle in range(2):
                Event(f"cycle-{cycle}-{n}").clear()

        runs = client.map(simulate, names, everyone=names, cycles=20, key=[f"simulate-{n}" for n in names])
        table = client.submit(offsets, runs, key="offsets")
        print("green wave:", table.result(timeout=18), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
PY

mkdir -p wave_state
"$PY" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port "$PORT" --no-dashboard &
pids+=($!)
for box in box-east box-west; do
    PYTHONPATH="$PWD" "$PY" -m distributed.cli.dask_worker "tcp://127.0.0.1:$PORT" --name "$box" \
        --nthreads 2 --memory-limit 300MB --no-dashboard --local-directory "wave_state/$box" &
    pids+=($!)
done

"$PY" ringroad.py "tcp://127.0.0.1:$PORT" "$JUNCTIONS"
status=$?
if [ "$status" -ne 0 ]; then
    echo "ring road: no new timing, controllers keep last week's" >&2
fi
exit "$status"
