"""Work out the refunds of the opera's cancelled performances."""

import logging

import dask.bag as db
from dask.distributed import Client, LocalCluster

log = logging.getLogger("refunds")
CATEGORIES = {1: 128.0, 2: 96.0, 3: 64.0, 4: 28.0}


class RefundError(Exception):
    def __init__(self, seat, category, reason=None):
        super().__init__(seat, category)
        self.seat = seat
        self.category = category
        self.reason = reason

    def __str__(self):
        return "seat %s in category %s: %s" % (
            self.seat,
            self.category,
            self.reason["text"],
        )


def tickets(count):
    sold = [
        {
            "seat": f"{chr(65 + n % 20)}{n // 20 + 1}",
            "category": 1 + n % 4,
            "discount": (0, 0, 25, 50)[n % 4],
        }
        for n in range(count)
    ]
    sold[333]["category"] = 7
    return sold


def refund(ticket):
    try:
        price = CATEGORIES[ticket["category"]]
    except KeyError:
        raise RefundError(ticket["seat"], ticket["category"])
    return ticket["category"], price * (1 - ticket["discount"] / 100)


def category(item):
    return item[0]


def add(total, item):
    return total + item[1]


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        sold = db.from_sequence(tickets(600), npartitions=6)
        log.info("%d tickets to refund", 600)
        refunds = sold.map(refund).foldby(category, add, 0.0, lambda a, b: a + b, 0.0)
        for number, amount in sorted(refunds.compute()):
            print(f"category {number}: {amount:.2f}")


if __name__ == "__main__":
    main()
