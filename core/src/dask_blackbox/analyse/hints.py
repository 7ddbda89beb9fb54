"""What to do about errors that Python, Dask and pandas tell in words of their own."""

from __future__ import annotations

import re

from dask_blackbox.analyse.frames import root_of_chain
from dask_blackbox.analyse.words import class_of, short
from dask_blackbox.manifest import DriverException

__all__ = ["hint_on", "plain_message"]

_INFERENCE = re.compile(r"Metadata inference failed in `(?P<what>[^`]+)`")
_HINTS = (
    (
        re.compile(r"^daemonic processes are not allowed to have children"),
        (
            "Workers under a nanny are daemons and may start no processes by "
            "`multiprocessing`: use threads or more workers in place of a pool of processes, "
            "or set `distributed.worker.daemon: False` where the workers are started."
        ),
    ),
    (
        _INFERENCE,
        (
            "Pass `meta=` to `{what}`: the name and type of what the function returns. Without "
            "it, Dask calls the function on a row or two of made-up values, which it must "
            "survive."
        ),
    ),
    (
        re.compile(r"^IOLoop is closed"),
        (
            "The client that this belongs to was closed before (the end of a `with Client(…)`, "
            "or `client.close()`), and its futures with it: fetch results while it is open, or "
            "keep it open for as long as they are needed."
        ),
    ),
    (
        re.compile(r"Dataset '(?P<what>[^']+)' not found"),
        (
            "Nobody has published '{what}' on this scheduler, or it was unpublished, or the "
            "scheduler was started since: published data lives no longer than it does. "
            "`client.list_datasets()` tells what there is."
        ),
    ),
    (
        re.compile(r"You are trying to merge on (?P<what>.+?) columns"),
        (
            "Give the key one type on both sides before merging (`astype`): they are "
            "{what}."
        ),
    ),
)


def hint_on(message: str) -> str | None:
    """Return what to do about an error that is known by its words, or None."""
    for pattern, hint in _HINTS:
        found = pattern.search(message)
        if found is not None:
            return hint.format(**found.groupdict())
    return None


def plain_message(exception: DriverException, message: str) -> str:
    """Return a message without the advice in it, and with the error that it is about.

    Args:
        exception: What the driver raised.
        message: Its text, as far as it is to be told.
    """
    failed, root = _INFERENCE.search(message), root_of_chain(exception.traceback)
    if failed is None or root is None:
        return message
    return f"{failed[0]}: {class_of(root[0])}: {short(root[1], 160)}"
