import logging

import dask.array as da
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("mix")
SOURCES = ["wind", "solar", "hydro", "gas"]


def load(seed):
    return da.random.default_rng(seed).random((2000, 24), chunks=(500, 24))


def refresh(client, round_no):
    log.warning("refreshing workers before round %d", round_no)
    client.restart(timeout=20)


def shares(profiles):
    total = sum(profiles.values())
    return {name: (profile / total).mean(axis=0) for name, profile in profiles.items()}


def main():
    logging.basicConfig(
        level=logging.WARNING, format="%(asctime)s %(name)s %(message)s"
    )
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        profiles = {name: load(k).persist() for k, name in enumerate(SOURCES)}
        wait(list(profiles.values()))
        for round_no in (1, 2):
            mix = shares(profiles)
            peak = {name: float(curve.max().compute()) for name, curve in mix.items()}
            print("round", round_no, peak)
            if round_no == 1:
                refresh(client, 2)


if __name__ == "__main__":
    main()
