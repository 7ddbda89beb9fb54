"""Two threads of the driver use the same client; the script checks both at its end."""

import sys
import threading

from dask.distributed import Client

RESULTS = {}


def convert(amount):
    return amount * {"EUR": 1, "USD": 2}[amount_currency(amount)]


def amount_currency(amount):
    return "EUR" if amount < 5 else "JPY"


def collect(client, name, amounts):
    RESULTS[name] = client.gather(client.map(convert, amounts))


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        threads = [
            threading.Thread(target=collect, args=(client, "low", range(4))),
            threading.Thread(target=collect, args=(client, "high", range(4, 8))),
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        if len(RESULTS) < 2:
            sys.exit(1)


if __name__ == "__main__":
    main()
