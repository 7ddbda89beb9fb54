"""Realised prices of the coin auctions; the node drains one worker at midnight."""

import decimal
import os
import signal
import threading
import time

from dask.distributed import Client, LocalCluster

LOTS = [(i, f"{100 + i * 7}.50") for i in range(40)]
LOTS[33] = (33, "passed")


def hammer_price(lot, text):
    time.sleep(0.3)
    return lot, decimal.Decimal(text) * decimal.Decimal("1.2")


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            pids = client.run(os.getpid)
            victim = sorted(pids.values())[0]
            drain = threading.Timer(1.5, os.kill, (victim, signal.SIGKILL))
            drain.start()
            futures = client.map(hammer_price, *zip(*LOTS))
            total = sum(p for _, p in client.gather(futures))
            print("turnover", total)


if __name__ == "__main__":
    main()
