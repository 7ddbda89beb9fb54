"""Finds which annual reports have an index of risks."""

import re

from dask.distributed import Client, LocalCluster

HEADING = re.compile(r"^((?:\w+[ ,]?)+)+: page \d+$", re.IGNORECASE)


def report(company):
    words = " ".join(f"item{number}" for number in range(4))
    if company == 5:
        # A heading that goes on, and has no page.
        words = " ".join(f"risk factors of the business in region {n}" for n in range(9))
        return f"{words} - see annex"
    return f"{words}: page {company}"


def has_index(company):
    return bool(HEADING.match(report(company)))


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(has_index, range(12)))))
