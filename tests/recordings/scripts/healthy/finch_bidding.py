"""Finch bidding: the first good bid wins and the others are called off."""

import tempfile
import time
from concurrent.futures import CancelledError

from distributed import Client, LocalCluster, as_completed


def bid(broker):
    time.sleep(0.2 + broker * 0.3)
    return broker, 100 - broker


def main():
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        bids = client.map(bid, range(20))
        winner = None
        for future in as_completed(bids):
            winner = future.result()
            if winner[1] <= 98:
                break
        client.cancel([f for f in bids if not f.done()], force=True)
        called_off = 0
        for future in bids:
            try:
                future.result(timeout=30)
            except CancelledError:
                called_off += 1
        print("winner", winner, "called off", called_off)


if __name__ == "__main__":
    main()
