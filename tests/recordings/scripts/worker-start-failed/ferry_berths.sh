#!/usr/bin/env bash
# Berth plan of the ferry terminals. The scheduler and both workers run on this host,
# the firewall of the terminal network lets one worker port through.
set -u
python=${PYTHON:-python}
work=$(mktemp -d -t berths-XXXXXX)
pids=()

say() { echo "$(date +%H:%M:%S) berths: $*" >&2; }

cleanup() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT

free_port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

sched_port=$(free_port)
worker_port=${BERTH_WORKER_PORT:-$(free_port)}
scheduler=tcp://127.0.0.1:$sched_port

start_worker() {  # name
    "$python" -m dask worker "$scheduler" --name "$1" --nthreads 1 --memory-limit 260MiB \
        --host 127.0.0.1 --worker-port "$worker_port" --no-nanny --no-dashboard \
        --local-directory "$work" &
    pids+=($!)
}

say "scheduler at $scheduler"
"$python" -m dask scheduler --host 127.0.0.1 --port "$sched_port" --dashboard-address 127.0.0.1:0 &
pids+=($!)

say "workers: quay-east, quay-west"
start_worker quay-east
sleep 2
start_worker quay-west

cat > "$work/plan.py" <<'PY'
"""One task per terminal, two workers at least: the plan of one terminal takes the night otherwise."""
import argparse
import logging
import random
import time

from distributed import Client

log = logging.getLogger("plan")
TERMINALS = {"Kiel": 5, "Trelleborg": 4, "Gdynia": 3, "Turku": 6, "Tallinn": 7, "Liepaja": 2}


def arrivals(terminal, seed):
    rng = random.Random(f"{terminal}{seed}")
    return sorted((rng.uniform(0, 24), rng.choice([0.75, 1.5, 2.5])) for _ in range(40))


def plan_berths(terminal, berths, seed):
    free_at = [0.0] * berths
    late = 0.0
    for at, stay in arrivals(terminal, seed):
        n = min(range(berths), key=free_at.__getitem__)
        begin = max(at, free_at[n])
        late += begin - at
        free_at[n] = begin + stay
    time.sleep(0.5)
    return terminal, round(late, 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("scheduler")
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--seed", type=int, default=7)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    with Client(args.scheduler, timeout=60) as client:
        log.info("waiting for %d workers", args.workers)
        client.wait_for_workers(args.workers, timeout=25)
        futures = client.map(plan_berths, list(TERMINALS), list(TERMINALS.values()), seed=args.seed)
        for terminal, late in client.gather(futures):
            print(f"{terminal:12s} {late:6.1f} h of waiting")


if __name__ == "__main__":
    main()
PY

"$python" "$work/plan.py" "$scheduler" --workers 2
code=$?
if [ "$code" -ne 0 ]; then
    say "no plan for the terminals"
fi
exit "$code"
