"""A job that fails as long as what it reads is not there yet: a retry cures it.

python upstream.py DELIVERY
"""

from __future__ import annotations

import sys
from pathlib import Path

from dask.distributed import Client


class DeliveryError(LookupError):
    """Of whose name it is unknown whether it passes."""


def load(delivery: str) -> str:
    if not Path(delivery).exists():
        raise DeliveryError("the delivery of today")
    return Path(delivery).read_text()


def main() -> None:
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        print(client.submit(load, sys.argv[1], pure=False).result())


if __name__ == "__main__":
    main()
