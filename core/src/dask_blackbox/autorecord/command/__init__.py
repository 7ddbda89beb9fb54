"""What `dask blackbox run` puts into the command's processes, without touching its code.

`sitecustomize.py` (found through `PYTHONPATH`) reports the exception that ends a Python
process; `dask_blackbox_preload.py` (named in `distributed.client.preload`) records each
Dask client.  Both are files of their own, because they run in environments of the
user's that may know nothing of this package: then they do nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CONTROL", "PROCESSES", "RECORDING", "environment_for"]

CONTROL = "DASK_BLACKBOX_CONTROL"
RECORDING = "DASK_BLACKBOX_RECORDING"
PROCESSES = "DASK_BLACKBOX_PROCESSES"
"""Ids of the command's Python processes, from the first to the one that asks."""
_PRELOAD = "DASK_DISTRIBUTED__CLIENT__PRELOAD"


def environment_for(control: str, recording: str) -> dict[str, str]:
    """Return this environment, so changed that a command's clients record themselves.

    Args:
        control: Path of the recorder's socket.
    """
    import dask.config
    import distributed  # noqa: F401 - it brings the defaults of its settings

    here = Path(__file__).parent
    preload = dask.config.get("distributed.client.preload", default=None) or []
    preload = [preload] if isinstance(preload, str) else list(preload)
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        CONTROL: control,
        RECORDING: recording,
        _PRELOAD: repr([*preload, str(here / "dask_blackbox_preload.py")]),
        "PYTHONPATH": os.pathsep.join([str(here), *([path] if path else [])]),
    }
