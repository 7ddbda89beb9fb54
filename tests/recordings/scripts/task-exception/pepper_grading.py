"""Grades pepper lots in the background while the main thread prints certificates as they become ready."""

import logging
import queue
import sys
import threading
import time

import numpy as np
from dask.distributed import Client, as_completed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s [%(threadName)s] %(levelname)s %(message)s"
)
log = logging.getLogger("pepper")

GRADES = {"A": 0.82, "B": 0.7, "C": 0.55}
LOTS = [
    {
        "lot": f"KMP-{i:04d}",
        "origin": origin,
        "bags": 40 + i % 9,
        "density": 500 + 7 * i % 90,
    }
    for i, origin in enumerate(["Kampot", "Lampong", "Malabar", "Sarawak"] * 10)
]
# the laboratory writes grams per litre, except where the scale said "OVER"
LOTS[22]["density"] = "OVER"


def read_density(lot):
    value = lot["density"]
    return float(value) / 600.0


def grade_lot(lot):
    time.sleep(0.15)
    rng = np.random.default_rng(int(lot["lot"][4:]))
    score = 0.6 * read_density(lot) + 0.4 * rng.random()
    for grade, floor in GRADES.items():
        if score >= floor:
            return {"lot": lot["lot"], "grade": grade, "score": round(score, 3)}
    return {"lot": lot["lot"], "grade": "D", "score": round(score, 3)}


class Grader(threading.Thread):
    """Feeds the outbox with grades, in the order in which they are done."""

    def __init__(self, client, lots, outbox):
        super().__init__(name="grader", daemon=True)
        self.client, self.lots, self.outbox = client, lots, outbox

    def run(self):
        futures = self.client.map(grade_lot, self.lots, pure=False)
        for future in as_completed(futures):
            self.outbox.put(future.result())
        self.outbox.put(None)


def print_certificates(outbox):
    printed = 0
    while True:
        item = outbox.get(timeout=12)
        if item is None:
            return printed
        printed += 1
        log.info(
            "certificate %s grade %s (%.3f)", item["lot"], item["grade"], item["score"]
        )


def main():
    client = Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    )
    outbox = queue.Queue()
    grader = Grader(client, LOTS, outbox)
    grader.start()
    try:
        printed = print_certificates(outbox)
    finally:
        client.close()
    log.info("%d certificates", printed)
    return 0 if printed == len(LOTS) else 2


if __name__ == "__main__":
    sys.exit(main())
