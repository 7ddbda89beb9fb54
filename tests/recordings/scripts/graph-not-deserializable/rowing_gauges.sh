#!/usr/bin/env bash
# Gauges along the rowing course: one scheduler, workers of two shifts, a check of the results with pytest.
set -u
PYTHON=${PYTHON:-python}
export PYTHONDONTWRITEBYTECODE=1
WORK=$(mktemp -d)
FILE=$WORK/scheduler.json
SCHEDULER= EARLY= LATE=

finish() {
    for pid in $LATE $EARLY $SCHEDULER; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    rm -rf "$WORK"
}
trap finish EXIT

say() { echo "$(date +%T) $*"; }

worker() {
    "$PYTHON" -m dask worker --scheduler-file "$FILE" --name "$1" --nthreads 1 --memory-limit 300MiB \
        --no-dashboard --local-directory "$WORK" &
}

cat > "$WORK/course.py" <<'PY'
import json
import random
import sys
import time

from dask.distributed import Client


def gauge(metre, seed):
    rng = random.Random(metre * 100 + seed)
    time.sleep(0.25)
    return metre, sum(rng.gauss(1.8, 0.1) for _ in range(50)) / 50


def main(scheduler_file, out):
    with Client(scheduler_file=scheduler_file) as client:
        client.wait_for_workers(1, timeout=30)
        futures = [client.submit(gauge, m, 7, key=f"gauge-{m}") for m in range(0, 2000, 50)]
        rows = client.gather(futures)
    with open(out, "w") as handle:
        json.dump(rows, handle)
    print(f"{len(rows)} gauges")


if __name__ == "__main__":
    main(*sys.argv[1:])
PY

cat > "$WORK/test_course.py" <<'PY'
import json
import os

import pytest
from dask.distributed import Client

ROWS = json.load(open(os.environ["ROWS"]))


@pytest.fixture
def client():
    with Client(scheduler_file=os.environ["SCHEDULER_FILE"]) as client:
        yield client


def depth_of(row):
    if row[1] < 0:
        raise ValueError(f"gauge {row[0]} reads {row[1]}")
    return row[1]


def test_all_gauges():
    assert len(ROWS) == 40


def test_negative_reading_is_refused(client):
    with pytest.raises(ValueError, match="reads -1"):
        client.submit(depth_of, (100, -1.0), pure=False).result(timeout=20)


@pytest.mark.xfail(reason="the weir at 950 m is being rebuilt")
def test_weir(client):
    depth = client.submit(depth_of, ROWS[19]).result(timeout=20)
    assert depth > 2.5


def test_depths(client):
    depths = client.gather(client.map(depth_of, ROWS))
    assert 1.5 < min(depths) and max(depths) < 2.1
PY

"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$FILE" &
SCHEDULER=$!
for _ in $(seq 100); do [ -e "$FILE" ] && break; sleep 0.2; done

worker early; EARLY=$!
"$PYTHON" "$WORK/course.py" "$FILE" "$WORK/rows.json" &
JOB=$!
sleep 6
say "end of the early shift"
worker late; LATE=$!
sleep 3
kill -TERM "$EARLY"
wait "$EARLY"
say "early worker left with $?"
EARLY=

wait "$JOB" || { say "gauges failed"; exit 1; }
say "checking"
ROWS=$WORK/rows.json SCHEDULER_FILE=$FILE "$PYTHON" -m pytest -q -p no:cacheprovider "$WORK/test_course.py"
rc=$?
say "checks ended with $rc"
exit $rc
