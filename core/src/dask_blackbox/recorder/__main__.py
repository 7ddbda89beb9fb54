"""The recorder process: `python -m dask_blackbox.recorder PARENT`, started by `recording`.

A scheduler's preload starts it with two more arguments, for many recordings.

It detaches itself by a second fork.  Otherwise the driver's `os.wait()` could return it,
and a loop that waits until no child is left would wait for the recorder, which waits for the
driver.
"""

from __future__ import annotations

import os
import signal
import sys

_ZOMBIES = 50
"""Exited children of process 1 from which on it is taken for one that reaps none."""


def main(parent: str, *many: str) -> None:
    """Run the recorder with the requests from standard input.

    Args:
        parent: Process id of the driver, or of the scheduler whose runs are recorded.
        many: Arguments for the recorder of many recordings; none: of a single one.
    """
    # All files of a recorder are for its own user, whatever the driver's mask is.
    os.umask(0o077)
    # Before the imports that take time: until then, the driver has a child more.
    _detach()
    from dask_blackbox.recorder.late_imports import import_little_of_distributed

    import_little_of_distributed()
    if many:
        from pathlib import Path

        from dask_blackbox.recorder.multi_recorder import record_all

        record_all(int(parent), Path(many[0]), many[1])
    else:
        _record_one()


def _record_one() -> None:
    """Read the configuration from the first line of standard input, and record."""
    import asyncio
    import logging

    from dask_blackbox.protocol.messages import decode_config

    line = _first_line()
    config = decode_config(line)
    _log_to(config.spool)
    # A terminal's Ctrl-C and a host's SIGTERM to the whole group are meant for the driver;
    # it says how it ended, or its end of file does.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    from dask_blackbox.recorder.late_imports import without_collections

    with without_collections():
        from dask_blackbox.recorder.parent_process import ParentProcess
        from dask_blackbox.recorder.recorder import Recorder

    from dask_blackbox.recorder.process_limits import offer_to_oom_killer

    offer_to_oom_killer()

    async def record() -> None:
        parent = ParentProcess(config.parent, config.parent_handle)
        reporting = asyncio.create_task(parent.report_alive())
        await Recorder(config, parent, alone=True).run()
        reporting.cancel()

    asyncio.run(record())
    # Everything is written and reported; the caller must not wait for interpreter shutdown.
    logging.shutdown()
    os._exit(0)


def _first_line() -> bytes:
    # Unbuffered, so that what follows stays in the pipe for the event loop.
    line = bytearray()
    while (byte := os.read(sys.stdin.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def _log_to(folder: str) -> None:
    import logging
    from pathlib import Path

    from dask_blackbox.private_files import make_private_folder

    spool = Path(folder)
    try:
        make_private_folder(spool)
        # No `FileHandler`: a host's package that configures logging, as Prefect does when it
        # is imported, closes those, and they open their file again in a folder that is gone.
        file = (spool / "recorder.log").open("a", encoding="utf-8")
        handler: logging.Handler = logging.StreamHandler(file)
    except OSError:  # where nothing can be spooled, nothing can be logged
        handler = logging.NullHandler()
    logging.basicConfig(
        handlers=[handler],
        level=logging.INFO,
        format="%(asctime)s %(name)s %(levelname)s %(message)s",
    )


def _detach() -> None:
    """Continue in a process that is no child of the one that started this one.

    If no process would reap it when it exits, this process continues itself.  The id of the
    process that continues is the first line of standard output.
    """
    if os.getppid() != 1 and _is_reaping(1):
        try:
            # Not the new process writes its id: it is known even if that is frozen at once.
            if continuing := os.fork():
                os.write(sys.stdout.fileno(), b"%d\n" % continuing)
                os._exit(0)
            os.setsid()
        except OSError:  # no more processes are allowed
            pass
        else:
            return
    os.write(sys.stdout.fileno(), b"%d\n" % os.getpid())


def _is_reaping(pid: int) -> bool:
    """Return whether a process that adopts others seems to reap them when they exit.

    In a container without an init, process 1 is a program like any other, and each orphan
    that exits would keep its entry in the table of processes.
    """
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:  # noqa: PTH123
            children = file.read().split()
    except OSError:  # another system, where process 1 is its init
        return True
    return sum(map(_is_zombie, children)) < _ZOMBIES


def _is_zombie(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            status = file.read()
    except OSError:  # reaped by now
        return False
    return status.rpartition(b")")[2].split()[0] == b"Z"


if __name__ == "__main__":
    main(*sys.argv[1:])
