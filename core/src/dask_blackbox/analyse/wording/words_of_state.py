"""Words for what code had changed in a worker's process."""

from __future__ import annotations

from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.events import StateChange
from dask_blackbox.formatting import exact_size

_LIMIT_OF_BYTES = ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_STACK")
_OF_PROCESS = "it applies to the whole process."
# A limit that is met has two sides: its height, and what is needed at once.
_SET_LIMIT = (
    "Look for `resource.setrlimit` in code that runs on workers, and leave it out, or lower only "
    "the soft limit, around the part that needs it"
)
_LESS_MEMORY = "let each task need less memory at once (smaller pieces)"
_REMEDIES = {
    "default timeout of sockets": f"Look for `socket.setdefaulttimeout`: {_OF_PROCESS} Pass a "
    "timeout to the call that needs one instead.",
    "RLIMIT_AS": f"{_SET_LIMIT}, or {_LESS_MEMORY}.",
    "RLIMIT_DATA": f"{_SET_LIMIT}, or {_LESS_MEMORY}.",
    "RLIMIT_NOFILE": f"{_SET_LIMIT}, or close each file as soon as it has been read "
    "(`with open(…)`), so that fewer are open at once.",
    "RLIMIT_FSIZE": f"{_SET_LIMIT}, or write several smaller files.",
    "RLIMIT_NPROC": f"{_SET_LIMIT}, or start fewer threads and processes at once.",
    "recursion limit": "Look for `sys.setrecursionlimit` in code that runs on workers, and set "
    "it back after the part that needs it; or write the recursion as a loop.",
    "warnings raised as errors": "Look for `warnings.simplefilter('error')` or "
    f"`filterwarnings`: outside of `warnings.catch_warnings()`, {_OF_PROCESS}",
    "locale": "Look for `locale.setlocale`, `os.environ['TZ']` and `time.tzset` in code that "
    "runs on workers.",
}
_REMEDIES["time zone"] = _REMEDIES["locale"]


def of_change(key: str, change: StateChange) -> Words:
    what = f"{change.name} in the worker's process"
    before, now = (_readable(change, each) for each in (change.before, change.now))
    headline = f"The {what} had been changed from {before} to {now}"
    return Words(
        text=f"When '{key}' failed, the {what} was {now}. When the worker "
        f"started, it was {before}.",
        headline=headline,
        account=f"{headline}, by code that had run in that process before: it applies to "
        "all tasks there.",
        fix=_remedy(change.name),
    )


def _remedy(name: str) -> str:
    if name.startswith("environment "):
        return f"Look for code on workers that changes {name.removeprefix('environment ')}."
    return _REMEDIES.get(name, f"{_SET_LIMIT}.")


def _readable(change: StateChange, value: str) -> str:
    if change.name in _LIMIT_OF_BYTES and value.isdigit():
        return exact_size(int(value))
    return value
