"""Takes the first pictures; the first task of a worker imports a large library."""

import time

from dask.distributed import Client, LocalCluster


def picture(number):
    import telescope

    time.sleep(telescope.EXPOSURE)
    return number


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(picture, range(150)))))
