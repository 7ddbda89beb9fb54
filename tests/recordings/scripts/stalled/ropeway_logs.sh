#!/usr/bin/env bash
# Ropeway controller logs of the day: parse the cabins' logs, append the runs to the catalogue.
# Scheduler and workers are started by hand, the compactor runs beside the job as in production.
set -u

PY="${PYTHON:-python}"

work="$(mktemp -d -t ropeway-XXXXXX)"
pids=()

finish() {
    for (( i=${#pids[@]}-1; i>=0; i-- )); do
        kill "${pids[i]}" 2>/dev/null && wait "${pids[i]}" 2>/dev/null
    done
    rm -rf "$work"
}
trap finish EXIT

"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --dashboard-address 127.0.0.1:0 \
    --scheduler-file "$work/scheduler.json" &
pids+=($!)
for n in 1 2; do
    "$PY" -m dask worker --scheduler-file "$work/scheduler.json" --name "cabin-$n" \
        --nthreads 1 --memory-limit 200MB --no-nanny --no-dashboard --local-directory "$work" &
    pids+=($!)
done

cat > "$work/compactor.py" <<'PY'
"""Keeps the catalogue small: folds the day's appended lines once the day is complete."""
import fcntl, os, sys, time
folder = sys.argv[1]
with open(os.path.join(folder, "catalogue.lock"), "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(f"compactor: pid {os.getpid()} has catalogue.lock, waits for day.complete", flush=True)
    while not os.path.exists(os.path.join(folder, "day.complete")):
        time.sleep(0.5)
    with open(os.path.join(folder, "catalogue.txt")) as f:
        rows = sorted(set(f))
    print(f"compactor: {len(rows)} rows kept", flush=True)
PY

cat > "$work/job.py" <<'PY'
import fcntl, logging, os, random, sys, time
from dask.distributed import Client, wait

log = logging.getLogger("ropeway")


def parse_cabin(cabin, day):
    """Runs of one cabin: (start second, seconds, gust in m/s)."""
    rng = random.Random(f"{day}/{cabin}")
    time.sleep(0.2)
    runs, at = [], 6 * 3600
    while at < 20 * 3600:
        seconds = rng.randint(420, 560)
        runs.append((at, seconds, round(rng.gammavariate(2, 3), 1)))
        at += seconds + rng.randint(30, 200)
    return cabin, runs


def append_catalogue(parsed, folder):
    """Append the cabin's runs; one writer at a time, the catalogue is a plain file."""
    cabin, runs = parsed
    with open(os.path.join(folder, "catalogue.lock"), "w") as lock:
        print(f"{cabin}: {len(runs)} runs to append", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(os.path.join(folder, "catalogue.txt"), "a") as out:
            for at, seconds, gust in runs:
                out.write(f"{cabin};{at};{seconds};{gust}\n")
    return len(runs)


def main(folder):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with Client(scheduler_file=os.path.join(folder, "scheduler.json"), timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        cabins = [f"cabin-{n:02d}" for n in range(14)]
        parsed = client.map(parse_cabin, cabins, day="2026-11-26")
        wait(parsed, timeout=120)
        log.info("%d cabins parsed", len(parsed))
        appended = client.map(append_catalogue, parsed, folder=folder)
        wait(appended, timeout=25)
        log.info("%d runs appended", sum(client.gather(appended)))
        open(os.path.join(folder, "day.complete"), "w").close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
PY

"$PY" "$work/compactor.py" "$work" &
pids+=($!)

for _ in $(seq 120); do
    [ -s "$work/scheduler.json" ] && break
    sleep 0.5
done

"$PY" "$work/job.py" "$work"
rc=$?
echo "ropeway job ended with $rc"
exit "$rc"
