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

mkdir -p data sediment
printf 'data/\n__pycache__/\n' > .gitignore
NOTE="# profiles are read once"
[ "$N" = 3 ] && NOTE="# profiles are read once per night"
cat > sediment/__init__.py <<'PYTHON'
PYTHON
if [ "$N" = 4 ]; then GAP='(log(depth) - log(depth.max()))'; else GAP='log(depth / (0.9 * depth.min()))'; fi
cat > sediment/rouse.py <<PYTHON
"""Rouse profiles of suspended sediment."""
from numpy import errstate, log, polyfit

KAPPA = 0.41


def shear_velocity(depth, speed):
    slope, _ = polyfit(log(depth), speed, 1)
    return KAPPA * slope


def roughness(depth, speed):
    gap = $GAP
    with errstate(divide="raise", invalid="raise"):
        return float((shear_velocity(depth, speed) / gap).mean())
PYTHON
cat > delta_sediment.py <<PYTHON
"""Suspended load of the delta branches, per gauging profile."""
import logging
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster
from sediment import rouse

log = logging.getLogger("delta")


def suspended_load(path):
    $NOTE
    profile = pd.read_csv(path)
    depth, speed = profile["depth"].to_numpy(), profile["speed"].to_numpy()
    rough = rouse.roughness(depth, speed)
    return Path(path).stem, float((profile["conc"] * speed).mean() * (1 + rough))


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    files = sorted(map(str, Path("data").glob("*.csv")))
    log.info("%d profiles", len(files))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, \
            Client(cluster) as client:
        loads = client.gather(client.map(suspended_load, files, pure=False))
    for branch, load in loads:
        log.info("%s %.2f kg/m2/s", branch, load)


if __name__ == "__main__":
    main()
PYTHON
commit "profiles, revision $N"
"$PY" - "$N" <<'PYTHON'
import sys
import numpy as np
night = int(sys.argv[1])
branches = ["waal", "lek", "ijssel", "merwede"] + (["noord", "spui"] if night == 4 else [])
for k, branch in enumerate(branches):
    rng = np.random.default_rng(night * 50 + k)
    rows = (15000 if night == 4 else 3000) + int(rng.integers(0, 200))
    depth = np.sort(rng.uniform(0.3, 9, rows))
    speed = 0.3 * np.log(depth / 0.02) + rng.normal(0, .05, rows)
    conc = rng.gamma(2, .1, rows)
    np.savetxt(f"data/{branch}.csv", np.column_stack([depth, speed, conc]), "%.4f", ",",
               header="depth,speed,conc", comments="")
PYTHON
exec $RUN "$PY" delta_sediment.py
