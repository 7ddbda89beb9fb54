#!/usr/bin/env bash
# Nightly freight statement of the airship line.
#
# The batch host gives every job a memory budget.  The budget is watched here,
# the way the site's job runner does it: look every half second, end what is over.
set -u
PY="${PYTHON:-python}"
BUDGET_MB="${BUDGET_MB:-300}"

work=$(mktemp -d "${TMPDIR:-/tmp}/zeppelin.XXXXXX")
trap 'rm -rf "$work"' EXIT
export DASK_TEMPORARY_DIRECTORY="$work"
export PYTHONDONTWRITEBYTECODE=1

say() { printf '%s runner: %s\n' "$(date +%T)" "$*"; }

cat > "$work/statement.py" <<'PYTHON'
"""Collect the manifests of all voyages and print the month's statement."""
import argparse
import logging
import time

import numpy as np
import pandas as pd
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("statement")
PORTS = ["friedrichshafen", "lakehurst", "recife", "cardington"]


def read_manifest(voyage, rows):
    """All freight items of one voyage with weights hour by hour."""
    rng = np.random.default_rng(voyage)
    time.sleep(0.6)  # the archive answers slowly
    frame = pd.DataFrame(
        rng.random((rows, 20)), columns=[f"w{hour:02d}" for hour in range(20)]
    )
    frame["voyage"] = voyage
    frame["port"] = rng.integers(0, len(PORTS), rows)
    return frame


def fees(frame):
    weights = frame.filter(regex="^w").sum(axis=1)
    return weights.groupby(frame["port"]).sum() * 0.12


def collect(client, voyages, rows):
    """One frame per voyage, as they come in."""
    futures = [
        client.submit(read_manifest, v, rows, key=f"read_manifest-{v:03d}") for v in voyages
    ]
    frames = []
    for future, frame in as_completed(futures, with_results=True):
        frames.append(frame)
        future.release()
        if len(frames) % 4 == 0:
            log.info("%d of %d manifests here", len(frames), len(futures))
    return pd.concat(frames, ignore_index=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--voyages", type=int, default=40)
    parser.add_argument("--rows", type=int, default=75_000)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="400MiB",
        dashboard_address="127.0.0.1:0",
    ) as cluster, Client(cluster) as client:
        whole = collect(client, range(args.voyages), args.rows)
        log.info("%d items in all", len(whole))
        for port, total in fees(whole).items():
            log.info("%-16s %12.2f", PORTS[port], total)


if __name__ == "__main__":
    main()
PYTHON

say "statement starts, budget $BUDGET_MB MB"
"$PY" "$work/statement.py" "$@" &
job=$!

while kill -0 "$job" 2>/dev/null; do
    rss=$(awk '/^VmRSS/ {print int($2 / 1024)}' "/proc/$job/status" 2>/dev/null)
    if [ -n "$rss" ] && [ "$rss" -gt "$BUDGET_MB" ]; then
        say "job $job uses $rss MB of $BUDGET_MB MB, ending it"
        kill -KILL "$job"
        break
    fi
    sleep 0.5
done

wait "$job"
code=$?
sleep 1  # children of the job go with it
say "statement ended with $code"
exit "$code"
