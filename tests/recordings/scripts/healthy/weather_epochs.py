import time

from dask.distributed import Client, LocalCluster


def step(k):
    time.sleep(0.1)
    return k * 0.5


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        for epoch in range(2):
            total = sum(client.gather(client.map(step, range(10), pure=False)))
            print("epoch", epoch, "energy", total)
            if epoch == 0:
                client.restart()
        print("final", client.submit(step, 99).result())


if __name__ == "__main__":
    main()
