"""Oil wells: an actor keeps the field's state while tasks calibrate the pumps."""

import os
import time

from dask.distributed import Client, LocalCluster


class Field:
    def __init__(self, wells):
        self.pressure = {w: 210.0 for w in range(wells)}

    def produce(self, well, barrels):
        self.pressure[well] -= barrels * 0.01
        return self.pressure[well]

    def average(self):
        return sum(self.pressure.values()) / len(self.pressure)


def calibrate(pump):
    """The vendor's tool ends at once when the pump's table is empty."""
    table = list(range(pump, 9))
    time.sleep(0.3)
    if not table:
        os._exit(5)
    return pump, table[0] / 9


def main():
    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            field = client.submit(Field, 6, actor=True).result()
            pumps = [client.submit(calibrate, p, key=f"pump-{p}") for p in range(11)]
            for month in range(24):
                for well in range(6):
                    field.produce(well, 40 + month).result()
                time.sleep(0.2)
                print("month", month, round(field.average().result(), 2))
            print(client.gather(pumps))


if __name__ == "__main__":
    main()
