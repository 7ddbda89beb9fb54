import sys
import time

from distributed import Client, LocalCluster, wait


def load_dimension(name):
    time.sleep(0.2)
    return {name: list(range(1000))}


def aggregate(store, dim):
    return store, sum(next(iter(dim.values())))


class Warmup:
    def __init__(self, client):
        self.client = client
        self.home = sorted(client.scheduler_info()["workers"])[0]

    def dimensions(self):
        return [
            self.client.submit(
                load_dimension, d, workers=[self.home], allow_other_workers=False
            )
            for d in ("item", "store", "promo")
        ]


def main():
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster)
    warm = Warmup(client)
    try:
        wait(warm.dimensions(), timeout=15)
        print("dimensions checked, clean start for the real run")
        client.restart(timeout=20)
        dims = warm.dimensions()
        facts = [client.submit(aggregate, s, d) for s in range(5) for d in dims]
        wait(facts, timeout=15)
        print(client.gather(facts)[:3])
    except TimeoutError:
        print("warm-up did not finish in its slot", file=sys.stderr)
        sys.exit(1)
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
