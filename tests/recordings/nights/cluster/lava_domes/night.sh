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
printf 'data/\n__pycache__/\n' > .gitignore
if [ "$N" = 4 ]; then SMOOTH=smooth_thickness; else SMOOTH=thickness; fi
cat > lava_domes.py <<PYTHON
"""Growth of lava domes from pairs of elevation grids."""
import logging
import time
import tomllib
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("lava")
CELL = 2.0


def $SMOOTH(before, after):
    grown = (after - before).astype("f8")
    return np.repeat(np.repeat(grown, 4, axis=0), 4, axis=1)


def dome_volume(path):
    pair = np.load(path)
    grown = $SMOOTH(pair["before"], pair["after"])
    total = 0.0
    for level in np.linspace(0, 6, 15):
        total += float(np.count_nonzero(grown > level))
        time.sleep(0.1)
    return Path(path).stem, total * CELL * CELL / 16


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    size = tomllib.loads(Path("cluster.toml").read_text())["cluster"]
    files = sorted(map(str, Path("data").glob("*.npz")))
    with LocalCluster(dashboard_address=":0", **size) as cluster, Client(cluster) as client:
        for dome, volume in client.gather(client.map(dome_volume, files, pure=False)):
            log.info("%s grew by %.0f m3", dome, volume)


if __name__ == "__main__":
    main()
PYTHON
commit "domes $N"
THREADS=1
[ "$N" = 4 ] && THREADS=2
printf '[cluster]\nn_workers = 1\nthreads_per_worker = %s\nmemory_limit = "640MiB"\n' $THREADS > cluster.toml
"$PY" - "$N" <<'PYTHON'
import sys
import numpy as np
night = int(sys.argv[1])
for d, dome in enumerate(["merapi", "unzen", "soufriere", "shiveluch"]):
    rng = np.random.default_rng(night * 7 + d)
    before = rng.normal(900, 20, (1400, 1400)).astype("f4").round(1)
    np.savez(f"data/{dome}.npz", before=before, after=before + np.float32(rng.uniform(0, 6)))
PYTHON
exec $RUN "$PY" lava_domes.py
