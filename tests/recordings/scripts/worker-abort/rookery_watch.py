"""Rook counts from drone flights; the drone's decoder is an old C++ library."""

import os
import signal
import tempfile
import time

import dask
from dask.distributed import Client, LocalCluster


def fetch_flight(flight, marks):
    flag = os.path.join(marks, f"fetched-{flight}")
    time.sleep(0.3)
    if flight == 2 and not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(
            os.getpid(), signal.SIGKILL
        )  # the host's agent kills the process at its first try
    return {"flight": flight, "codec": "v2" if flight != 9 else "v1"}


def decode_flight(meta):
    time.sleep(0.4)
    if meta["codec"] == "v1":
        os.abort()  # terminate called after throwing an instance of 'bad_codec'
    return meta["flight"], meta["flight"] * 13 % 40


def main():
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with tempfile.TemporaryDirectory() as marks:
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MiB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                metas = client.map(fetch_flight, range(6), marks=marks)
                print("first half", client.gather(client.map(decode_flight, metas)))
                metas = client.map(fetch_flight, range(6, 12), marks=marks)
                print("second half", client.gather(client.map(decode_flight, metas)))


if __name__ == "__main__":
    main()
