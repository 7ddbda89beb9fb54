#!/usr/bin/env bash
# night.sh N OUT: masses of the pinned beetles, by species
set -e
N=$1
cd "$2"
export PYTHONPATH="$PWD/site${PYTHONPATH:+:$PYTHONPATH}"
g() { git -c user.name=Beetle -c user.email=beetle@example.org -c commit.gpgsign=false "$@"; }

package() {  # version
  rm -rf site/taxonlist site/taxonlist-*.dist-info
  mkdir -p site/taxonlist "site/taxonlist-$1.dist-info"
  cat > site/taxonlist/__init__.py <<EOF
"""Species of beetles."""
__version__ = "$1"
FULL = {"c.aur": "Cetonia aurata", "l.cer": "Lucanus cervus", "o.nas": "Oryctes nasicornis", "m.mel": "Melolontha melolontha"}


def full_name(short):
    return FULL.get(short, short)
EOF
  printf 'Metadata-Version: 2.1\nName: taxonlist\nVersion: %s\nSummary: species of beetles\n' "$1" > "site/taxonlist-$1.dist-info/METADATA"
  printf 'pip\n' > "site/taxonlist-$1.dist-info/INSTALLER"
  printf 'taxonlist/__init__.py,,\ntaxonlist-%s.dist-info/METADATA,,\n' "$1" > "site/taxonlist-$1.dist-info/RECORD"
}

if [ "$N" = 1 ]; then
  package 3.0.1
  g init -q .
  printf 'site/\ndrawers/\nsummary*.csv\n__pycache__/\n*.pyc\n' > .gitignore
  cat > job.py <<'EOF'
"""Masses by species."""
import sys

import dask.dataframe as dd
import taxonlist
from dask.distributed import Client, LocalCluster


def build(frame):
    """Mean of the mass for a millimetre of length, by species."""
    frame = frame.assign(per_mm=frame["mass_mg"] / frame["length_mm"])
    return frame.groupby("species").agg({"per_mm": "mean", "length_mm": "max", "drawer": "count"})


def main(day):
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="290MB", dashboard_address=None) as cluster, Client(cluster):
        summary = build(dd.read_parquet("drawers/*.parquet")).compute()
    summary.index = [taxonlist.full_name(short) for short in summary.index]
    summary.to_csv(f"summary-{day}.csv")
    print(day, int(summary["drawer"].sum()), "beetles")


if __name__ == "__main__":
    main(sys.argv[1])
EOF
  g add .gitignore job.py
  g commit -qm "Masses of beetles by species"
fi

if [ "$N" = 4 ]; then
  package 3.0.2
  sed -i 's/^"""Masses by species."""/"""Masses of pinned beetles by species, from the catalogue of the drawers."""/' job.py
  g add job.py
  g commit -qm "Docstring of the job"
fi

mkdir -p drawers
"$PYTHON" - "$N" <<'EOF'
import sys
import numpy as np
import pandas as pd
night = int(sys.argv[1])
chance = np.random.default_rng(400 + night)
for drawer in chance.permutation(9):
    rows = int(60000 * (1 + chance.uniform(-0.03, 0.03)))
    frame = pd.DataFrame({
        "drawer": np.full(rows, drawer, dtype="int32"),
        "species": chance.choice(["c.aur", "l.cer", "o.nas", "m.mel"], rows),
        "length_mm": chance.normal(24, 3, rows).round(1),
        "mass_mg": chance.normal(900, 120, rows).round(1),
    })
    if night == 4 and drawer == 5:  # typed in again at another museum, with a comma
        frame["mass_mg"] = frame["mass_mg"].map(lambda mass: f"{mass:.1f}".replace(".", ","))
    frame.to_parquet(f"drawers/drawer_{drawer:02d}.parquet", index=False)
EOF
exec $RUN "$PYTHON" job.py "2026-08-0$N"
