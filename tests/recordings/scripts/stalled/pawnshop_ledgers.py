"""Evening settlement of a chain of pawnshops.

Pledges that customers redeem at another branch than the one that holds them are moved between the ledgers of the
two branches.  A ledger is a file, so whoever writes into it takes the lock of that branch first.
"""

import json
import logging
import pathlib
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass

from dask.distributed import Client, LocalCluster, Lock, TimeoutError, wait

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("settlement")
BRANCHES = ["arcade", "bridge", "corner", "dockside"]
WINDOW = 14


@dataclass
class Transfer:
    pledge: str
    source: str
    target: str
    amount: float


@contextmanager
def ledger(folder, branch):
    """The ledger of a branch, written back at the end; one writer at a time."""
    with Lock(f"ledger-{branch}"):
        path = pathlib.Path(folder) / f"{branch}.json"
        content = json.loads(path.read_text())
        yield content
        path.write_text(json.dumps(content))


def appraise(pledge):
    """Interest due on a pledge; short."""
    time.sleep(0.05)
    return sum(ord(letter) for letter in pledge) % 40 + 0.5


def move_pledge(folder, transfer, due):
    with ledger(folder, transfer.source) as source:
        source["pledges"].remove(transfer.pledge)
        source["cash"] += due
        time.sleep(1.0)  # the audit line of the source branch is printed here
        with ledger(folder, transfer.target) as target:
            target["redeemed"].append(transfer.pledge)
            target["cash"] += transfer.amount
    return transfer.pledge


def close_of_day(folder):
    for branch in BRANCHES:
        pledges = [f"{branch}-{n}" for n in range(6)]
        (folder / f"{branch}.json").write_text(
            json.dumps({"cash": 0.0, "pledges": pledges, "redeemed": []})
        )
    return [
        Transfer("corner-1", "corner", "dockside", 40.0),
        Transfer("arcade-3", "arcade", "bridge", 120.0),
        Transfer("bridge-5", "bridge", "arcade", 75.0),
    ]


def settle(client, folder):
    transfers = close_of_day(folder)
    dues = [
        client.submit(appraise, t.pledge, key=f"appraise-{t.pledge}") for t in transfers
    ]
    moves = [
        client.submit(
            move_pledge, str(folder), t, due, key=f"move-pledge-{t.pledge}", pure=False
        )
        for t, due in zip(transfers, dues)
    ]
    try:
        wait(moves, timeout=WINDOW)
    except TimeoutError:
        done = [future.key for future in moves if future.done()]
        log.error(
            "window of %s s is over, %s of %s transfers are booked",
            WINDOW,
            len(done),
            len(moves),
        )
        client.cancel(moves, force=True)
        raise
    return client.gather(moves)


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawn-"))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        booked = settle(client, folder)
    except TimeoutError:
        sys.exit(
            "settlement failed: TimeoutError, the branches open with yesterday's ledgers"
        )
    finally:
        client.close()
        cluster.close(timeout=3)
    print("booked", booked)


if __name__ == "__main__":
    main()
