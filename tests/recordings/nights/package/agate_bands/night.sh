#!/usr/bin/env bash
# night.sh N OUT: widths of the bands in slices of agate
set -e
N=$1
cd "$2"
export PYTHONPATH="$PWD/site${PYTHONPATH:+:$PYTHONPATH}"
g() { git -c user.name=Agate -c user.email=agate@example.org -c commit.gpgsign=false "$@"; }

package() {  # version
  rm -rf site/bandscale site/bandscale-*.dist-info
  mkdir -p site/bandscale "site/bandscale-$1.dist-info"
  cat > site/bandscale/__init__.py <<EOF
"""Scales of microscopes: pixels to micrometres."""
from .curve import ScaleCurve

__version__ = "$1"
EOF
  if [ "$1" = 1.4.2 ]; then
    cat > site/bandscale/curve.py <<'EOF'
import numpy as np


class ScaleCurve:
    """Micrometres of a place on the slide."""

    def __init__(self, points):
        self.pixels = np.array([pixel for pixel, _ in points], dtype=float)
        self.um = np.array([um for _, um in points], dtype=float)

    def to_um(self, pixels):
        return np.interp(pixels, self.pixels, self.um)
EOF
  else
    cat > site/bandscale/curve.py <<'EOF'
import threading

import numpy as np


class ScaleCurve:
    """Micrometres of a place on the slide; may be used from many threads."""

    def __init__(self, points):
        self.pixels = np.array([pixel for pixel, _ in points], dtype=float)
        self.um = np.array([um for _, um in points], dtype=float)
        self._guard = threading.Lock()
        self._last = None

    def to_um(self, pixels):
        with self._guard:
            self._last = np.interp(pixels, self.pixels, self.um)
            return self._last
EOF
  fi
  printf 'Metadata-Version: 2.1\nName: bandscale\nVersion: %s\nSummary: scales of microscopes\n' "$1" > "site/bandscale-$1.dist-info/METADATA"
  printf 'pip\n' > "site/bandscale-$1.dist-info/INSTALLER"
  printf 'bandscale/__init__.py,,\nbandscale/curve.py,,\nbandscale-%s.dist-info/METADATA,,\n' "$1" > "site/bandscale-$1.dist-info/RECORD"
}

if [ "$N" = 1 ]; then
  package 1.4.2
  g init -q .
  printf 'site/\nslices/\nwidths*.json\n__pycache__/\n*.pyc\n' > .gitignore
  cat > bands.py <<'EOF'
"""Bands."""
import numpy as np
import pandas as pd


def widths(path, curve):
    """Mean and spread of the widths of the bands in a slice."""
    slice_ = pd.read_csv(path)
    edges = np.sort(slice_["edge_px"].to_numpy())
    gaps = np.diff(curve.to_um(edges))
    gaps = gaps[gaps > 0]
    return {"slice": path, "bands": len(gaps), "mean": float(gaps.mean()), "spread": float(gaps.std())}
EOF
  cat > job.py <<'EOF'
"""Widths of bands in agates."""
import argparse
import glob
import json

import dask
from bandscale import ScaleCurve
from dask.distributed import Client, LocalCluster

import bands


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", required=True)
    options = parser.parse_args()
    curve = ScaleCurve([(0, 0.0), (2000, 900.0), (4096, 1870.0)])
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MB", dashboard_address=None) as cluster, Client(cluster):
        tasks = [dask.delayed(bands.widths)(path, curve) for path in sorted(glob.glob("slices/*.csv"))]
        rows = dask.compute(*tasks)
    with open(f"widths-{options.day}.json", "w") as stream:
        json.dump(rows, stream)
    print(options.day, len(rows), "slices")


if __name__ == "__main__":
    main()
EOF
  g add .gitignore bands.py job.py
  g commit -qm "Widths of bands"
fi

if [ "$N" = 4 ]; then
  package 1.5.0
  sed -i 's/^"""Bands."""/"""Edges of the bands of an agate and the widths between them."""/' bands.py
  g add bands.py
  g commit -qm "bands: a docstring for the module"
fi

mkdir -p slices
"$PYTHON" - "$N" <<'EOF'
import sys
import numpy as np
import pandas as pd
night = int(sys.argv[1])
chance = np.random.default_rng(500 + night)
for piece in chance.permutation(16):
    rows = int(110000 * (1 + chance.uniform(-0.03, 0.03)))
    pd.DataFrame({
        "edge_px": chance.uniform(0, 4096, rows).round(3),
        "grey": chance.integers(0, 255, rows),
    }).to_csv(f"slices/slice_{piece:02d}.csv", index=False)
EOF
exec $RUN "$PYTHON" job.py --day "2026-07-1$N"
