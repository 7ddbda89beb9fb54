from dask.distributed import Client, LocalCluster


class Person:
    def __init__(self, name, mother=None):
        self.name = name
        self.mother = mother

    def generations(self):
        n, p = 1, self
        while p.mother is not None:
            n, p = n + 1, p.mother
        return n


def lineage(generations):
    p = Person("first")
    for k in range(generations):
        p = Person(f"gen{k}", mother=p)
    return p


def depth(person):
    return person.generations()


def main():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        people = [lineage(n) for n in (12, 40, 25_000)]
        print("depths", client.gather([client.submit(depth, p) for p in people]))


if __name__ == "__main__":
    main()
