"""Fire watch: callbacks of finished tiles fill a table that the driver then prints."""

import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster


def hot_pixels(tile):
    time.sleep(0.3)
    return tile, sum((tile * 37 + i) % 91 == 0 for i in range(4000))


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows = {}

    def add(self, future):
        tile, n = future.result()
        with self.lock:
            self.rows[tile] = n

    def total(self):
        with self.lock:
            return sum(self.rows.values())

    def summary(self):
        with self.lock:
            return f"{len(self.rows)} tiles, {self.total()} hot pixels"


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            timer = threading.Timer(15, os.kill, (os.getpid(), signal.SIGINT))
            timer.daemon = True
            timer.start()
            table = Table()
            tiles = client.map(hot_pixels, range(16))
            for t in tiles:
                t.add_done_callback(table.add)
            client.gather(tiles)
            time.sleep(0.5)
            print(table.summary())
            timer.cancel()


if __name__ == "__main__":
    main()
