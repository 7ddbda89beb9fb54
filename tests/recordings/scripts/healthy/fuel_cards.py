"""Fuel cards: poll slow invoices with short time limits until they are there."""

import time

from dask.distributed import Client, TimeoutError, wait


def invoice(card):
    time.sleep(3.5 if card == 3 else 0.1)
    return card, 40 + card * 3


def poll(future, patience):
    for attempt in range(40):
        try:
            return future.result(timeout=patience)
        except TimeoutError:
            print(f"{future.key}: no answer, attempt {attempt + 1}", flush=True)
    raise SystemExit(f"{future.key}: gave up")


def main():
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    try:
        cards = [client.submit(invoice, c, key=f"card-{c}") for c in range(8)]
        try:
            wait(cards, timeout=1)
        except TimeoutError:
            print("not all invoices within a second, as usual")
        print("due:", sum(poll(f, 0.7)[1] for f in cards))
    finally:
        client.shutdown()


if __name__ == "__main__":
    main()
