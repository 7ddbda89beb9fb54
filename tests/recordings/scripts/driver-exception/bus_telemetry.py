"""Bus telemetry roll-up; the dispatcher feed and the Dask scheduler share one host."""

import socket

from dask.distributed import Client, LocalCluster


def open_feed():
    feed = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    feed.bind(("127.0.0.1", 0))
    feed.listen(5)
    return feed


def rollup(line):
    return line, line * 11


def main():
    feed = open_feed()
    port = feed.getsockname()[1]
    print("dispatcher feed on", port)
    try:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            scheduler_port=port,
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                print(client.gather(client.map(rollup, range(20))))
    finally:
        feed.close()


if __name__ == "__main__":
    main()
