"""The recorder process: `python -m dask_blackbox.recorder OWNER`, started by `recording`.

A scheduler's preload starts it with two arguments more, for many recordings.
"""

from __future__ import annotations

import os
import signal
import sys

from dask_blackbox.recorder.detach import detach


def main() -> None:
    """Record what comes on standard input."""
    # Before the imports that take time: until then, the driver has a child more.
    detach()
    owner, *many = sys.argv[1:]
    if many:
        from pathlib import Path

        from dask_blackbox.recorder.many_recordings import record_all

        record_all(int(owner), Path(many[0]), many[1])
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
        from dask_blackbox.recorder.parent import Owner
        from dask_blackbox.recorder.recorder import Recorder

    asyncio.run(Recorder(config, Owner(config.owner, config.owner_handle)).run())
    # All is written and reported, and somebody waits: not for each module to be taken apart.
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

    spool = Path(folder)
    try:
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
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


if __name__ == "__main__":
    main()
