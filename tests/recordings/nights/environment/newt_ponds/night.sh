#!/usr/bin/env bash
# night.sh N OUT: how many newts reach each place around the ponds
set -e
N=$1
cd "$2"
g() { git -c user.name=Newt -c user.email=newt@example.org -c commit.gpgsign=false "$@"; }

if [ "$N" = 1 ]; then
  g init -q .
  printf 'sightings/\nreach/\n__pycache__/\n*.pyc\n' > .gitignore
  cat > spread.py <<'EOF'
"""Spread of newts around a pond."""
import os

import numpy as np
import pandas as pd


def grid_step():
    """Metres between the places of the grid."""
    return float(os.environ.get("NEWT_GRID_STEP", "3"))


def density(path, radius):
    """Mean and highest density of newts on a grid around the pond."""
    seen = pd.read_csv(path)
    x, y = seen["x_m"].to_numpy(), seen["y_m"].to_numpy()
    axis = np.arange(-radius, radius, grid_step())
    highest = total = 0.0
    for north in axis:
        weights_y = np.exp(-((y - north) / 5.0) ** 2)
        for east in axis:
            value = float(np.dot(weights_y, np.exp(-((x - east) / 5.0) ** 2)))
            highest = max(highest, value)
            total += value
    return {"pond": path, "newts": len(seen), "mean": total / len(axis) ** 2, "highest": highest}
EOF
  cat > job.py <<'EOF'
"""Density of newts, pond by pond."""
import argparse
import glob
import os

import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

from spread import density


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", required=True)
    parser.add_argument("--radius", type=float, default=60)
    options = parser.parse_args()
    paths = sorted(glob.glob(f"sightings/{options.day}/*.csv"))
    rows = []
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MB", dashboard_address=None) as cluster, Client(cluster) as client:
        for future in as_completed(client.map(density, paths, radius=options.radius)):
            rows.append(future.result())
    os.makedirs("reach", exist_ok=True)
    pd.DataFrame(rows).sort_values("pond").to_csv(f"reach/{options.day}.csv", index=False)
    print(options.day, len(rows), "ponds")


if __name__ == "__main__":
    main()
EOF
  g add .gitignore spread.py job.py
  g commit -qm "Density of newts around ponds"
fi

export NEWT_GRID_STEP=3
if [ "$N" = 4 ]; then
  export NEWT_GRID_STEP=0.5
  sed -i 's/^    """Mean and highest density of newts on a grid around the pond."""/    """Mean and highest density of newts on a square grid around the pond, with a kernel of 5 m."""/' spread.py
  g add spread.py
  g commit -qm "spread: say which kernel"
fi

DAY=2026-05-0$N
mkdir -p "sightings/$DAY"
"$PYTHON" - "$N" "sightings/$DAY" <<'EOF'
import sys
import numpy as np
import pandas as pd
night, folder = int(sys.argv[1]), sys.argv[2]
chance = np.random.default_rng(600 + night)
for pond in chance.permutation(12):
    rows = int((11300 if night == 4 else 11000) * (1 + chance.uniform(-0.02, 0.02)))
    pd.DataFrame({"x_m": chance.normal(0, 25, rows).round(2), "y_m": chance.normal(0, 25, rows).round(2)}).to_csv(f"{folder}/pond_{pond:02d}.csv", index=False)
EOF
exec $RUN "$PYTHON" job.py --day "$DAY" --radius 60
