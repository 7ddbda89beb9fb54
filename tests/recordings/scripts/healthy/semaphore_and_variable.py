"""A semaphore for two, and a variable that is set in time."""

from dask.distributed import Client, Semaphore, Variable


def read(semaphore, n):
    with semaphore:
        return Variable("factor").get(timeout=10) * n


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        Variable("factor").set(3)
        semaphore = Semaphore(max_leases=2, name="two")
        print(sum(client.gather(client.map(lambda n: read(semaphore, n), range(20)))))
