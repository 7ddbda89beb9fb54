"""Compares two brewing recipes on two clusters of different shape at the same time."""

import time

from dask.distributed import Client, LocalCluster


def ferment(recipe, day):
    time.sleep(0.1)
    return 1.050 - day * {"ale": 0.0040, "lager": 0.0025}[recipe]


def main():
    opts = dict(memory_limit="400MiB", dashboard_address=":0")
    with LocalCluster(n_workers=1, threads_per_worker=2, name="ale", **opts) as hot:
        with LocalCluster(
            n_workers=1, threads_per_worker=1, name="lager", processes=False, **opts
        ) as cold:
            with (
                Client(hot, set_as_default=False) as ale,
                Client(cold, set_as_default=False) as lager,
            ):
                a = ale.map(ferment, ["ale"] * 8, range(8))
                b = lager.map(ferment, ["lager"] * 8, range(8))
                print("ale", ale.gather(a)[-1])
                del a
            print("ale kettle empty")
        with Client(hot) as again:
            print("after the wash", again.submit(ferment, "ale", 2).result())


if __name__ == "__main__":
    main()
