#!/usr/bin/env bash
# night.sh N OUT: roundness of the clasts in photographs of moraines
set -e
N=$1
cd "$2"
g() { git -c user.name=Moraine -c user.email=moraine@example.org -c commit.gpgsign=false "$@"; }

if [ "$N" = 1 ]; then
  g init -q .
  printf 'faces/\nroundness*.json\ncluster.toml\n__pycache__/\n*.pyc\n' > .gitignore
  cat > clasts.py <<'EOF'
"""Roundness of clasts."""
import numpy as np


def roundness(path, shifts):
    """How alike a face is to itself, turned by a number of shifts."""
    r = np.load(path)
    turned = [np.roll(r, shift, axis=1) for shift in range(shifts)]
    likeness = []
    for layer in turned:
        for line, other in zip(layer, r):
            likeness.append(float(np.correlate(line, other[::2], mode="same").max()))
    return {"face": path, "likeness": float(np.mean(likeness)), "clasts": int(r.shape[0])}
EOF
  cat > job.py <<'EOF'
"""Roundness of the clasts of every face."""
import argparse
import glob
import json
import tomllib

from dask.distributed import Client, LocalCluster

from clasts import roundness


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", required=True)
    parser.add_argument("--shifts", type=int, default=18)
    options = parser.parse_args()
    with open("cluster.toml", "rb") as stream:
        shape = tomllib.load(stream)["cluster"]
    with LocalCluster(dashboard_address=None, **shape) as cluster, Client(cluster) as client:
        rows = client.gather(client.map(roundness, sorted(glob.glob("faces/*.npy")), shifts=options.shifts))
    with open(f"roundness-{options.day}.json", "w") as stream:
        json.dump(rows, stream)
    print(options.day, len(rows), "faces")


if __name__ == "__main__":
    main()
EOF
  g add .gitignore clasts.py job.py
  g commit -qm "Roundness of clasts"
fi

THREADS=1
if [ "$N" = 4 ]; then
  THREADS=4
  sed -i -e 's/\br = np\.load/face = np.load/' -e 's/np\.roll(r,/np.roll(face,/' -e 's/zip(layer, r)/zip(layer, face)/' -e 's/int(r\.shape/int(face.shape/' clasts.py
  g add clasts.py
  g commit -qm "clasts: rename r to face"
fi
cat > cluster.toml <<EOF
[cluster]
n_workers = 2
threads_per_worker = $THREADS
memory_limit = "290MB"
EOF

mkdir -p faces
"$PYTHON" - "$N" <<'EOF'
import sys
import numpy as np
night = int(sys.argv[1])
chance = np.random.default_rng(700 + night)
for face in chance.permutation(16):
    rows = int(1000 * (1 + chance.uniform(-0.03, 0.03)))
    np.save(f"faces/face_{face:02d}.npy", chance.random((rows, 900), dtype="float32"))
EOF
exec $RUN "$PYTHON" job.py --day "2026-06-2$N" --shifts 18
