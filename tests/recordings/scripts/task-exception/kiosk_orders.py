"""Check and total the kiosk orders; one bad price list stops the whole run early."""

import time

from dask.distributed import Client, LocalCluster

PRICES = {
    "espresso": "1.80",
    "latte": "3.20",
    "water": "1.50",
    "bagel": "n.a.",
    "muffin": "2.40",
}


def check_price(item, text):
    time.sleep(0.5)
    value = float(text)
    if value <= 0:
        raise ValueError(item)
    return item, value


def total(kiosk, n):
    for _ in range(40):
        time.sleep(0.1)
    return kiosk, n * 12.5


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=3, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            totals = client.map(total, [f"kiosk-{i}" for i in range(4)], range(4))

            def stop_early(future):
                if future.status == "error":
                    client.cancel(totals, force=True)

            checks = [client.submit(check_price, i, t) for i, t in PRICES.items()]
            for c in checks:
                c.add_done_callback(stop_early)
            for kiosk, amount in client.gather(totals):
                print(kiosk, amount)


if __name__ == "__main__":
    main()
