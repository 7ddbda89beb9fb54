import time

from dask.distributed import Client, LocalCluster


def replay(session):
    deadline = time.time() + 9
    ticks = 0
    while time.time() < deadline:
        ticks += 1
        time.sleep(0.01)
    return session, ticks


def main():
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        lifetime="4s",
        lifetime_restart=True,
    )
    client = Client(cluster)
    try:
        sessions = client.map(replay, ["open", "close"])
        print(client.submit(dict, sessions).result(timeout=14))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
