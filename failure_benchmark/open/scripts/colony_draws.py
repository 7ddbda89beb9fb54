"""Draws the sizes of ant colonies, ten draws for each species."""

import random

from dask.distributed import Client, LocalCluster


def draw(species):
    return random.gauss(mu=100 * species, sigma=15)


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        for species in range(1, 4):
            draws = client.gather([client.submit(draw, species) for _ in range(10)])
            spread = max(draws) - min(draws)
            assert spread > 0, f"all draws of species {species} are equal"
            print(species, spread)
