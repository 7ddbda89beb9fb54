import os
import signal
import time

from dask.distributed import Client, LocalCluster, get_worker

ROOMS = ["sport", "news", "music", "games"]


class Counter:
    def __init__(self):
        self.seen = {}

    def add(self, room, n):
        self.seen[room] = self.seen.get(room, 0) + n
        return self.seen[room]

    def totals(self):
        return dict(self.seen)


def read_minute(minute):
    time.sleep(0.1)
    return ROOMS[minute % 4], (minute * 7919) % 83


def pid_of(address, client):
    return client.run(os.getpid, workers=[address])[address]


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        host = client.submit(lambda: get_worker().address, pure=False).result()
        counter = client.submit(
            Counter, actor=True, workers=[host], key="room-counter"
        ).result()
        for minute in range(60):
            if minute == 25:
                os.kill(pid_of(host, client), signal.SIGKILL)
            room, n = client.submit(read_minute, minute).result(timeout=15)
            counter.add(room, n).result(timeout=5)
        print(counter.totals().result())
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
