"""Shops wait for the central price list before they relabel."""

import time

from dask.distributed import Client, Event, LocalCluster, fire_and_forget

HEAD_OFFICE = {"list": "2026-W14", "prices": {"A1": "12.50", "B2": "n/a", "C3": "7.90"}}


def publish_list(source):
    prices = {sku: float(p) for sku, p in source["prices"].items()}
    Event("price-list").set()
    return prices


def relabel(shop):
    ready = Event("price-list").wait(timeout=7)
    if not ready:
        raise TimeoutError(f"shop {shop}: no price list")
    return shop


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        fire_and_forget(client.submit(publish_list, HEAD_OFFICE, key="publish-list"))
        time.sleep(0.5)
        shops = client.map(relabel, range(3))
        print("relabelled", client.gather(shops))


if __name__ == "__main__":
    main()
