"""Seats and props of the puppet theatre are two actors; a booking asks both."""

import logging

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("puppets")


class Props:
    def __init__(self):
        self.boxes = {"lamp": 2, "drum": 1}
        self.seats = None

    def meet(self, seats):
        self.seats = seats

    def reserve(self, prop, row):
        if self.seats.free(row).result() < 1:
            return False
        self.boxes[prop] -= 1
        return self.boxes[prop] >= 0


class Seats:
    def __init__(self):
        self.rows = {row: 8 for row in "ABCDEF"}
        self.props = None

    def meet(self, props):
        self.props = props

    def free(self, row):
        return self.rows[row]

    def book(self, row, count, prop=None):
        self.rows[row] -= count
        if prop and not self.props.reserve(prop, row).result():
            self.rows[row] += count
            return "no such prop"
        return "booked"


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    try:
        seats = client.submit(Seats, actor=True).result()
        props = client.submit(Props, actor=True).result()
        seats.meet(props).result()
        props.meet(seats).result()
        log.info("school class: %s", seats.book("A", 5).result(timeout=20))
        log.info("family: %s", seats.book("B", 4, "lamp").result(timeout=20))
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
