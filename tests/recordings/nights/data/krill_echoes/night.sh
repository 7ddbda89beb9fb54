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

mkdir -p data
printf 'data/\n__pycache__/\n' > .gitignore
FORMAT='%(asctime)s %(levelname)s %(message)s'
UNIT=dB
case $N in
    2) echo "Krill density from echo sounder pings." > README.md ;;
    4) FORMAT='%(asctime)s %(name)s [%(process)d] %(levelname)s %(message)s'; UNIT='dB re 1 m' ;;
esac
cat > krill_echoes.py <<PYTHON
"""Krill density per transect from echo sounder pings."""
import argparse
import logging
from pathlib import Path

import dask
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

log = logging.getLogger("krill")
COLUMNS = ["ping", "depth", "sv38", "sv120"]
BINS = 10


def read_pings(path):
    return pd.read_csv(path, names=COLUMNS, dtype="f8")


def echo_integral(path):
    pings = read_pings(path)
    fine = pings.loc[pings.index.repeat(BINS)].reset_index(drop=True)
    fine["depth"] += np.tile(np.arange(BINS) / BINS, len(pings))
    fine = fine.sort_values(["depth", "ping"])
    window = fine["sv120"] - fine["sv38"]
    krill = fine[window.between(2, 16)]
    return Path(path).name.split(".")[0], float(10 * np.log10((10 ** (krill.sv120 / 10)).mean()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="$FORMAT")
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    files = sorted(str(p) for p in Path(args.data).glob("*.csv.gz"))
    with LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="550MiB",
                      dashboard_address=":0") as cluster, Client(cluster) as client:
        for transect, sv in client.gather(client.map(echo_integral, files, pure=False)):
            log.info("%s: %.1f %s", transect, sv, "$UNIT")


if __name__ == "__main__":
    main()
PYTHON
commit "night $N"
"$PY" - "$N" <<'PYTHON'
import gzip, sys
import numpy as np
night = int(sys.argv[1])
for t, rows in (("T1", 30_000), ("T2", 45_000), ("T3", 35_000)):
    rng = np.random.default_rng(night * 10 + ord(t[1]))
    rows += int(rng.integers(-2000, 2000))
    block = np.column_stack([np.arange(rows), rng.uniform(5, 250, rows).round(1),
                             rng.normal(-74, 4, rows).round(1), rng.normal(-66, 4, rows).round(1)])
    text = "\n".join(",".join(map(str, row)) for row in block.tolist()) + "\n"
    piece = gzip.compress(text.encode(), 1)
    with open(f"data/{t}.csv.gz", "wb") as out:
        for _ in range(20 if night == 4 and t == "T2" else 1):
            out.write(piece)
PYTHON
exec $RUN "$PY" krill_echoes.py --data data
