#!/usr/bin/env bash
# A cluster for one job: scheduler, two workers, job, and all of it down again.
dask scheduler --port 0 --no-dashboard --scheduler-file s.json > scheduler.log 2>&1 &
S=$!
dask worker --nthreads 1 --nworkers 2 --scheduler-file s.json > workers.log 2>&1 &
W=$!
cleanup() {
    kill "$W" "$S" 2>/dev/null
    wait
}
trap cleanup EXIT

cat > decode.py <<'PY'
import ctypes

from dask.distributed import Client


def decode(frame):
    if frame == 7:  # a frame with a broken header
        return ctypes.string_at(8, 16)
    return bytes(16)


if __name__ == "__main__":
    client = Client(scheduler_file="s.json")
    client.wait_for_workers(2, timeout=60)
    frames = client.gather(client.map(decode, range(12), retries=0))
    print(len(frames), "frames")
PY
python decode.py || { echo "decode.py failed"; exit 1; }
