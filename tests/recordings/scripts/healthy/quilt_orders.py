"""Price the quilt orders; the fabric stock service is moody and gets retried."""

import logging
import pathlib
import tempfile
import time
import warnings

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("quilts")


class StockBusy(ConnectionError):
    pass


def stock_price(fabric, visits):
    """The service refuses the first calls for a fabric after midnight."""
    counter = pathlib.Path(visits) / fabric
    seen = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(seen + 1))
    if seen < len(fabric) % 3:
        raise StockBusy(f"stock service: 503 for {fabric}, try again")
    return fabric, 4.0 + len(fabric) * 0.75


def price(order, prices):
    warnings.warn(
        f"order {order['id']}: no customs number, assuming domestic",
        UserWarning,
        stacklevel=2,
    )
    metres = order["squares"] * 0.04
    return order["id"], round(metres * prices[order["fabric"]], 2)


def orders(count):
    fabrics = ["linen", "calico", "flannel", "silk"]
    return [
        {"id": f"Q{n:03d}", "fabric": fabrics[n % 4], "squares": 60 + n % 50}
        for n in range(count)
    ]


def main():
    logging.basicConfig(level=logging.INFO)
    todo = orders(40)
    with tempfile.TemporaryDirectory() as visits:
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            fabrics = sorted({o["fabric"] for o in todo})
            futures = [
                client.submit(stock_price, f, visits, retries=3, key=f"stock-{f}")
                for f in fabrics
            ]
            prices = dict(client.gather(futures))
            log.info("prices: %s", prices)
            time.sleep(1.0)
            bills = dask.compute(*[dask.delayed(price)(o, prices) for o in todo])
            print(f"{len(bills)} orders, {sum(v for _, v in bills):.2f}")


if __name__ == "__main__":
    main()
