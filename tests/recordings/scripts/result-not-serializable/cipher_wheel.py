"""Tries the settings of a cipher wheel; tasks hand back their candidates."""

import string
import time

from dask.distributed import Client, LocalCluster

TEXT = "WKH ODPS LV OLW DW VHYHQ"


def turn(setting):
    a = string.ascii_uppercase
    return TEXT.translate(
        str.maketrans(a, a[-setting:] + a[:-setting] if setting else a)
    )


def candidates(settings):
    time.sleep(0.3)
    return (plain for plain in map(turn, settings) if " THE " in f" {plain} ")


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            futures = client.map(candidates, [range(i, i + 6) for i in (0, 6, 12, 18)])
            for found in client.gather(futures):
                print(list(found))


if __name__ == "__main__":
    main()
