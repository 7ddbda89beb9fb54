#!/usr/bin/env bash
# night.sh N OUT: ages of fish from the rings in their ear stones
set -e
N=$1
cd "$2"
g() { git -c user.name=Otolith -c user.email=otolith@example.org -c commit.gpgsign=false "$@"; }

if [ "$N" = 1 ]; then
  g init -q .
  printf 'plates/\nages.csv\n__pycache__/\n*.pyc\n' > .gitignore
  cat > rings.py <<'EOF'
"""Rings in the picture of an otolith."""
import numpy as np


def smooth(line, width):
    kernel = np.ones(width, dtype=line.dtype) / width
    return np.convolve(line, kernel, mode="same")


def count_rings(path, width=9):
    """Median count of bright rings over the rows of the picture."""
    image = np.load(path)
    counts = []
    for line in image:
        a = smooth(line, width)
        level = np.median(a)
        counts.append(np.count_nonzero((a[1:] > level) & (a[:-1] <= level)))
    return {"plate": path, "rings": float(np.median(counts)), "rows": len(counts)}
EOF
  cat > job.py <<'EOF'
"""Ages from otoliths, one line per plate."""
import argparse
import csv
import glob

import dask
from dask.distributed import Client, LocalCluster

from rings import count_rings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--date", required=True)
    parser.add_argument("--width", type=int, default=9)
    options = parser.parse_args()
    paths = sorted(glob.glob("plates/*.npy"))
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MB", dashboard_address=None) as cluster, Client(cluster):
        answers = dask.compute(*[dask.delayed(count_rings)(path, options.width) for path in paths])
    with open("ages.csv", "w", newline="") as stream:
        writer = csv.DictWriter(stream, ["plate", "rings", "rows"])
        writer.writeheader()
        writer.writerows(answers)
    print(options.date, len(answers), "plates")


if __name__ == "__main__":
    main()
EOF
  g add .gitignore rings.py job.py
  g commit -qm "Count rings of otoliths"
fi

if [ "$N" = 4 ]; then
  sed -i -e 's/        a = smooth(line, width)/        evened = smooth(line, width)/' -e 's/np\.median(a)/np.median(evened)/' -e 's/(a\[1:\] > level) & (a\[:-1\] <= level)/(evened[1:] > level) \& (evened[:-1] <= level)/' rings.py
  g add rings.py
  g commit -qm "rings: a name that says something"
fi

mkdir -p plates
"$PYTHON" - "$N" <<'EOF'
import sys
import numpy as np
night = int(sys.argv[1])
chance = np.random.default_rng(300 + night)
for plate in chance.permutation(20):
    rows, columns = int(1500 * (1 + chance.uniform(-0.03, 0.03))), 1200
    if night == 4 and plate == 6:  # the new scanner at its finest
        rows, columns = 9000, 8000
    wave = np.sin(np.linspace(0, 90, columns, dtype="float32"))
    image = np.lib.format.open_memmap(f"plates/plate_{plate:02d}.npy", "w+", "float32", (rows, columns))
    for start in range(0, rows, 500):
        part = image[start:start + 500]
        part[:] = wave + chance.random(part.shape, dtype="float32")
    image.flush()
EOF
exec $RUN "$PYTHON" job.py --date "2026-09-2$N" --width 9
