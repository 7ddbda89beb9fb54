#!/usr/bin/env bash
# Christmas trade: read the orders of the shops, then plan the production of tinsel.
# Step 1 and step 2 are python programs with a cluster of their own; the log of each is kept.

PYTHON="${PYTHON:-python}"
WORK="$(mktemp -d -t tinsel-XXXXXX)"
trap 'rm -rf "$WORK"' EXIT
export WORK

mkdir -p "$WORK/orders" "$WORK/logs"

say() { echo "$(date +%H:%M:%S) tinsel: $*"; }

# --- orders as the shops send them ------------------------------------------------
"$PYTHON" - <<'PY'
import os, random
rng = random.Random(24)
shops = ["aarhus", "bergen", "malmo", "tampere", "odense", "ghent"]
for shop in shops:
    with open(f"{os.environ['WORK']}/orders/{shop}.txt", "w") as out:
        for n in range(60):
            metres = f"{rng.randrange(20, 900)}.{rng.randrange(10)}"
            if shop == "ghent" and n == 41:
                metres = "1.240,5"
            out.write(f"{shop}|{rng.choice(['gold', 'silver', 'red'])}|{metres}\n")
PY

# --- the two steps ----------------------------------------------------------------
cat >"$WORK/read_orders.py" <<'PY'
import glob, json, logging, os, time
from distributed import Client, LocalCluster

log = logging.getLogger("read_orders")


def read_shop(path):
    totals = {}
    time.sleep(0.3)
    with open(path) as lines:
        for line in lines:
            shop, colour, metres = line.rstrip("\n").split("|")
            totals[colour] = totals.get(colour, 0.0) + float(metres)
    return totals


def add_up(shops):
    total = {}
    for shop in shops:
        for colour, metres in shop.items():
            total[colour] = total.get(colour, 0.0) + metres
    return total


def main():
    logging.basicConfig(level=logging.INFO)
    work = os.environ["WORK"]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      local_directory=work) as cluster, Client(cluster) as client:
        parts = client.map(read_shop, sorted(glob.glob(f"{work}/orders/*.txt")))
        total = client.submit(add_up, parts).result()
    with open(f"{work}/demand.json", "w") as out:
        json.dump(total, out)
    log.info("demand written")


if __name__ == "__main__":
    main()
PY

cat >"$WORK/plan_machines.py" <<'PY'
import json, logging, os, sys, time
from distributed import Client, LocalCluster

log = logging.getLogger("plan_machines")


def hours_of(colour, metres, speed=350.0):
    time.sleep(0.2)
    return colour, metres / speed


def main():
    logging.basicConfig(level=logging.INFO)
    work = os.environ["WORK"]
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0",
                      local_directory=work) as cluster, Client(cluster) as client:
        speeds = client.gather(client.map(lambda n: 300 + n, range(4)))
        with open(f"{work}/demand.json") as lines:
            demand = json.load(lines)
        plan = dict(client.gather([client.submit(hours_of, c, m, max(speeds)) for c, m in demand.items()]))
        log.info("machine hours: %s", plan)


if __name__ == "__main__":
    main()
PY

say "step 1: read the orders"
"$PYTHON" "$WORK/read_orders.py" 2>&1 | tee "$WORK/logs/read_orders.log" | tail -n 40
say "step 1 done (exit code $?)"

say "step 2: plan the machines"
"$PYTHON" "$WORK/plan_machines.py"
rc=$?
say "step 2 done (exit code $rc)"
exit $rc
