"""Exceptions that report something missing, late or unexpected, but not the reason."""

from __future__ import annotations

import re

from dask_blackbox.formatting import class_of
from dask_blackbox.patterns import bounded

_CLASSES = bounded(
    r"Timeout|TimedOut|Expired|NotFound|DoesNotExist|NoSuch|Missing|EmptyData|NoData|"
    r"^(?:AssertionError|EOFError|"
    r"SystemExit|KeyError|IndexError|StopIteration|Exception|RuntimeError)$"
)
_NOTHING = bounded(
    r"NoneType|\bempty\b|\bat least one\b|\bno (?:objects|files|matches)\b|zero-size|not enough values|"
    r"has no attribute|no columns to parse|ran out of input|failed to read all data|"
    r"line 1 column 1 \(char 0\)|file size is 0|unexpected end|end of file|truncated|\bcorrupt|magic bytes|bad magic",
    re.IGNORECASE,
)
"""What Python and libraries say of values that are not there, and of files without an end."""


_ABSENT = bounded(r"NotFound|DoesNotExist|NoSuch|Missing|EmptyData|NoData|^EOFError$")
_EMPTY = bounded(
    r"\bNoneType\b|\bempty\b|\bat least one\b|\bno (?:objects|files|matches)\b|zero-size|no columns to parse|"
    r"ran out of input|failed to read all data|line 1 column 1 \(char 0\)|file size is 0|"
    r"unexpected end|end of file|truncated|\bcorrupt|magic bytes|bad magic|\bnot found\b|\bdo(?:es)? not exist\b",
    re.IGNORECASE,
)


_BEGUN = bounded(
    r"already (?:exists|open|running|registered|started)|file exists|"
    # Of what is stored; a table in memory is made by each attempt again.
    r"duplicate(?!s in\b| (?:labels?|names?|columns?|index))|(?<!not )\bunique\b|"
    r"\blocked\b|\bin use\b|\block\w* is (?:held|taken)\b|\b(?:held|taken) by\b",
    re.IGNORECASE,
)


_LACKS = bounded(
    r"\b(?:no|not(?! (?:unique|sorted|monotonic|an?)\b)|none|nan|nothing|(?<!can )only|empty|missing|incomplete|truncated|finite|(?<!non-)zero)\b",
    re.IGNORECASE,
)
"""What is said of values that are there in part, or not at all."""

_UNEQUAL = bounded(
    r"\b(?:lengths?|shapes?|sizes?|dimensions?|broadcast|mismatch\w*|align\w*|unequal|differs?|"
    r"different|fewer|not match|expected)\b",
    re.IGNORECASE,
)
"""What libraries say of parts that do not fit together, one of which may be absent."""

_REFUSED = bounded(
    r"connection (?:was )?(?:refused|reset|aborted|closed)|could not connect|unreachable|"
    r"no route to host|broken pipe|closed the connection|closed connection|"
    r"(?:remote end|server|peer) (?:has )?(?:closed|disconnected)",
    re.IGNORECASE,
)
"""What systems and clients say of a service that is not there, or ended meanwhile."""
_REFUSAL = bounded(r"Refused|Reset|Aborted|BrokenPipe|Disconnected|IncompleteRead")

_SYSTEM = bounded(
    r"^(?:\w*OSError|IOError|PermissionError|MemoryError|ModuleNotFoundError|ImportError|"
    r"ClientError|KilledWorker)$|Connect|Credential|Timeout|HTTP|Memory"
)
"""Exceptions of a system or a service, whatever the values are."""

_WAITS = bounded(
    r"\b(?:timed?[ -]?out|within \d|(?:after|for|in) (?:waiting )?\d[\d.]* ?(?:s|sec\w*|m|min\w*)\b"
    r"|waited|waiting|busy|locked)\b",
    re.IGNORECASE,
)
_GIVEN_UP = bounded(
    r"Timeout|TimedOut|Expired|^(?:BrokenBarrierError|(?:Queue)?(?:Empty|Full))$"
)
_LATE = "what did not happen in time"
_ANY_FAILURE = frozenset({"AssertionError", "Exception", "RuntimeError", "SystemExit"})
"""Classes of exceptions that people raise for any reason."""

_COUNTED = bounded(
    r"(?<![-\w./:])(?P<number>\d+)(?: of \d+)?(?: [\w()]+){0,3}? (?:failed|failures?|errors?|errored|exceptions?|missing|lost|skipped|incomplete)\b",
    re.IGNORECASE,
)


def lacks_something(exception: str, message: str) -> bool:
    """Return whether an exception reports that a value is absent, incomplete or late."""
    return is_symptom(exception, message) or bool(_LACKS.search(message))


def is_incomplete(exception: str, message: str) -> bool:
    """Return whether an exception reports that parts are absent, or do not fit together."""
    return is_absence(exception, message) or bool(_UNEQUAL.search(message))


def is_absence(exception: str, message: str) -> bool:
    """Return whether an exception reports that data is not there, or stops too early."""
    return bool(_ABSENT.search(class_of(exception)) or _EMPTY.search(message))


def is_leftover(exception: str, message: str) -> bool:
    """Return whether an exception may be about what an earlier attempt had begun."""
    name = class_of(exception)
    return name == "FileExistsError" or bool(_BEGUN.search(message))


def is_of_a_system(exception: str, message: str) -> bool:
    """Return whether an exception is about a system or a service, not about values."""
    return bool(_SYSTEM.search(class_of(exception))) or is_refusal(exception, message)


def is_refusal(exception: str, message: str) -> bool:
    """Return whether an exception reports that no service answers, or stopped answering."""
    return bool(_REFUSAL.search(class_of(exception)) or _REFUSED.search(message))


def is_wait(exception: str, message: str) -> bool:
    """Return whether an exception reports that something did not come, or become free, in time."""
    return bool(_GIVEN_UP.search(class_of(exception)) or _WAITS.search(message))


def is_symptom(exception: str, message: str) -> bool:
    """Return whether an exception may well follow from an earlier one that was swallowed."""
    name = class_of(exception)
    return bool(
        _CLASSES.search(name) or _GIVEN_UP.search(name) or _NOTHING.search(message)
    )


def reported_symptom(exception: str, message: str) -> str:
    """Return what a symptom is about, after "The exception reports": its class comes first."""
    name = class_of(exception)
    if _GIVEN_UP.search(name):
        return _LATE
    if _REFUSAL.search(name) or _REFUSED.search(message):
        return "that a service did not answer"
    if (_CLASSES.search(name) and name not in _ANY_FAILURE) or _NOTHING.search(message):
        return "what was missing"
    return _LATE if _WAITS.search(message) else "what failed"


def number_of_failures(text: str) -> int | None:
    """Return how many failures a text counts ("3 of 12 files failed"); None: it does not."""
    counted = _COUNTED.search(text)
    return None if counted is None else int(counted["number"])
