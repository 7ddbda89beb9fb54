"""Commands that cards, reports and errors print: they work as they stand when pasted."""

from __future__ import annotations

import re
import shlex

__all__ = ["command", "run_words", "store_of"]

_FOLDER = re.compile(r"/?runs/job=[^/]+/run=[^/]+/attempt=\d+/?$")


def command(verb: str, *words: str, store: str | None = None) -> str:
    """Return a `dask blackbox` command, quoted for a shell.

    Args:
        store: The URL of the store; None where it is not known, or where a word is the URL
            of a recording.
    """
    where = [] if store is None else ["--store", store]
    return shlex.join(["dask", "blackbox", verb, *words, *where])


def store_of(url: str | None) -> str | None:
    """Return the URL of the store that a recording's URL lies in."""
    found = None if url is None else _FOLDER.search(url)
    return None if url is None or found is None else url[: found.start()] or "/"


def run_words(url: str | None, job: str, run_id: str, attempt: int) -> str:
    """Return the word that names a run to a command: its URL, where it has one."""
    return url or f"{job}/{run_id}/{attempt}"
