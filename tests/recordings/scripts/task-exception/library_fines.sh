#!/usr/bin/env bash
# Nightly acceptance check of the fines ledger before the mails go out:
# builds a ledger from the loans, then pytest recomputes the fines branch by
# branch on a small cluster and compares them with the books.
set -u

PY="${PYTHON:-python}"
WORK="$(mktemp -d -t fines-XXXXXX)"
trap 'rm -rf "$WORK"' EXIT
export FINES_DB="$WORK/ledger.sqlite"
export PYTHONDONTWRITEBYTECODE=1

say() { echo "$(date '+%H:%M:%S') library_fines: $*"; }

cat > "$WORK/ledger.py" <<'PYEOF'
"""Access to the ledger, shared by the job and its checks."""
import functools
import os
import sqlite3
import time

BRANCHES = ["central", "harbour", "mill", "north", "park", "school", "station", "west"]


@functools.lru_cache(maxsize=1)
def ledger():
    """The ledger, opened read-only once per process: opening takes a while on the share."""
    time.sleep(3)
    return sqlite3.connect(f"file:{os.environ['FINES_DB']}?mode=ro", uri=True)


def overdue_fines(branch, rate):
    """Cents owed at a branch: `rate` for every day beyond four weeks."""
    rows = ledger().execute(
        "select reader, days from loans where branch = ? and days > 28", (branch,)
    ).fetchall()
    time.sleep(2)
    return sum((days - 28) * rate for _, days in rows)


def create():
    con = sqlite3.connect(os.environ["FINES_DB"])
    con.execute("create table loans (reader integer, branch text, days integer)")
    con.execute("create table books (branch text primary key, cents integer)")
    for b, branch in enumerate(BRANCHES):
        loans = [(1000 * b + i, branch, (i * 7 + b) % 45) for i in range(400)]
        con.executemany("insert into loans values (?, ?, ?)", loans)
        con.execute("insert into books values (?, ?)",
                    (branch, sum((d - 28) * 20 for _, _, d in loans if d > 28)))
    con.commit()
    con.close()


if __name__ == "__main__":
    create()
PYEOF

cat > "$WORK/test_fines.py" <<'PYEOF'
import os
import sqlite3

import pytest
from dask.distributed import Client, LocalCluster

import ledger


@pytest.fixture(scope="session")
def client():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="300MB", dashboard_address=":0"
    ) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def books():
    con = sqlite3.connect(os.environ["FINES_DB"])
    try:
        return dict(con.execute("select branch, cents from books"))
    finally:
        con.close()


def test_books_are_complete(books):
    assert sorted(books) == sorted(ledger.BRANCHES)


def test_single_branch(client, books):
    future = client.submit(ledger.overdue_fines, "central", 20)
    assert future.result() == books["central"]


def test_all_branches(client, books):
    futures = client.map(ledger.overdue_fines, ledger.BRANCHES[1:], rate=20)
    fines = dict(zip(ledger.BRANCHES[1:], client.gather(futures)))
    for branch, cents in fines.items():
        assert cents == books[branch], branch


def test_rate_is_linear(client):
    one, two = client.gather(client.map(ledger.overdue_fines, ["mill", "mill"], [10, 20]))
    assert two == 2 * one
PYEOF

say "build the ledger"
"$PY" "$WORK/ledger.py" || { say "no ledger"; exit 2; }

say "check the fines"
cd "$WORK" || exit 2
PYTHONPATH="$WORK" "$PY" -m pytest -q -x -p no:cacheprovider test_fines.py
status=$?
cd / || exit 2

if [ "$status" -ne 0 ]; then
  say "checks failed (pytest $status), no mails tonight"
  exit "$status"
fi
say "mails may go out"
