"""Counts ballots: an actor keeps the sum of what tasks count."""

import time

from dask.distributed import Client, LocalCluster


class Tally:
    def __init__(self):
        self.votes = 0

    def add(self, votes):
        self.votes += votes
        return self.votes


def counted(station):
    time.sleep(0.2)
    return station * 31 % 17


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        tally = client.submit(Tally, actor=True).result()
        for station in range(10):
            votes = client.submit(counted, station)
            total = tally.add(votes)
        print(total.result())
