#!/usr/bin/env bash
# Yearly census of the arboretum: the rangers' sheets are turned into carbon
# estimates per plot.  Runs from cron on one machine: a small cluster is brought
# up for the job, used by the estimate and taken down again.
set -u
PY=${PYTHON:-python}
YEAR=${1:-2026}
WORK=$(mktemp -d)
export DASK_DISTRIBUTED__COMM__RETRY__COUNT=0
PIDS=()

log() { echo "$(date +%H:%M:%S) census: $*"; }

cleanup() {
    rc=$?
    log "taking the cluster down"
    for pid in "${PIDS[@]}"; do
        kill -TERM "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    mv "$WORK/carbon_${YEAR}.csv" ./ 
    rm -rf "$WORK"
    log "finished with $rc"
    exit $rc
}
trap cleanup EXIT

cat > "$WORK/sheets.py" <<'PY'
"""Write the rangers' sheets, one JSON file per plot."""
import json
import random
import sys

folder, year = sys.argv[1], int(sys.argv[2])
rng = random.Random(year)
SPECIES = ["oak", "beech", "larch", "rowan", "alder"]
for plot in range(14):
    trees = [
        {"tag": f"P{plot:02d}-{i:03d}", "species": rng.choice(SPECIES), "girth_cm": rng.uniform(30, 220)}
        for i in range(120)
    ]
    if plot == 9:
        trees[77]["species"] = "wollemi"
    with open(f"{folder}/plot_{plot:02d}.json", "w") as out:
        json.dump({"plot": plot, "trees": trees}, out)
PY

cat > "$WORK/estimate.py" <<'PY'
"""Carbon per plot, from girth and wood density."""
import glob
import json
import math
import sys

from distributed import Client

DENSITY = {"oak": 0.67, "beech": 0.68, "larch": 0.55, "rowan": 0.64, "alder": 0.49}


def read_sheet(path):
    with open(path) as sheet:
        return json.load(sheet)


def plot_carbon(sheet):
    total = 0.0
    for tree in sheet["trees"]:
        diameter = tree["girth_cm"] / math.pi
        volume = 0.0001 * diameter**2.4
        total += 0.5 * volume * DENSITY[tree["species"]]
    return {"plot": sheet["plot"], "carbon_t": round(total, 3)}


def main():
    folder, year, scheduler_file = sys.argv[1:4]
    client = Client(scheduler_file=scheduler_file, timeout="15s")
    client.wait_for_workers(2, timeout=20)
    sheets = client.map(read_sheet, sorted(glob.glob(f"{folder}/plot_*.json")))
    carbon = client.map(plot_carbon, sheets)
    rows = client.gather(carbon)
    with open(f"{folder}/carbon_{year}.csv", "w") as out:
        out.write("plot,carbon_t\n")
        for row in rows:
            out.write(f"{row['plot']},{row['carbon_t']}\n")
    client.close()


if __name__ == "__main__":
    main()
PY

"$PY" "$WORK/sheets.py" "$WORK" "$YEAR" || exit 2

log "bringing the cluster up"
"$PY" -m dask scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file "$WORK/scheduler.json" >"$WORK/scheduler.log" 2>&1 &
PIDS+=($!)
for n in 1 2; do
    "$PY" -m dask worker --scheduler-file "$WORK/scheduler.json" --name "ranger-$n" \
        --nthreads 1 --no-dashboard --no-nanny --memory-limit 400MB \
        --local-directory "$WORK" >"$WORK/worker-$n.log" 2>&1 &
    PIDS+=($!)
done

log "estimating"
"$PY" "$WORK/estimate.py" "$WORK" "$YEAR" "$WORK/scheduler.json"
rc=$?
if [ $rc -ne 0 ]; then
    log "estimate ended with $rc; last lines of the workers:"
    tail -n 3 "$WORK"/worker-*.log
fi
exit $rc
