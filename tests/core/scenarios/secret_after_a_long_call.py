"""A driver that masks a value right before a call of C, which keeps it from being sent.

python secret_after_a_long_call.py STORE, with the secret in the environment
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from pathlib import Path

from dask_blackbox import mask_secret, recording
from distributed import Client
from scenario_reports import commands_cluster, report_card, scaled

_LONGER_THAN_THE_RECORDER_WAITS = 16_000_000  # microseconds


def use(value: str, begun: Path) -> None:
    """Print a value while its driver is in that call."""
    begun.touch()
    time.sleep(1)
    print(f"it is {value} here")


def main(store: str) -> None:
    """Record it."""
    secret = os.environ.pop("PLANTED")
    with commands_cluster() as address, Client(address) as client:
        rec = recording(client, store=store, job="late")
        with rec:
            begun = Path(store, "begun")
            future = client.submit(use, secret, begun)
            while not begun.exists():
                time.sleep(0.01)
            mask_secret(secret)
            # A `PyDLL` keeps the lock of the interpreter.
            ctypes.PyDLL(None).usleep(_LONGER_THAN_THE_RECORDER_WAITS)
            future.result(timeout=scaled(60))
    report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1])
