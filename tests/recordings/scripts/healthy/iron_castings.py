"""Simulate how the day's iron castings cool in their moulds and order the shake-out.

The foundry's machine is shared: its watchman may take a process away when the furnaces need the machine.  The run is
made so that it does not matter.
"""

import logging
import os
import signal
import sys
import threading
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed

log = logging.getLogger("foundry")


def pour(casting):
    rng = np.random.default_rng(casting)
    mould = np.full((90, 90), 25.0)
    w, h = rng.integers(20, 40, 2)
    mould[45 - h // 2 : 45 + h // 2, 45 - w // 2 : 45 + w // 2] = 1350.0
    return mould


def cool(mould, steps=400):
    """Explicit heat equation until the hottest spot is below the limit."""
    t = mould.copy()
    for _ in range(steps):
        t[1:-1, 1:-1] += 0.2 * (
            t[2:, 1:-1] + t[:-2, 1:-1] + t[1:-1, 2:] + t[1:-1, :-2] - 4 * t[1:-1, 1:-1]
        )
    time.sleep(0.25)
    return t


def shake_out(before, after, casting):
    lost = float((before - after)[30:60, 30:60].mean())
    return casting, round(float(after.max()), 1), round(lost, 1)


def watchman(pid, go):
    """Takes one process of the farm for the furnaces."""
    if go.wait(30):
        os.kill(pid, signal.SIGKILL)


def main(castings=40):
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    with LocalCluster(
        n_workers=3, threads_per_worker=1, memory_limit="350MB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            pids = client.run(os.getpid)
            go = threading.Event()
            guard = threading.Thread(
                target=watchman, args=(sorted(pids.values())[0], go), daemon=True
            )
            guard.start()

            moulds = client.map(pour, range(castings))
            cooled = client.map(cool, moulds)
            order = client.map(shake_out, moulds, cooled, range(castings))
            rows = []
            for _, row in as_completed(order, with_results=True, timeout=90):
                rows.append(row)
                if len(rows) == castings // 4:
                    go.set()
            guard.join(5)

            rows.sort(key=lambda r: r[1])
            after = client.run(os.getpid)
            log.info("%d castings, %d workers at the end", len(rows), len(after))
            for casting, hottest, lost in rows[:3]:
                log.info(
                    "first to shake out: casting %d, %.1f degrees, lost %.1f",
                    casting,
                    hottest,
                    lost,
                )
            if {r[0] for r in rows} != set(range(castings)):
                log.error("castings are missing")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
