"""Firing curves for kiln batches. As soon as one batch is bad the remaining ones are stopped."""

import time

from dask.distributed import Client, LocalCluster, as_completed

BATCHES = [
    {"id": f"B{n:02d}", "cone": c}
    for n, c in enumerate(
        ["06", "5", "6", "10", "O4", "6", "5", "10", "6", "5", "06", "5"]
    )
]
PEAK = {"06": 999, "04": 1060, "5": 1186, "6": 1222, "10": 1305}


def firing_curve(batch):
    time.sleep(0.8)
    peak = PEAK[batch["cone"]]
    return batch["id"], [20 + (peak - 20) * h / 9 for h in range(10)]


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(firing_curve, BATCHES)
            stopped = False
            for future in as_completed(futures):
                if future.status == "error" and not stopped:
                    stopped = True
                    pending = [f for f in futures if not f.done()]
                    print(f"a batch is bad, stopping {len(pending)} others")
                    client.cancel(pending)
                    break
            curves = dict(f.result() for f in reversed(futures))
            print(len(curves), "curves")


if __name__ == "__main__":
    main()
