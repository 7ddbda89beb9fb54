"""Phase picks of the seismic network; traces are decoded through the old C routine."""

import ctypes

import numpy as np
from dask.distributed import Client, LocalCluster

STATIONS = {"BFO": 4096, "STU": 4096, "TNS": 0, "GRA1": 4096, "WET": 4096}


def decode_trace(station, samples):
    buf = np.arange(max(samples, 1), dtype="i4")
    address = buf.ctypes.data if samples else 8
    raw = ctypes.string_at(address, 64)
    return station, np.frombuffer(raw, "i4").sum()


def pick(trace):
    return trace[0], int(trace[1]) % 17


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            traces = [client.submit(decode_trace, s, n) for s, n in STATIONS.items()]
            for p in client.gather(client.map(pick, traces)):
                print(p)


if __name__ == "__main__":
    main()
