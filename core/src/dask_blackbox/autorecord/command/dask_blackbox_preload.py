"""A Dask client preload: records the client's cluster, if there is a recorder."""

import contextlib
import json
import logging
import os
import socket
import sys
import threading
import time
from typing import Any


def _report_missing_package(why: Exception) -> None:
    """Report to user and recorder that this Python lacks dask-blackbox; imports nothing of it."""
    control = os.environ["DASK_BLACKBOX_CONTROL"]
    error = "dask-blackbox is not installed for %s" % sys.executable
    blocked = sys.modules.get("dask_blackbox", why) is None
    if getattr(why, "name", None) != "dask_blackbox" and not blocked:
        error = "dask-blackbox cannot be loaded by %s (%r)" % (sys.executable, why)
    sys.stderr.write("%s, its Dask clients are not recorded\n" % error)
    detail = {"doing": "the command's Dask clients", "error": error}
    now = time.time()
    row = [now, "capture-failed", "driver", json.dumps(detail)]
    order = {
        "op": "rows",
        "source": "driver %d" % os.getpid(),
        "seq": 1,
        "at": now,
        "rows": {"event": [row]},
    }
    message = json.dumps(order).encode() + b"\n"
    # The interpreter waits for it, so that a short command is not called complete.
    threading.Thread(target=_send, args=(control, message)).start()


def _send(control: str, message: bytes) -> None:
    """Send a line to the recorder, which may still be starting on a busy machine."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line,
        ):
            line.settimeout(1)
            line.connect(control)
            line.sendall(message)
            return
        time.sleep(0.05)


def _is_of_others(record: logging.LogRecord) -> bool:
    """Return whether a line of Dask's on preloads is not on this one.

    The last line of a command's output may be its result, as in Airflow's BashOperator.
    """
    return "dask_blackbox_preload" not in record.getMessage()


# Dask imports its preloads more than once.
if vars(sys).setdefault("_dask_blackbox_quiet", False) is False:
    vars(sys)["_dask_blackbox_quiet"] = True
    logging.getLogger("distributed.preloading").addFilter(_is_of_others)

command_process: Any = None
try:
    from dask_blackbox.autorecord.command import command_process
except Exception as why:
    # Dask imports its preloads more than once; say it once.
    if vars(sys).setdefault("_dask_blackbox_missing", __name__) == __name__:
        vars(sys)["_dask_blackbox_missing"] = None
        with contextlib.suppress(KeyError):
            _report_missing_package(why)

if command_process is not None and os.environ.get("DASK_BLACKBOX_CONTROL"):
    command_process.watch()  # from here on: a client may never connect


async def dask_setup(client: Any) -> None:
    if command_process is not None and os.environ.get("DASK_BLACKBOX_CONTROL"):
        await command_process.client_connected(client)


async def dask_teardown(client: Any) -> None:
    if command_process is not None and os.environ.get("DASK_BLACKBOX_CONTROL"):
        await command_process.client_closing(client)
