"""Build the crew roster; the scheduler listens on a fixed port for the monitoring."""

import socket
import time

from dask.distributed import Client, LocalCluster


def legal_rest(duty):
    time.sleep(0.05)
    return duty, max(11, duty % 14)


def status_endpoint():
    """Small listener the control room polls."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(5)
    return s


def main():
    status = status_endpoint()
    port = status.getsockname()[1]
    try:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                host="127.0.0.1",
                scheduler_port=port,
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            print(dict(client.gather(client.map(legal_rest, range(40)))))
    finally:
        status.close()


if __name__ == "__main__":
    main()
