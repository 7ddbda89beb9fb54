import sqlite3

from dask.distributed import Client


class Catalog:
    def __init__(self):
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table book (isbn text, price real)")
        self.db.executemany(
            "insert into book values (?, ?)", [(f"978{k}", k * 1.5) for k in range(50)]
        )

    def price(self, isbn):
        return self.db.execute(
            "select price from book where isbn = ?", (isbn,)
        ).fetchone()[0]


def main():
    catalog = Catalog()
    print("first price", catalog.price("9780"))
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        orders = [f"978{k}" for k in range(50)]
        futures = client.map(catalog.price, orders, pure=False)
        print("basket", sum(client.gather(futures)))


if __name__ == "__main__":
    main()
