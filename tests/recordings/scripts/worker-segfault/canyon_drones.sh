#!/usr/bin/env bash
# Nightly mosaic of the drone flights over the canyon.
#
# Starts a scheduler and two workers on this machine, lets the mosaic job run against them and takes
# everything down at the end.  The frames are unpacked by the vendor's library, which is called through ctypes.
set -u
PY="${PYTHON:-python}"
HERE="$(pwd)"
RUN="$(mktemp -d)"
export DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=1
export PYTHONPATH="$HERE${PYTHONPATH:+:$PYTHONPATH}"

say() { echo "$(date +%T) [mosaic] $*"; }

cat > "$HERE/frames.py" <<'PYCODE'
"""Frames of a flight, as the camera packs them."""
import ctypes
import struct
import time

import numpy as np

HEADER = struct.Struct("<IIQ")


def pack(frame):
    """Header and pixels; after a flush of its cache the camera gives its own page, not the buffer's address."""
    flight, number = frame
    pixels = np.full(64 * 64, (flight * 7 + number) % 251, dtype="u1")
    buffer = ctypes.create_string_buffer(pixels.tobytes())
    address = 4096 * number if (flight, number) == (4, 3) else ctypes.addressof(buffer)
    return HEADER.pack(64, 64, address), buffer


def unpack_frame(frame):
    header, keep = pack(frame)
    width, height, address = HEADER.unpack(header)
    time.sleep(0.15)
    raw = ctypes.string_at(address, width * height)
    return np.frombuffer(raw, dtype="u1").reshape(height, width).copy()


def stitch_flight(flight, tiles):
    return flight, float(np.mean([t.mean() for t in tiles]))
PYCODE

cat > "$HERE/mosaic.py" <<'PYCODE'
import sys

from distributed import Client

import frames


def main(scheduler_file, flights=6, per_flight=8):
    with Client(scheduler_file=scheduler_file, timeout=30) as client:
        client.wait_for_workers(2, timeout=30)
        strips = []
        for flight in range(flights):
            tiles = client.map(frames.unpack_frame, [(flight, n) for n in range(per_flight)])
            strips.append(client.submit(frames.stitch_flight, flight, tiles))
        try:
            for flight, mean in client.gather(strips):
                print(f"flight {flight}: {mean:.1f}")
        except Exception as exc:
            print(f"mosaic: not complete ({type(exc).__name__})", file=sys.stderr)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
PYCODE

PIDS=()
clean_up() {
    say "taking the cluster down"
    for pid in "${PIDS[@]}"; do kill -TERM "$pid" 2>/dev/null; done
    sleep 1
    for pid in "${PIDS[@]}"; do kill -KILL "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$RUN"
}
trap clean_up EXIT

"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file "$RUN/scheduler.json" > "$RUN/scheduler.log" 2>&1 &
PIDS+=($!)
for i in 1 2; do
    "$PY" -m dask worker --scheduler-file "$RUN/scheduler.json" --name "strip-$i" --nthreads 1 \
        --memory-limit 400MB --no-dashboard --local-directory "$RUN" > "$RUN/worker-$i.log" 2>&1 &
    PIDS+=($!)
done
say "cluster started: ${PIDS[*]}"

"$PY" "$HERE/mosaic.py" "$RUN/scheduler.json"
code=$?
if [ "$code" -ne 0 ]; then
    say "the mosaic of tonight is not published (code $code)"
    tail -n 2 "$RUN/scheduler.log"
    exit 1
fi
say "published"
