import sys
import time
import types

import dask
from dask.distributed import Client, LocalCluster


def sessionize(hour):
    store = sys.modules.setdefault("clickstore", types.ModuleType("clickstore"))
    clicks = store.__dict__.setdefault("clicks", [])
    clicks.append(b"\x01" * 45_000_000)
    time.sleep(0.25)
    return hour, len(clicks)


def main():
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.monitor-interval": "100ms",
        }
    )
    with LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="600MiB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            hours = client.map(sessionize, range(48))
            for future in hours:
                hour, kept = future.result()
                print("hour", hour, "sessions", kept)


if __name__ == "__main__":
    main()
