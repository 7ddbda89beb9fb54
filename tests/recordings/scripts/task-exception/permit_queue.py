import time

from dask.distributed import Client, LocalCluster


class RegistryError(Exception):
    def __init__(self, office, code):
        super().__init__(f"{office} answered {code}")
        self.office = office
        self.code = code


def lookup(permit):
    time.sleep(0.05)
    if permit == 19:
        raise RegistryError("Bergen", 409)
    return permit, "valid"


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        permits = client.map(lookup, range(30))
        print(len(client.gather(permits)), "permits checked")


if __name__ == "__main__":
    main()
