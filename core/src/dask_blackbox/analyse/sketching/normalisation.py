"""Names, messages and values without what differs in every run.

Tokens, dates, addresses and counters differ each night and mean nothing; what is left
when they are blanked out can be compared.
"""

from __future__ import annotations

from dask_blackbox.patterns import bounded

_BLANK = "#"

_UUID = r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"
_MOMENT = (
    r"\d{4}[-/_.]\d{2}[-/_.]\d{2}"
    r"(?:[T_ -]*\d{2}[:\-_.]?\d{2}(?:[:\-_.]?\d{2}(?:[.,]\d+)?)?)?"
    r"(?:\s?Z|\s?[+-]\d{2}:?\d{2})?"
)
_COMPACT = r"(?<!\d)(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?\d{4,6}Z?)?(?!\d)"
_CLOCK = r"(?<!\d)\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?!\d)"
# Hexadecimal words, but no English ones: at least one digit and one letter in them.
_HEX = (
    r"(?<![0-9A-Za-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,}(?![0-9A-Za-z])"
)
_ADDRESS = r"(?:tcp|tls|ucx|inproc|ws|wss)://[^\s'\",;)]+"
_HOST_PORT = r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"
_OBJECT = r"0x[0-9a-fA-F]+"
_EPOCH = r"(?<![\d.])1[5-9]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?![\d])"
_TEMPORARY = r"(?:/private)?/(?:tmp|var/folders|dev/shm)/[^\s'\",;)]*"

_DIFFERS = bounded(
    f"{_UUID}|{_MOMENT}|{_COMPACT}|{_CLOCK}|{_OBJECT}|{_TEMPORARY}|{_EPOCH}|{_HEX}"
)
_ADDRESSES = bounded(f"{_ADDRESS}|{_HOST_PORT}")
_NUMBER = bounded(r"\d+(?:[.,]\d+)*")
_COUNTER = bounded(r"(?:(?<=^)|(?<=[-_.:/]))\d+(?=$|[-_.:/])|\d{4,}")
_QUOTED_KEY = bounded(r"(?:\('[^']*'(?:, ?\d+)+\))")
_SPACES = bounded(r"\s+")
_LONGEST = 300
_DAG = bounded(r"^unusual_prefix_[0-9a-f]+_")


def own_name(name: str) -> str:
    """Return the name of a module, or of something in it, as it is every night.

    Airflow names the module of a DAG after a hash of its path.
    """
    return _DAG.sub("", name)


def normal_prefix(prefix: str) -> str:
    """Return a prefix without tokens, dates and counters: `load-2026-11-21` is `load-#`.

    Digits that belong to a word stay: `step1` and `step2` are two things.
    """
    return _COUNTER.sub(_BLANK, _DIFFERS.sub(_BLANK, prefix))


def normal_value(value: str) -> str:
    """Return a setting or parameter without dates, tokens, temporary paths and ports.

    Other numbers stay: a limit of 100 is not one of 500.
    """
    return _ADDRESSES.sub(_BLANK, _DIFFERS.sub(_BLANK, value))


def normal_message(message: str) -> str:
    """Return the first line of a message without keys, numbers and whatever else differs."""
    line = next((line for line in message.splitlines() if line.strip()), "")
    line = _ADDRESSES.sub(_BLANK, _QUOTED_KEY.sub(_BLANK, line))
    line = _NUMBER.sub(_BLANK, _DIFFERS.sub(_BLANK, line))
    return _SPACES.sub(" ", line).strip()[:_LONGEST]
