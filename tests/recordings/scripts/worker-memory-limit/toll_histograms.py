"""Passages of toll gates: tasks count vehicles, an actor keeps the book of all days for the late questions."""

import argparse
import logging
import sys
import time

import numpy as np
from distributed import Client, LocalCluster

log = logging.getLogger("tolls")
CLASSES = ["motorcycle", "car", "van", "lorry", "coach"]


class PassageBook:
    """Lives on a worker; knows the gap between any two passages of a day."""

    def __init__(self, classes):
        self.classes = classes
        self.days = {}

    def add(self, day, passages):
        """Keep a day, sorted, with the gaps to the next passages for quick answers."""
        ordered = np.sort(passages)
        gaps = np.lib.stride_tricks.sliding_window_view(np.diff(ordered), 60).astype(
            "f4"
        )
        self.days[day] = (ordered, gaps)
        return len(self.days)

    def busiest_minute(self, day):
        ordered, _ = self.days[day]
        minute = np.bincount((ordered // 60).astype(int))
        return int(minute.argmax()), int(minute.max())

    def shortest_gap(self):
        return min(float(gaps.min()) for _, gaps in self.days.values())


def passages_of(day, count):
    """Seconds of the day at which vehicles passed."""
    rng = np.random.default_rng(day)
    rush = rng.normal(8 * 3600, 3000, count // 2)
    evening = rng.normal(17.5 * 3600, 4000, count - count // 2)
    time.sleep(0.15)
    return np.clip(np.concatenate([rush, evening]), 0, 86399)


def classify(day, passages):
    rng = np.random.default_rng(day + 1000)
    share = rng.dirichlet([1, 20, 4, 6, 1])
    return dict(zip(CLASSES, (share * len(passages)).astype(int).tolist()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=31)
    parser.add_argument("--passages", type=int, default=60_000)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        home, other = sorted(client.scheduler_info(n_workers=-1)["workers"])
        book = client.submit(
            PassageBook, CLASSES, actor=True, workers=[home], key="passage-book"
        ).result()
        totals = dict.fromkeys(CLASSES, 0)
        for day in range(args.days):
            # the counting runs on the other worker, the book has its own
            passages = client.submit(
                passages_of,
                day,
                args.passages,
                workers=[other],
                key=f"passages-{day:02d}",
            )
            counts = client.submit(
                classify, day, passages, workers=[other], key=f"classes-{day:02d}"
            ).result()
            kept = book.add(day, passages.result()).result()
            for name, count in counts.items():
                totals[name] += count
            log.info(
                "day %02d: %d passages, %d days in the book",
                day,
                sum(counts.values()),
                kept,
            )
            time.sleep(0.3)
        minute, count = book.busiest_minute(args.days - 1).result()
        log.info("busiest minute %d with %d passages", minute, count)
        log.info("shortest gap %.4f s", book.shortest_gap().result())
        log.info("totals %s", totals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
