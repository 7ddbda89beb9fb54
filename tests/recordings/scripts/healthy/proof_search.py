import time

from dask.distributed import CancelledError, Client, LocalCluster, as_completed


def attempt(strategy):
    time.sleep(0.2 * strategy)
    return strategy if strategy % 3 == 2 else None


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        tries = client.map(attempt, range(20))
        for future in as_completed(tries):
            found = future.result()
            if found is not None:
                break
        client.cancel(tries, force=True)
        try:
            tries[-1].result()
        except CancelledError as exc:
            print("stopped the rest:", type(exc).__name__)
        print("proof by strategy", found)


if __name__ == "__main__":
    main()
