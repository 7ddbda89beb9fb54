"""A process that finishes earlier recordings: `python -m dask_blackbox.recorder.adopting`.

The recorder of a run starts it, because what it finishes may take all the memory or time
that there is: nothing of that may delay the run.  It has a low priority, and its limits hold
for each recording.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dask_blackbox.layout import RunAddress
from dask_blackbox.protocol.detached_process import unrecorded_environment
from dask_blackbox.protocol.messages import Config

_STOPPING = 0.5  # seconds that it has to note that it was stopped


class Adoption(msgspec.Struct, kw_only=True, frozen=True):
    """What is to be finished.

    Attributes:
        config: Of the recording that the recorder makes.
        silent: Recordings of the store; None: those of this machine's spool.
    """

    config: Config
    silent: tuple[RunAddress, ...] | None = None


async def adopt(config: Config, silent: Sequence[RunAddress] | None = None) -> None:
    """Finish earlier recordings in a process of their own; cancel to stop it.

    Args:
        config: Of the recording that this process makes.
        silent: Recordings of the store; None: those of this machine's spool.
    """
    adoption = Adoption(
        config=msgspec.structs.replace(config, parent_handle=None),
        silent=None if silent is None else tuple(silent),
    )
    with contextlib.ExitStack() as files:
        log = files.enter_context((Path(config.spool) / "recorder.log").open("ab"))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "dask_blackbox.recorder.adopting"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=log,
            env=unrecorded_environment(),
            start_new_session=True,
        )
    try:
        await process.communicate(msgspec.json.encode(adoption))
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                process.terminate()
                async with asyncio.timeout(_STOPPING):
                    await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()


_decode = msgspec.json.Decoder(Adoption).decode


def main() -> None:
    """Finish what standard input names."""
    import logging

    from dask_blackbox.recorder.late_imports import import_little_of_distributed
    from dask_blackbox.recorder.process_limits import (
        lower_priority,
        offer_to_oom_killer,
    )

    lower_priority()
    offer_to_oom_killer()
    import_little_of_distributed()
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(name)s %(levelname)s %(message)s",
    )
    adoption = _decode(sys.stdin.buffer.read())
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    config, settings = adoption.config, adoption.config.store_settings
    if adoption.silent is None:
        from dask_blackbox.recorder.earlier_recordings import waiting_beside
        from dask_blackbox.recorder.sync import upload_waiting_recordings

        waiting = waiting_beside(Path(config.spool), settings)
        upload_waiting_recordings(waiting, settings, config.limits)
    else:
        from dask_blackbox.recorder.unfinished_runs import finish_lost_runs
        from dask_blackbox.store import open_store

        store = open_store(settings=settings)
        finish_lost_runs(config, store, adoption.silent)


if __name__ == "__main__":
    main()
