"""Starting the recorder: `python -m dask_blackbox.recorder`, with its settings on stdin."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from dask_blackbox.capture.nanny.worker_watcher import handle_of
from dask_blackbox.errors import RecorderError
from dask_blackbox.protocol.connection import Link
from dask_blackbox.protocol.messages import Config, Progress, encode

logger = logging.getLogger("dask_blackbox")


def start_recorder(
    config: Config,
    on_lost: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Link:
    """Start a recorder process, which outlives this one.

    Args:
        config: What to record, and where to.
        on_lost: Called, once and from a thread, when it ends without being asked to.
        on_progress: Takes each report of progress, in a thread; must not block.

    Raises:
        RecorderError: if no process can be started.
    """
    handle = handle_of(os.getpid())
    try:
        with _errors(Path(config.spool)) as errors:
            process = subprocess.Popen(
                # -P: a module of the user's folder must not stand in for one of ours.
                [sys.executable, "-P", "-m", "dask_blackbox.recorder"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env=_environment(),
                # Made now: this process may have ended before the recorder can open one.
                pass_fds=() if handle is None else (handle,),
            )
    except OSError as error:
        raise RecorderError(
            f"the recorder process could not be started: {error}"
        ) from error
    finally:
        if handle is not None:
            os.close(handle)
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(
            encode(msgspec.structs.replace(config, owner_handle=handle))
        )
        process.stdin.flush()
    except OSError as error:
        raise RecorderError(f"the recorder exited immediately: {error}") from error
    return Link(
        process.stdin,
        process.stdout,
        process,
        on_lost=on_lost,
        on_progress=on_progress,
    )


@contextlib.contextmanager
def _errors(spool: Path) -> Iterator[IO[bytes]]:
    """Open the file for what a recorder writes to stderr before it can log."""
    path = spool / "recorder.err"
    try:
        spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        # It still records, as long as the store takes everything.
        logger.warning("the spool cannot be used: %s", error)
        path = Path(os.devnull)
    with path.open("ab") as file:
        yield file


def _environment() -> dict[str, str]:
    """Return this process's environment without what would make the recorder record itself."""
    ours = ("DASK_BLACKBOX_CONTROL", "DASK_DISTRIBUTED__CLIENT__PRELOAD")
    kept = {k: v for k, v in os.environ.items() if k not in ours}
    # Each of its threads would get a heap of its own, 3 MB of it half empty.
    return {"MALLOC_ARENA_MAX": "1", **kept}
