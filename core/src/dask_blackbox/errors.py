"""Every exception of the package; each composes its own sentence and says what to do.

BlackboxError
├── ConfigurationError          a setting that cannot work
├── UnstorableResultError       a result that the job's host cannot store
├── StoreError                  the store refused, or did not answer
│   ├── StoreNotFoundError      there is no such bucket or folder
│   ├── StoreDeniedError        credentials missing, wrong or without the permission
│   ├── StoreUnreachableError   it does not answer, or too late
│   └── BlobNotFoundError       the store exists, the blob does not
├── RecordingError
│   ├── RunNotFoundError        nothing recorded under that name
│   ├── AmbiguousRunError       several recordings could be meant
│   ├── MalformedRecordingError not a recording, or a damaged one
│   │   └── OverLimitError      larger than anything that dask-blackbox writes
│   └── FutureFormatError       written by a newer version
└── RecorderError               the recorder process did not start, or exited
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dask_blackbox.portable import Call, first_readable

__all__ = [
    "AmbiguousRunError",
    "BlackboxError",
    "BlobNotFoundError",
    "ConfigurationError",
    "FutureFormatError",
    "MalformedRecordingError",
    "OverLimitError",
    "RecorderError",
    "RecordingError",
    "RunNotFoundError",
    "StoreDeniedError",
    "StoreError",
    "StoreNotFoundError",
    "StoreUnreachableError",
    "UnstorableResultError",
    "chained",
]


class BlackboxError(Exception):
    """Base class of all exceptions that dask-blackbox raises.

    Pickled, it is read as a `RuntimeError` where its package is not installed.
    """

    def __reduce__(self) -> str | tuple[Any, ...]:
        kind = type(self)
        package = kind.__module__.partition(".")[0]
        if package == "__main__":
            return super().__reduce__()
        ours = Call(_revived, kind, self.args, vars(self))
        return first_readable((package, ours), otherwise=RuntimeError(str(self)))


def _revived(
    kind: type[BlackboxError], args: tuple[Any, ...], state: Mapping[str, Any]
) -> BlackboxError:
    # Without `__init__`: the arguments are those of the exception, not those of its class.
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class ConfigurationError(BlackboxError):
    """A setting that cannot work; the sentence names it and a value that would."""


class UnstorableResultError(BlackboxError):
    """A result that the job's host cannot store; the sentence says what to return."""


class StoreError(BlackboxError):
    """The store refused a request, or did not answer.

    Attributes:
        transient: Trying again later may help.
    """

    transient = False


class StoreNotFoundError(StoreError):
    """There is no such bucket or folder."""


class StoreDeniedError(StoreError):
    """Credentials are missing, wrong, or lack the permission."""


class StoreUnreachableError(StoreError):
    """The store does not answer, answers too late, or with a server error."""

    transient = True


class BlobNotFoundError(StoreError):
    """The store exists, the blob does not."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(f"{where} contains no {name!r}")


class RecordingError(BlackboxError):
    """A recording that cannot be read."""


class RunNotFoundError(RecordingError):
    """Nothing is recorded under that name.

    Args:
        name: The name, as it was typed.
        where: The store.
        what: What was asked for: a recording, or a job.
        close: Existing names that are spelt similarly.
        deleted: Whether there were runs of that name, whose recordings were deleted.

    Attributes:
        where: The store.
    """

    def __init__(
        self,
        name: str,
        where: str,
        what: str = "recording",
        *,
        close: Sequence[str] = (),
        deleted: bool = False,
    ) -> None:
        self.where = where
        listing = f"`dask blackbox ls --store {shlex.quote(where)}` lists"
        if deleted:
            super().__init__(
                f"the recordings of {name!r} in {where} were deleted; {listing} the runs"
            )
            return
        if name == "latest":
            super().__init__(
                f"nothing is recorded in {where} yet; is it the store that the runs "
                "record into (`--store`, the setting `blackbox.store.url`)?"
            )
            return
        super().__init__(
            f"no {what} {name!r} in {where}; {_did_you_mean(close)}{listing} its runs"
        )


def _did_you_mean(close: Sequence[str]) -> str:
    named = " or ".join(repr(each) for each in close)
    return f"did you mean {named}? " if named else ""


class AmbiguousRunError(RecordingError):
    """Several recordings could be meant."""

    def __init__(self, name: str, candidates: list[str], *, more: bool = False) -> None:
        listed = "\n".join(f"  {candidate}" for candidate in candidates)
        rest = "\n  …" if more else ""
        super().__init__(f"{name!r} is ambiguous; it matches:\n{listed}{rest}")


class MalformedRecordingError(RecordingError):
    """Bytes that are not a recording, or are damaged."""


class OverLimitError(MalformedRecordingError):
    """A part of a recording that is larger than what is read."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} was left out, because {why}")


class FutureFormatError(RecordingError):
    """Written by a newer version of dask-blackbox than this one."""

    def __init__(self, *, found: int, known: int) -> None:
        super().__init__(
            f"this recording has format {found}, and this dask-blackbox reads up to "
            f"{known}; upgrade with `pip install -U dask-blackbox`"
        )


class RecorderError(BlackboxError):
    """The recorder process did not start, or exited."""


def chained(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, what it was raised from or while handling, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
