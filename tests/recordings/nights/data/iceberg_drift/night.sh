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

mkdir -p stations packages
VERSION=2.1.0
[ "$N" = 4 ] && VERSION=2.2.0
rm -rf packages/*
mkdir -p packages/geodrift packages/geodrift-$VERSION.dist-info
printf 'Metadata-Version: 2.1\nName: geodrift\nVersion: %s\n' $VERSION > packages/geodrift-$VERSION.dist-info/METADATA
cat > packages/geodrift/__init__.py <<PYTHON
"""Great-circle drift."""
import numpy as np
__version__ = "$VERSION"
EARTH = 6371.0


def drift_km(lat, lon):
    lat, lon = np.radians(lat), np.radians(lon)
    step = np.sin(np.diff(lat) / 2) ** 2 + np.cos(lat[:-1]) * np.cos(lat[1:]) * np.sin(np.diff(lon) / 2) ** 2
    return float((2 * EARTH * np.arcsin(np.sqrt(step))).sum())
PYTHON
cat > iceberg_drift.py <<'PYTHON'
"""Distance drifted per iceberg, from the sightings of all stations."""
import logging
from pathlib import Path

import geodrift
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("iceberg")


def sightings(path):
    with open(path, encoding="utf-8") as lines:
        frame = pd.read_csv(lines)
    return frame[frame.observer.str.len() > 0]


def drifted(path):
    frame = sightings(path)
    return {berg: geodrift.drift_km(part.lat.to_numpy(), part.lon.to_numpy())
            for berg, part in frame.groupby("berg")}


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    log.info("geodrift %s", geodrift.__version__)
    files = sorted(map(str, Path("stations").glob("*.csv")))
    total = {}
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster, \
            Client(cluster) as client:
        for part in client.gather(client.map(drifted, files, pure=False)):
            for berg, km in part.items():
                total[berg] = total.get(berg, 0) + km
    for berg, km in sorted(total.items()):
        log.info("%s drifted %.0f km", berg, km)


if __name__ == "__main__":
    main()
PYTHON
"$PY" - "$N" <<'PYTHON'
import sys
import numpy as np
night = int(sys.argv[1])
stations = {"hopen": "Eriksen", "jan_mayen": "Solbakken", "bjornoya": "Nilsen", "ny_alesund": "Tveit"}
if night == 4:
    stations["sorkapp"] = "Bj\u00f8rnsen"
for k, (station, observer) in enumerate(stations.items()):
    rng = np.random.default_rng(night * 100 + k)
    rows = ["berg,lat,lon,observer"]
    for i in range(1500):
        rows.append(f"B{i % 5},{74 + rng.normal(0, .05):.4f},{12 + rng.normal(0, .1):.4f},{observer}")
    text = "\n".join(rows) + "\n"
    with open(f"stations/{station}.csv", "wb") as out:
        out.write(text.encode("cp1252" if station == "sorkapp" else "utf-8"))
PYTHON
export PYTHONPATH="$OUT/packages${PYTHONPATH:+:$PYTHONPATH}"
exec $RUN "$PY" iceberg_drift.py
