import dask
import dask.array as da
from dask.distributed import Client, LocalCluster


def main():
    dask.config.set(
        {
            "array.rechunk.method": "tasks",
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.terminate": 0.9,
            "distributed.worker.memory.monitor-interval": "50ms",
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, memory_limit="600MiB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        tracks = da.random.default_rng(1).random((1200, 100_000), chunks=(50, 100_000))
        centred = client.persist(tracks - 0.5)
        by_flight = centred.rechunk((1200, 5_000))
        print(by_flight.std(axis=0).max().compute())
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
