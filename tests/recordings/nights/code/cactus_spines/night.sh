#!/usr/bin/env bash
# night.sh N OUT: counts of spines near each spine, for every plant of the glasshouse
set -e
N=$1
cd "$2"
DAY=2026-11-0$N
g() { git -c user.name=Areole -c user.email=areole@example.org -c commit.gpgsign=false "$@"; }
export PYTHONPATH="$PWD/site${PYTHONPATH:+:$PYTHONPATH}"

package() {  # version
  rm -rf site/spinekit site/spinekit-*.dist-info
  mkdir -p site/spinekit "site/spinekit-$1.dist-info"
  cat > site/spinekit/__init__.py <<EOF
"""Names and colours of spines."""
__version__ = "$1"
COLOURS = {"w": "white", "b": "brown", "r": "red"}


def colour_name(letter):
    return COLOURS.get(letter, "unknown")
EOF
  printf 'Metadata-Version: 2.1\nName: spinekit\nVersion: %s\nSummary: names of spines\n' "$1" > "site/spinekit-$1.dist-info/METADATA"
  printf 'pip\n' > "site/spinekit-$1.dist-info/INSTALLER"
  printf 'spinekit/__init__.py,,\nspinekit-%s.dist-info/METADATA,,\n' "$1" > "site/spinekit-$1.dist-info/RECORD"
}

if [ "$N" = 1 ]; then
  package 1.2.0
  g init -q .
  printf 'site/\nin/\nout/\n__pycache__/\n*.pyc\n' > .gitignore
  cat > areole.py <<'EOF'
"""Where spines stand along a rib."""
import numpy as np
import pandas as pd


def read_plant(path):
    return pd.read_csv(path)


def neighbours(heights, reach):
    """For every spine, how many others stand within reach of it."""
    ordered = np.sort(heights)
    low = np.searchsorted(ordered, heights - reach, side="left")
    high = np.searchsorted(ordered, heights + reach, side="right")
    return high - low - 1


def crowding(path, reach):
    plant = read_plant(path)
    counts = neighbours(plant["height_mm"].to_numpy(), reach)
    plant["near"] = counts
    around = neighbours(plant["height_mm"].to_numpy(), 4 * reach)
    by_colour = plant.groupby("colour")["near"].mean().to_dict()
    return {"plant": path.rsplit("/", 1)[-1], "spines": len(plant), "mean_near": float(counts.mean()), "mean_around": float(around.mean()), "by_colour": by_colour}
EOF
  cat > report.py <<'EOF'
"""Report."""
import spinekit


def table(rows):
    """Lines of the report."""
    lines = []
    for row in sorted(rows, key=lambda row: row["plant"]):
        colours = ", ".join(f"{spinekit.colour_name(key)} {value:.1f}" for key, value in sorted(row["by_colour"].items()))
        lines.append(f"{row['plant']:>14} {row['spines']:>7} {row['mean_near']:8.2f}  {colours}")
    return "\n".join(lines)
EOF
  cat > job.py <<'EOF'
"""Crowding of spines, every night."""
import argparse
import glob
import os

from dask.distributed import Client, LocalCluster

import areole
import report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--day", required=True)
    parser.add_argument("--reach", type=float, default=0.8)
    options = parser.parse_args()
    paths = sorted(glob.glob(f"in/{options.day}/*.csv"))
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MB", dashboard_address=None) as cluster, Client(cluster) as client:
        futures = client.map(areole.crowding, paths, reach=options.reach)
        rows = client.gather(futures)
    os.makedirs("out", exist_ok=True)
    with open(f"out/crowding-{options.day}.txt", "w") as stream:
        stream.write(report.table(rows) + "\n")
    print(f"{len(rows)} plants, {sum(row['spines'] for row in rows)} spines")


if __name__ == "__main__":
    main()
EOF
  g add .gitignore areole.py report.py job.py
  g commit -qm "Crowding of spines per plant"
fi

if [ "$N" = 4 ]; then
  "$PYTHON" - <<'EOF'
text = open("areole.py").read()
start = text.index("    ordered = np.sort")
end = text.index("def crowding")
text = text[:start] + '''    counts = np.empty(len(heights), dtype=np.int64)
    for place, height in enumerate(heights):
        counts[place] = np.count_nonzero(np.abs(heights - height) <= reach) - 1
    return counts


''' + text[end:]
open("areole.py", "w").write(text)
EOF
  g add areole.py
  g commit -qm "neighbours: count ties at the rim the same on both sides"
  sed -i 's/^"""Report."""/"""The nightly report: one line for every plant, sorted by its name."""/' report.py
  g add report.py
  g commit -qm "Say what the report is"
  package 1.2.1
fi

mkdir -p "in/$DAY"
"$PYTHON" - "$N" "in/$DAY" <<'EOF'
import sys
import numpy as np
import pandas as pd
night, folder = int(sys.argv[1]), sys.argv[2]
chance = np.random.default_rng(100 + night)
for plant in chance.permutation(20):
    rows = int(36000 * (1 + chance.uniform(-0.03, 0.03)))
    pd.DataFrame({
        "height_mm": chance.gamma(4.0, 60.0, rows).round(3),
        "length_mm": chance.normal(14, 3, rows).round(2),
        "colour": chance.choice(list("wbr"), rows),
    }).to_csv(f"{folder}/plant_{plant:02d}.csv", index=False)
EOF
exec $RUN "$PYTHON" job.py --day "$DAY" --reach 0.8
