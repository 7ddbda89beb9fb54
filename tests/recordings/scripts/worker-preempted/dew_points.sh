#!/usr/bin/env bash
# Dew points of all stations for the morning bulletin.
# One scheduler, one worker in the slot that the night queue gives us.
set -u

STATIONS=${STATIONS:-48}
SLOT_SECONDS=${SLOT_SECONDS:-22}
PATIENCE=${PATIENCE:-35}

work=$(mktemp -d -t dew-XXXXXX)
pids=()

cleanup() {
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

say() {
    echo "$(date +%H:%M:%S) dew: $*"
}

wait_for_file() {
    for _ in $(seq 120); do
        [ -s "$1" ] && return 0
        sleep 0.5
    done
    say "no $1"
    return 1
}

say "starting the scheduler"
dask scheduler --host 127.0.0.1 --port 0 --dashboard-address :0 \
    --scheduler-file "$work/scheduler.json" &
pids+=($!)
wait_for_file "$work/scheduler.json" || exit 3

say "starting the worker in a slot of $SLOT_SECONDS s"
timeout --foreground --signal=TERM "$SLOT_SECONDS" \
    dask worker --scheduler-file "$work/scheduler.json" --nworkers 1 --nthreads 2 \
    --memory-limit 400MB --no-dashboard --local-directory "$work/scratch" --name night-slot &
pids+=($!)

cat > "$work/bulletin.py" <<'PY'
import logging
import math
import random
import sys
import time

from distributed import Client, wait

log = logging.getLogger("bulletin")


def dew_point(temperature, humidity):
    gamma = math.log(humidity / 100) + 17.62 * temperature / (243.12 + temperature)
    return 243.12 * gamma / (17.62 - gamma)


def station_dew_point(station):
    """Readings of the night, one by one from the logger's slow line."""
    rng = random.Random(station)
    points = []
    for _ in range(16):
        time.sleep(0.1)
        points.append(dew_point(rng.uniform(-5, 15), rng.uniform(40, 99)))
    return station, min(points)


def main(scheduler_file, stations, patience):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    with Client(scheduler_file=scheduler_file, timeout=60) as client:
        client.wait_for_workers(1, timeout=60)
        futures = client.map(station_dew_point, range(stations))
        try:
            wait(futures, timeout=patience)
        except TimeoutError:
            done = sum(f.status == "finished" for f in futures)
            log.error("bulletin is late: %d of %d stations", done, stations)
            raise
        coldest = min(client.gather(futures), key=lambda r: r[1])
        log.info("lowest dew point: station %d with %.1f", *coldest)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
PY

say "computing $STATIONS stations"
python "$work/bulletin.py" "$work/scheduler.json" "$STATIONS" "$PATIENCE"
code=$?
say "bulletin ended with $code"
exit $code
