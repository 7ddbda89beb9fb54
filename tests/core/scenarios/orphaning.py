"""A driver that owns the cluster at an address, in the middle of its work.

python orphaning.py STORE ADDRESS [end]    with `end`: its recording has ended
"""

from __future__ import annotations

import os
import sys
import time

from dask_blackbox import recording
from distributed import Client
from scenario_reports import report


def work(i: int) -> int:
    return i


def main(store: str, address: str, then: str = "") -> None:
    with (
        recording(None, store=store, job="orphaning", run_id="killed") as rec,
        Client(address) as client,
    ):
        rec.attach(client, owned=True)
        client.gather(client.map(work, range(20)))
        if then == "end":
            rec.finish(state="aborted")
        report(driver=os.getpid(), links=rec.links)
        while True:
            time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
