"""Breaking loads of knots for the climbing-rope catalogue.

The rope model is an old C library that is called through ctypes; the ropes
are independent of each other.  Results go to a CSV for the catalogue team.
"""

import csv
import ctypes
import logging
import sys

import dask
from dask.distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("knots")

KNOTS = {"bowline": 0.70, "figure-eight": 0.78, "clove hitch": 0.62, "fisherman": 0.66}
ROPES = [
    {"name": "alpine 8.5", "kn": 15.0, "strands": 32},
    {"name": "static 11", "kn": 32.0, "strands": 40},
    {"name": "gym 10.2", "kn": 22.5, "strands": 36},
    {"name": "canyon 9", "kn": 18.0, "strands": 900},
    {"name": "rescue 12.5", "kn": 41.0, "strands": 48},
]


class RopeModel:
    """Thin layer over the C side; calls keep Python's API usable for callbacks."""

    def __init__(self):
        self.lib = ctypes.PyDLL(None)
        self.lib.usleep.argtypes = [ctypes.c_uint]

    def settle(self, strands):
        # relaxation until the strands rest; grows with their square
        rounds = max(1, strands * strands // 30_000)
        self.lib.usleep(rounds * 900_000 if rounds > 1 else 20_000)
        return rounds


def settle_rope(rope):
    model = RopeModel()
    rounds = model.settle(rope["strands"])
    return {**rope, "rounds": rounds}


def knot_load(rope, knot):
    return (
        rope["name"],
        knot,
        round(rope["kn"] * KNOTS[knot] * (1 - 0.001 * rope["rounds"]), 2),
    )


def write_catalogue(rows, path="knots.csv"):
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["rope", "knot", "breaking load kN"])
        out.writerows(sorted(rows))


def main():
    settings = {
        "distributed.scheduler.worker-ttl": "6s",
        "distributed.scheduler.allowed-failures": 0,
        "distributed.comm.timeouts.connect": "5s",
    }
    rows = []
    with dask.config.set(settings):
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        )
        client = Client(cluster)
        try:
            settled = {
                r["name"]: client.submit(settle_rope, r, key=f"settle_rope-{r['name']}")
                for r in ROPES
            }
            loads = [
                client.submit(knot_load, rope, knot, key=f"knot_load-{name}-{knot}")
                for name, rope in settled.items()
                for knot in KNOTS
            ]
            for future in as_completed(loads, raise_errors=False):
                if future.status == "finished":
                    rows.append(future.result())
            write_catalogue(rows)
            missing = [f for f in loads if f.status != "finished"]
            log.info("%d of %d loads", len(rows), len(loads))
            if missing:
                missing[0].result()
        finally:
            client.close()
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
