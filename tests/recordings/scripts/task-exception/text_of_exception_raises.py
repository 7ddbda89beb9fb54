"""Reject measurements with an exception whose text cannot be made."""

from dask.distributed import Client


class RejectedMeasurement(Exception):
    def __init__(self, station, value):
        self.station = station
        self.value = value

    def __str__(self):
        return "%s at %d" % (self.value, self.station)  # the station is a text

    __repr__ = __str__


def validate(pair):
    station, value = pair
    if value > 60:
        raise RejectedMeasurement(station, value)
    return value


if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        pairs = [(f"S{n}", 10 + n) for n in range(60)]
        print(sum(client.gather(client.map(validate, pairs))))
