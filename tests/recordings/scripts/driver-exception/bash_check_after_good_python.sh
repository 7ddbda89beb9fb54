#!/usr/bin/env bash
set -euo pipefail
cat > export.py <<'PY'
import pathlib
import dask.bag as db
from dask.distributed import Client

if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        numbers = db.range(10_000, npartitions=8).map(lambda n: n % 97)
        total = numbers.sum().compute()
    pathlib.Path("out").mkdir(exist_ok=True)
    pathlib.Path("out/totals.txt").write_text(str(total))
PY
python export.py
echo "checking the export"
test "$(wc -l < out/totals.csv)" -gt 0
echo "done"
