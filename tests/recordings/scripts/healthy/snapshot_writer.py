import time

from dask.distributed import Client, LocalCluster, Lock


def snapshot(shard):
    lock = Lock("snapshot-writer")
    if not lock.acquire(timeout=0.4):
        return shard, "skipped"
    try:
        time.sleep(1.2)
        return shard, "written"
    finally:
        lock.release()


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        results = client.gather(client.map(snapshot, range(8)))
        states = [state for _, state in results]
        print("written", states.count("written"), "skipped", states.count("skipped"))
        assert states.count("written") >= 1


if __name__ == "__main__":
    main()
