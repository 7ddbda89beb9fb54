"""Price the ribbon catalogue; a reporter thread counts what is finished."""

import math
import tempfile
import threading
import time

from distributed import Client, LocalCluster, as_completed


class Reporter(threading.Thread):
    def __init__(self, futures):
        super().__init__(daemon=True)
        self.futures = futures
        self.done = 0
        self.error = None

    def run(self):
        try:
            for future in self.futures:
                future.result()
                self.done += 1
        except BaseException as exc:
            self.error = exc


def price_ribbon(length):
    time.sleep(0.3)
    return math.exp(length / 10)


def tally(length):
    time.sleep(1.5)
    return length


def main():
    with tempfile.TemporaryDirectory() as tmp:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        )
        client = Client(cluster)
        prices = client.map(price_ribbon, [10, 25, 40, 70, 12000, 90], priority=10)
        reporter = Reporter(client.map(tally, range(40)))
        reporter.start()
        total = 0
        try:
            for future in as_completed(prices):
                total += future.result()
        except Exception:
            total = None
        finally:
            client.close()
            cluster.close()
        reporter.join(timeout=30)
        if reporter.error is not None:
            raise reporter.error
        print("catalogue total", total)


if __name__ == "__main__":
    main()
