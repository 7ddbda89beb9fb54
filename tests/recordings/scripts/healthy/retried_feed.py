"""Price feed with a flaky source; three attempts per symbol are normal."""

import os
import tempfile

from dask.distributed import Client, LocalCluster


def quote(root, symbol):
    marker = os.path.join(root, symbol)
    if not os.path.exists(marker):
        open(marker, "w").close()
        raise ConnectionResetError(f"feed dropped {symbol}")
    return symbol, 100.0 + len(symbol)


def value(position, amount):
    return position[1] * amount


def main():
    symbols = ["ALV", "BAYN", "SAP", "VOW3", "DTE"]
    with tempfile.TemporaryDirectory() as root:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            quotes = client.map(quote, [root] * 5, symbols, retries=3)
            values = client.gather(client.map(value, quotes, [10] * 5))
            assert len(values) == 5
            print("portfolio", sum(values))


if __name__ == "__main__":
    main()
