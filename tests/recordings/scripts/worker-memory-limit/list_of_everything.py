"""Expand orders into lines, all in memory."""

from dask.distributed import Client


def expand(n):
    lines = []
    while n == 1:
        lines.append(bytearray(8 << 20))
    return len(lines)


if __name__ == "__main__":
    with Client(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as client:
        print(client.gather(client.map(expand, range(4))))
