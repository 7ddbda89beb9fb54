#!/usr/bin/env bash
# night.sh N OUT: grain-size fractions of loess samples
set -e
N=$1
cd "$2"
g() { git -c user.name=Loess -c user.email=loess@example.org -c commit.gpgsign=false "$@"; }

if [ "$N" = 1 ]; then
  g init -q .
  printf 'samples/\nresults/\n__pycache__/\n*.pyc\n' > .gitignore
  mkdir -p grainlab
  : > grainlab/__init__.py
  cat > grainlab/sieve.py <<'EOF'
"""Fractions that pass each sieve."""
import numpy as np
import pandas as pd

SIEVES_UM = (2, 6.3, 20, 63, 200, 630)


def fractions(path):
    """(sieve, share of mass that passes) for one sample."""
    sample = pd.read_csv(path)
    mass = sample["diameter_um"].to_numpy() ** 3 * sample["density"].to_numpy()
    total = mass.sum()
    order = np.argsort(sample["diameter_um"].to_numpy())
    running = np.cumsum(mass[order])
    places = np.searchsorted(sample["diameter_um"].to_numpy()[order], SIEVES_UM)
    return [(sieve, float(running[place - 1] / total) if place else 0.0) for sieve, place in zip(SIEVES_UM, places)]
EOF
  cat > grainlab/curves.py <<'EOF'
"""Curves from fractions."""


def median_sieve(pairs):
    """First sieve that lets half of the mass pass."""
    for sieve, share in pairs:
        if share >= 0.5:
            return sieve
    return None
EOF
  cat > job.py <<'EOF'
"""Grain sizes of the samples that came in."""
import glob
import json
import sys

from dask.distributed import Client, LocalCluster

from grainlab import curves, sieve


def main(day):
    paths = sorted(glob.glob("samples/*.csv"))
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MB", dashboard_address=None) as cluster, Client(cluster) as client:
        futures = client.map(sieve.fractions, paths)
        answers = client.gather(futures)
    medians = {path: curves.median_sieve(pairs) for path, pairs in zip(paths, answers)}
    with open(f"results/{day}.json", "w") as stream:
        json.dump(medians, stream, indent=1)
    print(f"{day}: {len(medians)} samples")


if __name__ == "__main__":
    main(sys.argv[1])
EOF
  g add .gitignore grainlab job.py
  g commit -qm "Sieve curves of loess samples"
fi

if [ "$N" = 4 ]; then
  sed -i 's/^"""Curves from fractions."""/"""Cumulative curves, from the fractions that pass each sieve (ISO 14688)."""/' grainlab/curves.py
  g add grainlab/curves.py
  g commit -qm "curves: name the standard"
  # somebody tried something on the machine and left it there, never committed
  sed -i -e 's/^    return \[(sieve, float(\(.*\))\]$/    return ((sieve, float(\1))/' -e 's/^    """(sieve, share of mass that passes) for one sample."""/    """(sieve, share of mass that passes) for one sample, one by one."""/' grainlab/sieve.py
fi

mkdir -p samples results
"$PYTHON" - "$N" <<'EOF'
import sys
import numpy as np
import pandas as pd
night = int(sys.argv[1])
chance = np.random.default_rng(200 + night)
for sample in chance.permutation(11 if night == 4 else 10):
    rows = int(90000 * (1 + chance.uniform(-0.03, 0.03)))
    pd.DataFrame({
        "diameter_um": chance.lognormal(3.2, 0.8, rows).round(3),
        "density": chance.normal(2.65, 0.05, rows).round(3),
    }).to_csv(f"samples/profile_{sample:02d}.csv", index=False)
EOF
exec $RUN "$PYTHON" job.py "2026-10-1$N"
