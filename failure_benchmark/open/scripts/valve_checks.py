"""Checks the pressure of valves."""

from dask.distributed import Client, LocalCluster


class PressureError(Exception):
    def __init__(self, valve, bar):
        super().__init__(f"valve {valve} has {bar} bar")
        self.valve, self.bar = valve, bar


def check(valve):
    bar = 4 + valve % 5
    if bar > 7:
        raise PressureError(valve, bar)
    return bar


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(max(client.gather(client.map(check, range(20)))))
