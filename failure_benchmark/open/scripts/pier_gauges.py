"""Reads the gauges of a pier; their files are on the machine of the worker `archive`."""

import time

from dask.distributed import Client, Nanny, Scheduler, SpecCluster, wait


def level(gauge):
    time.sleep(0.2)
    return gauge * 3 % 11


if __name__ == "__main__":
    place = {"cls": Nanny, "options": {"nthreads": 1}}
    with (
        SpecCluster(
            scheduler={"cls": Scheduler, "options": {"dashboard_address": ":0"}},
            workers={"archive": place, "spare": place},
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=40)
        levels = client.map(level, range(60), workers="archive")
        wait(levels[:10])
        # The library that reads gauges leaks: a fresh process now and then.
        client.restart_workers(["archive"])
        print(sum(client.gather(levels)))
