"""The scheduler always listens at one port, because of the firewall."""

import socket

from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    # last night's run is still alive
    other = socket.create_server(("127.0.0.1", 0))
    port = other.getsockname()[1]
    with LocalCluster(
        n_workers=2, host="127.0.0.1", scheduler_port=port, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            print(client.gather(client.map(abs, range(-5, 5))))
