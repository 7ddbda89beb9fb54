"""Freight rates, as the old night shell does it: normalise, then average."""

import os
import subprocess
import sys
import tempfile

SCRIPT = """
set -u
"$PY" "$JOB" normalise "$WORK" > "$WORK/normalise.log" 2>&1 || echo "normalise: see log"
"$PY" "$JOB" average "$WORK"
"""


def to_euro(rec):
    lane, amount, unit = rec
    factor = {"t": 1.0, "kg": 1000.0}[unit]
    return {"lane": lane, "rate": amount * factor}


def normalise(work):
    import pandas as pd
    from dask.distributed import Client

    records = [(f"lane{i % 5}", 10 + i % 13, "t" if i % 2 else "kg") for i in range(90)]
    records[71] = ("lane1", 20, "lb")
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        rows = client.gather(client.map(to_euro, records))
        pd.DataFrame(rows).to_parquet(f"{work}/rates.parquet")


def average(work):
    import dask.dataframe as dd
    from dask.distributed import Client

    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        rates = dd.read_parquet(f"{work}/rates.parquet")
        print(rates.groupby("lane").rate.mean().compute())


def main():
    with tempfile.TemporaryDirectory() as work:
        env = {"PY": sys.executable, "JOB": os.path.abspath(__file__), "WORK": work}
        done = subprocess.run(["sh", "-c", SCRIPT], env={**os.environ, **env})
        return done.returncode


if __name__ == "__main__":
    if len(sys.argv) > 1:
        {"normalise": normalise, "average": average}[sys.argv[1]](sys.argv[2])
    else:
        sys.exit(main())
