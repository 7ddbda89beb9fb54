"""An actor counts."""

from dask.distributed import Client


class Counter:
    def __init__(self):
        self.number = 0

    def add(self, n):
        self.number += n
        return self.number


if __name__ == "__main__":
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        counter = client.submit(Counter, actor=True).result()
        added = [counter.add(n) for n in range(50)]
        print(max(each.result() for each in added))
