"""Turf samples: diggers cut cores and hand them over a bounded queue to one laboratory task."""

import logging
import sys
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Queue, wait

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("turf")

FIELDS = ["Croke", "Thurles", "Navan", "Clones"]
CORES_PER_FIELD = 6


def dig(field, bench, cores):
    """Cuts the cores of a field. The bench has room for four, so digging waits for the laboratory."""
    rng = np.random.default_rng(len(field))
    for number in range(cores):
        time.sleep(0.1)
        bench.put(
            {
                "field": field,
                "core": number,
                "moisture": float(rng.uniform(12, 40)),
                "roots_mm": float(rng.gamma(4, 20)),
            }
        )
    bench.put({"field": field, "core": None})
    return cores


def laboratory(bench, fields):
    """Measures the cores until every field has said that it is done."""
    open_fields, sums, counts = set(fields), {}, {}
    while open_fields:
        core = bench.get()
        if core["core"] is None:
            open_fields.discard(core["field"])
            continue
        sums[core["field"]] = sums.get(core["field"], 0.0) + core["moisture"]
        counts[core["field"]] = counts.get(core["field"], 0) + 1
    return {field: sums[field] / counts[field] for field in fields}


def main():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="800MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        bench = Queue("bench", client=client, maxsize=4)
        digging = [
            client.submit(dig, field, bench, CORES_PER_FIELD, priority=5)
            for field in FIELDS
        ]
        moisture = client.submit(laboratory, bench, FIELDS)
        try:
            wait([moisture, *digging], timeout=22)
        except TimeoutError:
            done = sum(f.done() for f in digging)
            log.error(
                "the laboratory is not through after 22 s (%d of %d fields dug)",
                done,
                len(FIELDS),
            )
            sys.exit(3)
        for field, value in moisture.result().items():
            print(f"{field:10s} {value:5.1f} %")


if __name__ == "__main__":
    main()
