"""Sum quantities of a year of order files."""

import tempfile
from pathlib import Path

import dask.dataframe as dd
from dask.distributed import Client

FOLDER = Path(tempfile.mkdtemp(prefix="orders-"))


def export():
    for month in range(1, 13):
        lines = ["order_id,qty,price"]
        for n in range(500):
            qty = "sold out" if month == 9 and n % 50 == 3 else n % 7
            lines.append(f"{month * 1000 + n},{qty},{n / 10}")
        (FOLDER / f"orders-{month:02}.csv").write_text("\n".join(lines))


def main():
    export()
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    orders = dd.read_csv(FOLDER / "orders-*.csv")
    orders["total"] = orders["qty"] * orders["price"]
    print("total", orders["total"].sum().compute())
    client.close()


if __name__ == "__main__":
    main()
