"""Port calls: messages that crash the old decoder are decoded by the slow one."""

import os

import dask
from dask.distributed import Client, KilledWorker, LocalCluster

dask.config.set({"distributed.scheduler.allowed-failures": 0})


def decode_fast(message):
    """The old decoder ends its process on fragments."""
    if message["fragment"]:
        os._exit(3)
    return message["id"] * 2


def decode_slow(message):
    return message["id"] * 2


def main():
    messages = [{"id": n, "fragment": n == 7} for n in range(12)]
    decoded = []
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            for message in messages:
                try:
                    decoded.append(client.submit(decode_fast, message).result())
                except KilledWorker:
                    print("message", message["id"], "goes to the slow decoder")
                    client.wait_for_workers(1, timeout=30)
                    decoded.append(client.submit(decode_slow, message).result())
    assert decoded == [n * 2 for n in range(12)]
    print("decoded", len(decoded))


if __name__ == "__main__":
    main()
