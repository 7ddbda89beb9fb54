import time

from dask.distributed import Client, LocalCluster, Lock


def move_block(source, target, seats):
    first, second = Lock(f"hall-{source}"), Lock(f"hall-{target}")
    with first:
        time.sleep(1.0)
        with second:
            return f"{seats} seats {source}->{target}"


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        moves = [
            client.submit(move_block, "east", "west", 40),
            client.submit(move_block, "west", "east", 25),
        ]
        for move in moves:
            print(move.result(timeout=10))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
