"""Split customer orders into lines and price the lines from inside the task."""

import asyncio

from dask.distributed import Client, LocalCluster, get_client


def price_line(sku, qty):
    return round(qty * (3 + sku % 7 * 1.1), 2)


def price_order(order):
    client = get_client()
    lines = [client.submit(price_line, sku, qty) for sku, qty in order["lines"]]
    return order["id"], round(sum(f.result() for f in lines), 2)


async def main():
    async with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, asynchronous=True
    ) as cluster:
        async with Client(cluster, asynchronous=True) as client:
            orders = [
                {"id": i, "lines": [(i * k + 3, k) for k in range(1, 5)]}
                for i in range(6)
            ]
            futures = [
                client.submit(price_order, o, key=f"order-{o['id']}") for o in orders
            ]
            priced = await asyncio.wait_for(client.gather(futures), timeout=10)
            print(dict(priced))


if __name__ == "__main__":
    asyncio.run(main())
