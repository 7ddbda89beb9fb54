"""Find addresses with a regular expression of quadratic taste."""

import re

import dask
from dask.distributed import Client

dask.config.set(
    {
        "distributed.scheduler.worker-ttl": "6s",
        "distributed.scheduler.allowed-failures": 0,
    }
)
PATTERN = r"^(\w+\s?)+$"


def is_address(text):
    return bool(re.match(PATTERN, text))


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    texts = [
        "Unter den Linden 1",
        "Rue de Rivoli",
        "aaaaaaaaaa" * 5 + "!",
        "Plaza Mayor",
    ]
    print(client.gather(client.map(is_address, texts)))
