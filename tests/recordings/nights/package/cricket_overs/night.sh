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
rm -rf packages/*
if [ "$N" = 4 ]; then VERSION=4.0.0; BALLS=legal_balls; else VERSION=3.2.1; BALLS=balls; fi
mkdir -p packages/overstats packages/overstats-$VERSION.dist-info
printf 'Metadata-Version: 2.1\nName: overstats\nVersion: %s\n' $VERSION > packages/overstats-$VERSION.dist-info/METADATA
cat > packages/overstats/__init__.py <<PYTHON
"""Bowling figures."""
__version__ = "$VERSION"


def economy(runs, *, $BALLS):
    return 6 * runs / $BALLS


def strike_rate(wickets, *, $BALLS):
    return $BALLS / max(wickets, 1)
PYTHON
cat > cricket_overs.py <<'PYTHON'
"""Bowling figures of the league, one file per ground."""
import json
import logging
from pathlib import Path

import overstats
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("cricket")


def bowling_figures(path, least):
    overs = pd.read_csv(path)
    sums = overs.groupby("bowler")[["runs", "balls", "wickets"]].sum()
    sums = sums[sums["balls"] >= least]
    return [(name, overstats.economy(row.runs, balls=row.balls)) for name, row in sums.iterrows()]


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    league = json.loads(Path("league.json").read_text())
    files = sorted(map(str, Path("data").glob("*.csv")))
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster, \
            Client(cluster) as client:
        parts = client.gather(client.map(bowling_figures, files, least=league["least_balls"], pure=False))
    for name, economy in sorted((p for part in parts for p in part), key=lambda p: p[1])[:league["shown"]]:
        log.info("%s %.2f", name, economy)


if __name__ == "__main__":
    main()
PYTHON
SHOWN=5
[ "$N" = 4 ] && SHOWN=12
printf '{"least_balls": 60, "shown": %s}\n' $SHOWN > league.json
"$PY" - "$N" <<'PYTHON'
import sys
import numpy as np
night = int(sys.argv[1])
for g, ground in enumerate(["lords", "headingley", "eden", "gabba"]):
    rng = np.random.default_rng(night * 9 + g)
    with open(f"data/{ground}.csv", "w") as out:
        out.write("bowler,runs,balls,wickets\n")
        for _ in range(2000 + (900 if night == 4 else 10 * night)):
            out.write(f"{ground[:2]}{rng.integers(20):02d},{rng.poisson(5)},6,{rng.binomial(1, .2)}\n")
PYTHON
export PYTHONPATH="$OUT/packages${PYTHONPATH:+:$PYTHONPATH}"
exec $RUN "$PY" cricket_overs.py
