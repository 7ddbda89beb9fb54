"""Cancel slow downloads, and forget that a report needs them."""

import time

from dask.distributed import Client, wait


def fetch(n):
    time.sleep(8 if n == 3 else 0.05)
    return n


def report(values):
    return sum(values)


def main():
    with Client(n_workers=2, threads_per_worker=2, dashboard_address=":0") as client:
        pages = client.map(fetch, range(6))
        total = client.submit(report, pages)
        done, late = None, None
        try:
            wait(pages, timeout=3)
        except TimeoutError:
            late = [each for each in pages if not each.done()]
            client.cancel(late, force=True)
        print(total.result())


if __name__ == "__main__":
    main()
