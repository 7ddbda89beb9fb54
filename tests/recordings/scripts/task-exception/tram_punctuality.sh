#!/usr/bin/env bash
# Nightly gate of the tram punctuality report: make the sample data, run the tests on a cluster, report.
set -u
PY="${PYTHON:-$(command -v python || true)}"


work="$(mktemp -d -t trams.XXXXXX)"
trap 'rm -rf "$work"' EXIT

echo "== sample data"
"$PY" - "$work" <<'PYTHON'
import random, sys
from datetime import datetime, timedelta

rng = random.Random(3)
start = datetime(2026, 6, 1, 4, 30)
depots = ["north", "harbour", "hill", "university"]
for number, depot in enumerate(depots):
    suffix = "+02:00" if depot == "hill" else ""     # the depot got new on-board units in May
    with open(f"{sys.argv[1]}/{number}_{depot}.csv", "w") as out:
        out.write("depot,line,planned,actual\n")
        for n in range(800):
            planned = start + timedelta(seconds=95 * n)
            actual = planned + timedelta(seconds=int(rng.expovariate(1 / 70)) - 20)
            out.write(f"{depot},{rng.choice([1, 3, 4, 7, 12])},{planned.isoformat()},{actual.isoformat()}{suffix}\n")
PYTHON
ls "$work"

cat > "$work/punctuality.py" <<'PYTHON'
"""Delay in seconds of every stop, and the share of trams on time per line."""
import glob
import pandas as pd
import dask.dataframe as dd

ON_TIME = 120


def read(folder):
    paths = sorted(glob.glob(f"{folder}/*.csv"))
    return dd.read_csv(paths, dtype={"depot": "object", "line": "int64", "planned": "object", "actual": "object"})


def add_delay(frame):
    planned = pd.to_datetime(frame["planned"])
    actual = pd.to_datetime(frame["actual"])
    return frame.assign(delay=(actual - planned).dt.total_seconds())


def delays(folder):
    frame = read(folder)
    meta = frame._meta.assign(delay=pd.Series(dtype="float64"))
    return frame.map_partitions(add_delay, meta=meta)


def on_time(folder):
    frame = delays(folder)
    share = (frame["delay"] <= ON_TIME).groupby(frame["line"]).mean()
    return share.compute()
PYTHON

cat > "$work/test_punctuality.py" <<'PYTHON'
import os
import pytest
from distributed import Client, LocalCluster
import punctuality

FOLDER = os.environ["TRAM_DATA"]


@pytest.fixture(scope="session")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="280MiB", dashboard_address=None) as cluster:
        with Client(cluster) as client:
            yield client


def test_all_depots_are_read(client):
    counts = punctuality.read(FOLDER)["depot"].value_counts().compute()
    assert counts.to_dict() == {"north": 800, "harbour": 800, "hill": 800, "university": 800}


def test_first_depot_has_delays(client):
    head = punctuality.delays(FOLDER).head(50)
    assert head["delay"].between(-30, 2000).all()


def test_share_on_time(client):
    share = punctuality.on_time(FOLDER)
    assert (share > 0.5).all()
PYTHON

echo "== tests"
cd "$work" && TRAM_DATA="$work" PYTHONPATH="$work" "$PY" -m pytest -q -p no:cacheprovider -x test_punctuality.py
status=$?

echo "== gate: pytest ended with $status"
if [ "$status" -ne 0 ]; then
    echo "the punctuality report will not be sent" >&2
    exit 1
fi
