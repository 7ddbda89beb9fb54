#!/usr/bin/env bash
# Nightly acceptance of the lobster landing figures.
#   1. fetch the logbooks of the fishing grounds
#   2. build the catch per port on a small local cluster
#   3. check the totals that go to the ministry
# Usage: lobster_traps.sh [season]
set -u

SEASON="${1:-2026-autumn}"
PY="${PYTHON:-python}"
WORK="$(mktemp -d -t lobster.XXXXXX)"
trap 'rm -rf "$WORK"' EXIT
export SEASON LOGBOOKS="$WORK/logbooks" PYTHONDONTWRITEBYTECODE=1
mkdir -p "$LOGBOOKS"

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }

logbook() {  # ground traps soak_hours skipper
  printf '{"ground": "%s", "traps": %s, "soak_hours": %s, "skipper": "%s"}\n' \
    "$1" "$2" "$3" "$4" >"$LOGBOOKS/$1.json"
}

say "season $SEASON: fetching logbooks"
logbook north    140 48   "A. Lind"
logbook skerries  96 null "P. Holm"
logbook sound    120 36   "M. Berg"
say "$(ls "$LOGBOOKS" | wc -l) logbooks in $LOGBOOKS"

cat >"$WORK/test_landings.py" <<'PYEOF'
import json
import os
import time
from pathlib import Path

import pytest
from distributed import Client, LocalCluster, wait

PORTS = {
    "north": ["Vik", "Sund", "Nes", "Fjordby"],
    "skerries": ["Skaer", "Holmo", "Yttero", "Ramso"],
    "sound": ["Lerhamn", "Molle", "Torekov", "Vejby"],
}


def read_logbook(path):
    time.sleep(0.3)
    return json.loads(Path(path).read_text())


def effort_factor(logbook):
    """Traps per day at sea."""
    days = logbook["soak_hours"] / 24
    return logbook["traps"] / days


def port_catch(port, factor):
    time.sleep(2.0)
    return {"port": port, "kg": round(factor * (3 + len(port) % 4), 1)}


@pytest.fixture(scope="session")
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="250MB",
                      dashboard_address="127.0.0.1:0") as cluster:
        with Client(cluster) as c:
            yield c


@pytest.fixture(scope="session")
def catches(client):
    futures = []
    for ground, ports in PORTS.items():
        path = os.path.join(os.environ["LOGBOOKS"], f"{ground}.json")
        factor = client.submit(effort_factor, client.submit(read_logbook, path))
        futures += [client.submit(port_catch, port, factor) for port in ports]
    wait(futures)
    # late ports are added by hand in the morning
    return client.gather(futures, errors="skip")


def test_no_negative_catch(catches):
    assert all(row["kg"] >= 0 for row in catches)


def test_ports_are_unique(catches):
    names = [row["port"] for row in catches]
    assert len(names) == len(set(names))


def test_ministry_quorum(catches):
    expected = sum(len(ports) for ports in PORTS.values())
    assert len(catches) == expected
PYEOF

say "building and checking the landings"
(cd "$WORK" && "$PY" -m pytest -q -p no:cacheprovider test_landings.py)
rc=$?
if [ "$rc" -ne 0 ]; then
  say "landings of $SEASON are NOT released (pytest exit $rc)"
  exit "$rc"
fi
say "landings of $SEASON released"
