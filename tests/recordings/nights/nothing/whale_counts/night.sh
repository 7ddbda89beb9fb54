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

mkdir -p data packages
printf 'data/\npackages/\n__pycache__/\n' > .gitignore
rm -rf packages/*
VERSION=1.8.3
[ "$N" = 4 ] && VERSION=1.9.0
mkdir -p packages/podtools packages/podtools-$VERSION.dist-info
printf 'Metadata-Version: 2.1\nName: podtools\nVersion: %s\n' $VERSION > packages/podtools-$VERSION.dist-info/METADATA
cat > packages/podtools/__init__.py <<PYTHON
"""Group sizes of whales."""
__version__ = "$VERSION"


def per_pod(counts, pods):
    return counts / pods
PYTHON
if [ "$N" = 4 ]; then
    BODY='    sighted = pd.read_csv(path)
    by_species = sighted.groupby("species")[["whales", "pods"]].sum()
    return by_species'
else
    BODY='    sighted = pd.read_csv(path)
    return sighted.groupby("species")[["whales", "pods"]].sum()'
fi
cat > whale_counts.py <<PYTHON
"""Whales per pod, from the observers' sheets of all ships."""
import logging
from pathlib import Path

import pandas as pd
import podtools
from dask.distributed import Client, LocalCluster

log = logging.getLogger("whales")


def ship_sums(path):
$BODY


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    files = sorted(map(str, Path("data").glob("*.csv")))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, \
            Client(cluster) as client:
        sums = pd.concat(client.gather(client.map(ship_sums, files, pure=False))).groupby(level=0).sum()
    for species, row in sums.iterrows():
        log.info("%s: %.2f per pod", species, podtools.per_pod(row.whales, row.pods))


if __name__ == "__main__":
    main()
PYTHON
commit "sheets $N"
"$PY" - "$N" <<'PYTHON'
import sys
import numpy as np
night = int(sys.argv[1])
ships = ["polarstern", "discovery", "mirai", "sonne"] + (["maria_s"] if night == 4 else [])
for s, ship in enumerate(ships):
    rng = np.random.default_rng(night * 11 + s)
    with open(f"data/{ship}.csv", "w") as out:
        out.write("species,whales,pods\n")
        for _ in range(3000):
            pods = int(rng.integers(1, 4))
            out.write(f"{rng.choice(['minke', 'fin', 'humpback'])},{pods * int(rng.integers(1, 6))},{pods}\n")
PYTHON
export PYTHONPATH="$OUT/packages${PYTHONPATH:+:$PYTHONPATH}"
exec $RUN "$PY" whale_counts.py
