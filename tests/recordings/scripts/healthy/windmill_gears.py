"""Gear wear of the windmills in two passes; the workers are restarted in between to get rid of the native library's memory."""

import logging
import time

from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("gears")


class WearLog:
    def __init__(self, values=None):
        self.values = dict(values or {})

    def note(self, mill, value):
        self.values[mill] = max(value, self.values.get(mill, 0.0))

    def dump(self):
        return dict(self.values)


def coarse(mill):
    time.sleep(0.1)
    return mill, (mill * 31 % 47) / 10


def fine(mill, hint):
    time.sleep(0.15)
    return mill, round(hint * 1.07, 3)


def first_pass(client, mills):
    book = client.submit(WearLog, actor=True).result()
    futures = client.map(coarse, range(mills), pure=False)
    wait(futures)
    for mill, value in client.gather(futures):
        book.note(mill, value).result()
    return book.dump().result()


def second_pass(client, wear):
    book = client.submit(WearLog, wear, actor=True).result()
    worst = sorted(wear, key=wear.get)[-8:]
    for mill, value in client.gather([client.submit(fine, m, wear[m]) for m in worst]):
        book.note(mill, value).result()
    return book.dump().result()


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        wear = first_pass(client, 30)
        log.info("first pass: %d mills", len(wear))
        client.restart(timeout=30)
        log.info("workers are fresh: %d", len(client.scheduler_info()["workers"]))
        wear = second_pass(client, wear)
    time.sleep(1)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        mean = client.submit(lambda v: sum(v) / len(v), list(wear.values())).result()
    print(f"mean wear {mean:.3f} mm, worst {max(wear.values()):.3f} mm")


if __name__ == "__main__":
    main()
