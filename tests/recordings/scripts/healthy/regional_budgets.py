import socket

import dask.array as da
from dask.distributed import Client, LocalCluster


def busy_port():
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    return sock, sock.getsockname()[1]


def budget(region, dashboard):
    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=f"127.0.0.1:{dashboard}"
    ) as cluster:
        with Client(cluster):
            spend = da.random.default_rng(len(region)).random(
                (600, 12), chunks=(150, 12)
            )
            return float(spend.sum(axis=1).mean().compute())


def main():
    sock, port = busy_port()
    try:
        for region in ("north", "coast", "highlands"):
            print(region, round(budget(region, port), 3))
    finally:
        sock.close()


if __name__ == "__main__":
    main()
