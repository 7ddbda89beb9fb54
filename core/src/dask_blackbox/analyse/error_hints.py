"""What to do about errors that Python, Dask and pandas tell in words of their own."""

from __future__ import annotations

from dask_blackbox.analyse.frames import root_of_chain
from dask_blackbox.analyse.signatures.data_libraries import META_INFERENCE_FAILED
from dask_blackbox.analyse.signatures.distributed import (
    DATASET_NOT_FOUND,
    GRAPH_HAS_A_CYCLE,
    IOLOOP_CLOSED,
)
from dask_blackbox.analyse.signatures.python import (
    DAEMON_HAS_NO_CHILDREN,
    FILE_TOO_LARGE,
)
from dask_blackbox.formatting import class_of, short
from dask_blackbox.manifest import DriverException

_HINTS = (
    (
        FILE_TOO_LARGE,
        (
            "The process may not write files of that size: raise its limit where it is started "
            "(`ulimit -f`, `LimitFSIZE=`, RLIMIT_FSIZE), or write smaller files."
        ),
    ),
    (
        DAEMON_HAS_NO_CHILDREN,
        (
            "Workers under a nanny are daemons and cannot start processes with "
            "`multiprocessing`: use threads or more workers instead of a process pool, "
            "or set `distributed.worker.daemon: False` where the workers are started."
        ),
    ),
    (
        META_INFERENCE_FAILED,
        (
            "Pass `meta=` to `{what}`: the name and type of the function's result. "
            "Without it, Dask calls the function on one or two rows of made-up values, "
            "which it must accept."
        ),
    ),
    (
        GRAPH_HAS_A_CYCLE,
        (
            "A task of the graph needs its own result, by way of the keys that are named: "
            "rename one of them, or break the cycle."
        ),
    ),
    (
        IOLOOP_CLOSED,
        (
            "The client that this belongs to was already closed (the end of a `with "
            "Client(…)`, or `client.close()`), and its futures with it: fetch results "
            "while it is open, or keep it open for as long as they are needed."
        ),
    ),
    (
        DATASET_NOT_FOUND,
        (
            "No dataset '{what}' is published on this scheduler: it was never "
            "published, was unpublished, or the scheduler was restarted. "
            "`client.list_datasets()` lists published datasets."
        ),
    ),
)


def hint_on(message: str) -> str | None:
    """Return what to do about an error that is known by its words, or None."""
    for signature, hint in _HINTS:
        found = signature.search(message)
        if found is not None:
            return hint.format(**found.groupdict())
    return None


def plain_message(exception: DriverException, message: str) -> str:
    """Return a message without the advice in it, and with the error that it is about.

    Args:
        message: Its text, as far as it is to be reported.
    """
    failed, root = (
        META_INFERENCE_FAILED.search(message),
        root_of_chain(exception.traceback),
    )
    if failed is None or root is None:
        return message
    return f"{failed[0]}: {class_of(root[0])}: {short(root[1], 160)}"
