#!/bin/bash
set -e
N=$1
OUT=$2
PY=$PYTHON
cd "$OUT"
commit() {
    [ -d .git ] || git init -q .
    git add -A
    git -c user.name=ops -c user.email=ops@example.org commit -q --allow-empty -m "$1" >/dev/null
}

mkdir -p data
cat > tide_pools.py <<'PYTHON'
"""Temperature stress in tide pools, in blocks of rows of the logger table."""
import logging
import os

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("pools")
BLOCK_ROWS = int(os.environ.get("POOL_BLOCK_ROWS", "20000"))


def heat_hours(path, start, rows):
    table = pd.read_csv(path, skiprows=1 + start, nrows=rows, names=["pool", "minute", "celsius"])
    hot = table[table.celsius > 27.5]
    return hot.groupby("pool").size().mul(5 / 60)


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    path = "data/loggers.csv"
    with open(path) as lines:
        total = sum(1 for _ in lines) - 1
    starts = list(range(0, total, BLOCK_ROWS))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, \
            Client(cluster) as client:
        blocks = client.map(lambda s: heat_hours(path, s, BLOCK_ROWS), starts, pure=False,
                            key=[f"heat_hours-{s}" for s in starts])
        hours = pd.concat(client.gather(blocks)).groupby(level=0).sum()
    log.info("%d pools, hottest %s with %.1f h", len(hours), hours.idxmax(), hours.max())


if __name__ == "__main__":
    main()
PYTHON
"$PY" - "$N" <<'PYTHON'
import sys
import numpy as np
night = int(sys.argv[1])
rng = np.random.default_rng(night)
rows = 160_000 + int(rng.integers(0, 900))
with open("data/loggers.csv", "w") as out:
    out.write("pool,minute,celsius\n")
    out.writelines(f"P{i % 40:02d},{i // 40 * 5},{c:.2f}\n" for i, c in enumerate(rng.normal(24, 2.5, rows)))
PYTHON
export POOL_SITE=rocky-point
if [ "$N" = 4 ]; then export POOL_BLOCK_ROWS=300; else export POOL_BLOCK_ROWS=20000; fi
exec $RUN "$PY" tide_pools.py
