"""A command that does half of its work, waits, and does the other half.

python command_in_steps.py [EXIT CODE]

In the folder `steps` beside it appears `half`, with its process id; it waits for `continue`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from distributed import Client
from scenario_reports import until

STEPS = Path("steps")


def work(i: int) -> int:
    return i


def main(code: int = 0) -> None:
    STEPS.mkdir()
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        client.gather(client.map(work, range(20)))
        half = STEPS / "half.part"
        half.write_text(str(os.getpid()))
        half.rename(STEPS / "half")
        until((STEPS / "continue").exists, "the test")
        client.gather(client.map(work, range(100, 120)))
    sys.exit(code)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
