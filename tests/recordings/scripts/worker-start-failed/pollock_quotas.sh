#!/bin/bash
# Quotas of the pollock fleet. Starts a scheduler and two workers for the night, then sums up the catch of
# every vessel and compares it with its quota. Run by cron at 02:10.
set -u
PYTHON=${PYTHON:-python}
mkdir -p run logs

cat > site_settings.py <<'PY'
"""Loaded into every worker: where the vessel register of this site is."""
import json
import os
import pathlib

REGISTER = pathlib.Path(os.environ.get("VESSEL_REGISTER", "register/vessels_2026.json"))
VESSELS = json.loads(REGISTER.read_text())
PY

cat > quotas.py <<'PY'
"""Sums up catches against quotas."""
import logging
import sys
import time

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s quotas %(message)s")
log = logging.getLogger("quotas")


def catch_of(vessel):
    import site_settings
    time.sleep(0.1)
    return vessel, site_settings.VESSELS[vessel]["tonnes"]


def main():
    client = Client(scheduler_file="run/scheduler.json", timeout=20)
    try:
        log.info("connected to %s", client.scheduler.address)
        client.wait_for_workers(2, timeout=14)
        catches = client.gather(client.map(catch_of, ["Polaris", "Ungava", "Svalbard"]))
        for vessel, tonnes in catches:
            log.info("%s %s t", vessel, tonnes)
    finally:
        client.close()


if __name__ == "__main__":
    main()
PY

mkdir -p register
echo '{"Polaris": {"tonnes": 410}, "Ungava": {"tonnes": 122}, "Svalbard": {"tonnes": 77}}' > register/vessels_2025.json

stop_all() {
    for pid in ${WORKERS:-} ${SCHEDULER:-}; do
        kill "$pid" 2>/dev/null
    done
    wait
}
trap stop_all EXIT

echo "$(date +%T) starting the scheduler"
"$PYTHON" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file run/scheduler.json > logs/scheduler.log 2>&1 &
SCHEDULER=$!

for tries in $(seq 1 40); do
    [ -s run/scheduler.json ] && break
    sleep 0.25
done

WORKERS=""
for name in trawl-1 trawl-2; do
    PYTHONPATH=. "$PYTHON" -m dask worker --scheduler-file run/scheduler.json --name "$name" --nthreads 1 \
        --no-dashboard --memory-limit 300MB --preload site_settings.py > "logs/$name.log" 2>&1 &
    WORKERS="$WORKERS $!"
done
echo "$(date +%T) workers are on their way"

if ! "$PYTHON" quotas.py; then
    echo "$(date +%T) quotas were not computed, see logs/" >&2
    exit 1
fi
echo "$(date +%T) done"
