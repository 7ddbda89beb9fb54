#!/usr/bin/env bash
# Yearly census of postboxes: for every box the distance to its nearest neighbour, region by region.
# The batch partition allows each process 4 GB of address space; we set the same here.
set -u
PY=${PYTHON:-python}
export DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=1
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

cat > regions.cfg <<'CFG'
[boxes]
moorland = 350
islands = 210
valleys = 900
coast = 1400
suburbs = 2600
metropolis = 31000
[options]
seed = 1840
CFG

cat > census.py <<'PYEOF'
"""Driver of the postbox census."""
import configparser
import logging
import sys

import numpy as np
from distributed import Client

logging.basicConfig(level=logging.INFO, format="census: %(message)s")


def locate(region, count, seed):
    rng = np.random.default_rng([seed, len(region)])
    return rng.uniform(0, 40_000, size=(count, 2))


def nearest_box(points):
    """Metres to the nearest other box, for each box."""
    x, y = points.T
    squared = (x[:, None] - x[None, :]) ** 2
    squared += (y[:, None] - y[None, :]) ** 2
    np.fill_diagonal(squared, np.inf)
    return np.sqrt(squared.min(axis=1))


def summarise(distances):
    return {"boxes": len(distances), "median": float(np.median(distances)), "farthest": float(distances.max())}


def main(scheduler_file):
    cfg = configparser.ConfigParser()
    cfg.read("regions.cfg")
    seed = cfg.getint("options", "seed")
    try:
        minimum = cfg.getint("options", "minimum")
    except configparser.NoOptionError as exc:
        logging.info("no minimum in regions.cfg (%s), taking 2", exc)
        minimum = 2
    regions = {name: int(n) for name, n in cfg["boxes"].items() if int(n) >= minimum}
    with Client(scheduler_file=scheduler_file) as client:
        client.wait_for_workers(2, timeout=30)
        reports = {}
        for name, count in regions.items():
            points = client.submit(locate, name, count, seed, key=f"locate-{name}")
            distances = client.submit(nearest_box, points, key=f"nearest_box-{name}")
            reports[name] = client.submit(summarise, distances, key=f"summarise-{name}")
        for name, report in reports.items():
            logging.info("%-11s %s", name, report.result(timeout=60))


if __name__ == "__main__":
    main(sys.argv[1])
PYEOF

pids=()
clean_up() {
    # workers first, the scheduler last; what has not gone after some seconds is not waited for
    for pid in "${pids[2]:-}" "${pids[1]:-}" "${pids[0]:-}"; do
        [ -n "$pid" ] || continue
        kill "$pid" 2>/dev/null
        for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.3; done
        kill -9 "$pid" 2>/dev/null
    done
}
trap clean_up EXIT

"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file census.json 2> scheduler.log &
pids+=($!)
for n in 1 2; do
    (
        ulimit -v 4000000
        exec "$PY" -m dask worker --scheduler-file census.json --no-nanny --nthreads 1 --memory-limit 0 \
            --no-dashboard --name "sorting-office-$n" 2> "worker-$n.log"
    ) &
    pids+=($!)
done

"$PY" census.py census.json
status=$?
if [ $status -ne 0 ]; then
    echo "census: report not written, exit $status" >&2
    cp report.txt report.previous 2>/dev/null || echo "census: no report of last year to keep" >&2
fi
exit $status
