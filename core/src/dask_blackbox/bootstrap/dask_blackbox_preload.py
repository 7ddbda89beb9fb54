"""A Dask client preload: records the client's cluster, if there is a recorder to tell."""

import os
import sys
from typing import Any

guest: Any = None
try:
    from dask_blackbox.bootstrap import guest
except ImportError:
    sys.stderr.write(
        "dask-blackbox: not installed for %s, its Dask clients are not recorded\n"
        % sys.executable
    )


async def dask_setup(client: Any) -> None:
    if guest is not None and os.environ.get("DASK_BLACKBOX_CONTROL"):
        await guest.joined(client)


async def dask_teardown(client: Any) -> None:
    if guest is not None and os.environ.get("DASK_BLACKBOX_CONTROL"):
        await guest.left(client)
