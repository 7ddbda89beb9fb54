"""Reads ring numbers of gulls; unreadable ones are expected and get their own list."""

import time

from dask.distributed import Client, LocalCluster, Semaphore, as_completed

READS = ["A123", "B7?4", "C555", "??", "D908", "E41", "F222", "G0O1"]


def decode_ring(text, cameras):
    with cameras:
        time.sleep(0.2)
    if not text[1:].isdigit() or len(text) != 4:
        raise ValueError(f"unreadable ring {text!r}")
    return text[0], int(text[1:])


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            cameras = Semaphore(max_leases=1, name="cameras")
            names = {client.submit(decode_ring, r, cameras): r for r in READS}
            good, unreadable = [], []
            for future in as_completed(names):
                try:
                    good.append(future.result())
                except ValueError:
                    unreadable.append(names[future])
            print(len(good), "rings;", "by hand:", sorted(unreadable))


if __name__ == "__main__":
    main()
