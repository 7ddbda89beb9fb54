import sys
import threading
import time

from dask.distributed import Client, LocalCluster

orders_lock = threading.Lock()
stock_lock = threading.Lock()
ORDERS = {f"PO-{n}": n % 7 + 1 for n in range(40)}
STOCK = {k: 50 for k in range(1, 8)}


def route(order, product):
    return order, product, f"dock-{(product * 3) % 5}"


def book_orders(client, done):
    with orders_lock:
        routes = client.gather(client.map(route, list(ORDERS), list(ORDERS.values())))
        time.sleep(1)
        with stock_lock:
            for _, product, _ in routes:
                STOCK[product] -= 1
    done.append(len(routes))


def count_stock(client, done):
    with stock_lock:
        total = client.submit(sum, list(STOCK.values())).result()
        time.sleep(1)
        with orders_lock:
            open_orders = len(ORDERS)
    done.append((total, open_orders))


def main():
    done = []
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        jobs = [
            threading.Thread(
                target=book_orders, args=(client, done), name="book-orders", daemon=True
            ),
            threading.Thread(
                target=count_stock, args=(client, done), name="count-stock", daemon=True
            ),
        ]
        for job in jobs:
            job.start()
        limit = time.monotonic() + 9
        for job in jobs:
            job.join(max(0, limit - time.monotonic()))
        late = [job.name for job in jobs if job.is_alive()]
    if late:
        print("routing not finished in time:", ", ".join(late), file=sys.stderr)
        sys.exit(75)
    print("done", done)


if __name__ == "__main__":
    main()
