"""Evaluate chess openings; slow engines are asked speculatively and cancelled when a line is settled."""

import time

from dask.distributed import Client, LocalCluster, as_completed
from concurrent.futures import CancelledError


def evaluate(opening, depth):
    for _ in range(depth):
        time.sleep(0.1)
    return opening, depth, (len(opening) * 7 + depth) % 11


def main():
    openings = ["ruy lopez", "caro-kann", "reti"]
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            best = {}
            futures = [
                client.submit(evaluate, o, d) for d in (2, 4, 60) for o in openings
            ]
            for f in as_completed(futures):
                if f.status != "finished":
                    continue
                opening, depth, score = f.result()
                best[opening] = max(best.get(opening, -1), score)
                if len(best) == 3 and depth == 4:
                    break
            slow = [f for f in futures if not f.done()]
            client.cancel(slow, force=True)
            for f in slow[:1]:
                try:
                    f.result(timeout=5)
                except CancelledError as exc:
                    print("cancelled as planned:", type(exc).__name__)
            print(best)


if __name__ == "__main__":
    main()
