"""Formats numbers, sizes, durations, moments, lists and commands; parses ages.

Commands that cards, reports and errors print can be pasted into a shell as they are.
"""

from __future__ import annotations

import math
import re
import shlex
import signal
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.patterns import bounded

BIDIRECTIONAL = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters (of a regular expression's class) that turn the direction of what follows."""

_MINUTE = 60.0
_HOUR = 3600.0
_DAY = 86400.0
_SPELT_WITH_A_VOWEL = "AEFHILMNORSX"
_SHORT_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024.0
_TEN = 10.0
_HUNDRED = 100.0
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_UNPRINTABLE = bounded(
    r"\x1b\[[0-9;?]*[A-Za-z]|[^\S\n\t ]"
    rf"|[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDIRECTIONAL}]"
)
_PATH = bounded(
    r"(?P<host>[a-z][a-z0-9+.-]*://[\w.@:-]*)?(?P<path>(?:/[\w.@%+=~-]+){3,})"
)
_ANSI = bounded(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = bounded(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDIRECTIONAL}\ud800-\udfff]")
_BACKTICKS = bounded(r"`+")
_UUID = bounded(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)*$")
_TOKEN = bounded(r"^(?:[a-f][A-Za-z]{7}|[a-f]{6,}|(?=\D*\d)\w*)$")
_WHOLE_HASH = bounded(r"[0-9a-f]{32}$")


def size(number: float) -> str:
    """Return a number of bytes for people: `400 MiB`, `1.5 GiB`."""
    value, unit = float(number), 0
    while abs(value) >= 1024 and unit < len(_UNITS) - 1:  # noqa: PLR2004
        value, unit = value / 1024, unit + 1
    text = f"{value:.0f}" if value >= 10 or unit == 0 else f"{value:.1f}"  # noqa: PLR2004
    return f"{text.removesuffix('.0')} {_UNITS[unit]}"


def exact_size(nbytes: float) -> str:
    """Return a size with three digits: `11.4 GiB`."""
    if nbytes < 0:
        return "-" + exact_size(-nbytes)
    value, unit = float(nbytes), 0
    while value >= _STEP * 0.9995 and unit < len(_SHORT_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    if unit == 0:
        return f"{value:.0f} B"
    digits = 2 if value < _TEN else 1 if value < _HUNDRED else 0
    return f"{value:.{digits}f} {_SHORT_UNITS[unit]}"


def duration(seconds: float) -> str:
    """Return a duration for people: `412 ms`, `3.2 s`, `3 m 12 s`, `1 h 04 m`."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if round(seconds) < _MINUTE:
        return _brief(seconds)
    if round(seconds) < _HOUR:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} m {rest:02d} s"
    if seconds < _DAY:
        hours, rest = divmod(round(seconds / 60), 60)
        return f"{hours} h {rest:02d} m"
    days, rest = divmod(round(seconds / _HOUR), 24)
    return f"{days} d {rest:02d} h"


def _brief(seconds: float) -> str:
    if seconds < 0.001:  # noqa: PLR2004
        return "0 s" if seconds == 0 else f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:  # noqa: PLR2004
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"  # noqa: PLR2004


def count(number: float) -> str:
    """Return a count with thousands set apart: `31,244`."""
    return f"{round(number):,}"


_LAST_MOMENT = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def utc(at: float) -> datetime:
    """Return a moment in epoch seconds; one that has no date becomes the nearest that has."""
    return datetime.fromtimestamp(max(0.0, min(at, _LAST_MOMENT)), UTC)


def day(at: float) -> str:
    """Return the day (UTC) of a moment in epoch seconds."""
    return f"{utc(at):%Y-%m-%d}"


def moment(at: float) -> str:
    """Return a moment, given in epoch seconds, as date and time in UTC."""
    return f"{utc(at):%Y-%m-%d %H:%M:%S} UTC"


def clock(at: float) -> str:
    """Return the time of day (UTC, milliseconds) of a moment in epoch seconds."""
    return f"{utc(at):%H:%M:%S.%f}"[:-3]


def need(number: float) -> str:
    """Return a number of bytes that is needed, rounded up: less would not do."""
    unit = 1024.0 ** min(int(math.log(max(number, 1), 1024)), len(_UNITS) - 1)
    step = unit if number >= 10 * unit or unit == 1 else unit / 10
    return size(math.ceil(number / step - 1e-9) * step)


def need_of_time(seconds: float) -> str:
    """Return a duration that is needed, rounded up as far as `duration` rounds."""
    steps = ((9.95, 0.1), (3600, 1.0), (86400, 60.0))
    step = next((each for limit, each in steps if seconds < limit), 3600.0)
    return duration(math.ceil(seconds / step - 1e-9) * step)


def time_argument(seconds: float) -> str:
    """Return a duration as an option of Dask takes it, rounded down: `45m`, `90s`."""
    whole = max(int(seconds), 1)
    for unit, letter in ((3600, "h"), (60, "m")):
        if whole >= 2 * unit or whole == unit:
            return f"{whole // unit}{letter}"
    return f"{whole}s"


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: `1 worker`, `4 workers`, `1,200 tasks`."""
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def were(number: float) -> str:
    """Return the verb that follows a number of things: `was` of one, else `were`."""
    return "was" if number == 1 else "were"


def article(noun: str) -> str:
    """Return the article of a noun: `an OSError`, `a KeyError`, `an SSLContext`."""
    if noun[:2].isupper():
        return "an" if noun[0] in _SPELT_WITH_A_VOWEL else "a"
    return "an" if noun[:1].upper() in "AEIOU" else "a"


def listed(items: Sequence[str], *, most: int = 3) -> str:
    """Return items as a list in a sentence: `a, b and 3 more`."""
    if not items:
        return "none"
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most:,} more")
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def process_name(role: str, source: str) -> str:
    """Return the name of a process that wrote a line: `worker tcp://…`, `driver`."""
    return role if source == role else f"{role} {source}"


def quoted(items: Iterable[str], *, most: int = 3, longest: int = 60) -> str:
    """Return names as a list in a sentence, each as `quoted_key`."""
    names = list(items)
    shown = [quoted_key(name, longest) for name in names[:most]]
    return listed([*shown, *names[most:]], most=most)


def quoted_key(key: str, longest: int = 80) -> str:
    """Return a task's key in quotation marks; a tuple has its own."""
    text = short(key, longest)
    return text if text.startswith(("('", '("')) else f"'{text}'"


def short(text: str, longest: int = 160) -> str:
    """Return the text on one line, cut with an ellipsis where it is too long."""
    line = " ".join(clean(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def short_with_paths(text: str, longest: int = 160) -> str:
    """Return the same; where it is too long, paths lose their folders first, not their names.

    `/srv/a/b/2026/11/orders.csv does not exist` is `…/11/orders.csv does not exist`, and
    `s3://sales/a/b/orders.csv` is `s3://sales/…/orders.csv`.  What was found instead of what
    is expected stays: `The 'depth' parameter of a tree must be… Got -5 instead.`
    """
    line = short(text, max(len(text), 1))
    line = line if len(line) <= longest else _PATH.sub(_cut_path, line)
    found = _FOUND.search(line) if len(line) > longest else None
    if found is None:
        return short(line, longest)
    end = found["end"]
    return f"{short(line, longest - len(end) - 1)} {end}"


_FOUND = bounded(
    r"[.,;:] (?P<end>(?:but )?(?:[Gg]ot|[Rr]eceived|[Ff]ound) [^.,;:]{1,30}\.?)$"
)


def _cut_path(path: re.Match[str]) -> str:
    *_, folder, name = path["path"].split("/")
    return f"{path['host']}/…/{name}" if path["host"] else f"…/{folder}/{name}"


_PLACE = bounded(r"\S+\.\w{1,20}:\d")


# Any other first word may be the name of an exception, which keeps its capital.
_BEGINNING = bounded(
    r"(?:An?|Both|Different|Every|Give|No|None|Only|Plugin|Preload|Process|Program|Tasks?"
    r"|The|Workers?)(?= )"
)


def capital(text: str) -> str:
    """Return a text that begins with a capital letter, unless with a place: `etl.py:9`."""
    if _PLACE.match(text):
        return text
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """Return a sentence's beginning for the middle of one: "The driver" as "the driver"."""
    return text[0].lower() + text[1:] if _BEGINNING.match(text) else text


def clean(text: str) -> str:
    """Return the text without what terminals and browsers obey and JSON cannot hold."""
    plain = _UNPRINTABLE.sub("", text.replace("\r\n", "\n"))
    return plain.encode("utf-8", "replace").decode()


def plain(text: str) -> str:
    """Return `text` without terminal escapes, control and bidirectional characters."""
    text = _ANSI.sub("", text.replace("\r\n", "\n"))
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def as_code(text: str) -> str:
    """Return text between backticks, more of them than the text has in a row."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def class_of(qualified: str) -> str:
    """Return the bare name of a class: `KilledWorker` of `distributed.scheduler.KilledWorker`.

    A name that says nothing by itself keeps its module: `struct.error`.
    """
    module, _, name = qualified.rpartition(".")
    if module and name in ("error", "Error"):
        return f"{module.rpartition('.')[2]}.{name}"
    return name


def signal_name(exit_code: int | None) -> str | None:
    """Return the signal of a negative exit code, or None."""
    if exit_code is None or exit_code >= 0:
        return None
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"


SHELLS = 128
"""What shells add to the number of the signal that ended a program."""


def signal_number(exit_code: int | None) -> int | None:
    """Return the number of the signal that an exit code reports, a shell's too, or None."""
    if exit_code is None or 0 <= exit_code <= SHELLS:
        return None
    return -exit_code if exit_code < 0 else exit_code - SHELLS


def ended(exit_code: int) -> str:
    """Return how a process ended: `exit code 3`, `killed by signal 9 (SIGKILL)`."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        name = f" ({signal.Signals(-exit_code).name})"
    except ValueError:
        name = ""
    return f"killed by signal {-exit_code}{name}"


def prefix_of(key: str) -> str:
    """Return the prefix of a key, as Dask groups keys, for keys that no table holds.

    `hog-5b1ea1…` is of `hog`, `('sum-4f…', 0, 1)` of `sum`, `tile-A01` of `tile`.  Of a fused
    task, the functions in its key stay: Dask drops those that have an underscore.
    """
    name = key
    if name.startswith("("):
        name = name[1:].split(",", 1)[0].strip().strip("'\"")
    first, *words = _UUID.sub("", name).split("-")
    if _WHOLE_HASH.match(first):
        return "data"
    while words and _TOKEN.match(words[-1]):
        words.pop()
    return "-".join([first if first[:1].isalpha() else first.strip("_'()\""), *words])


_WEEKS = bounded(r"(\d+(?:\.\d+)?)\s*w(?:eeks?)?", re.IGNORECASE)
_WEEK = 7 * 24 * 3600.0


def age_of(typed: str, option: str) -> float:
    """Return a duration in seconds.

    Args:
        typed: `24h`, `7 days`, `2 weeks`.
        option: Whose value it is, for the message.

    Raises:
        ConfigurationError: if it is none.
    """
    from dask.utils import parse_timedelta

    refuse_bare_number(typed, option)
    weeks = _WEEKS.fullmatch(typed.strip())
    try:
        found = float(weeks[1]) * _WEEK if weeks else float(parse_timedelta(typed))
    except (KeyError, ValueError, TypeError):
        raise _wrong(typed, option) from None
    if found < 0:
        raise _wrong(typed, option)
    return found


_BARE_NUMBER = bounded(r"[+-]?\d{1,30}(?:\.\d{0,30})?")


def refuse_bare_number(typed: str, option: str) -> None:
    """Refuse a number without a unit: Dask takes it for seconds, people mean days.

    Raises:
        ConfigurationError: if it is one.
    """
    number = typed.strip()
    if _BARE_NUMBER.fullmatch(number):
        raise ConfigurationError(
            f"{option} {typed!r} has no unit; give one like '{number.lstrip('+-')}d' "
            f"(days) or '{number.lstrip('+-')}h' (hours)"
        )


def moment_of(typed: str, option: str) -> float:
    """Return epoch seconds of a day or time (UTC, unless it names a zone), or of an age.

    Raises:
        ConfigurationError: if it is neither.
    """
    try:
        at = datetime.fromisoformat(typed.strip())
    except ValueError:
        return time.time() - age_of(typed, option)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _wrong(typed: str, option: str) -> ConfigurationError:
    return ConfigurationError(
        f"{option} {typed!r} is not an age; give one like '24h', '7 days' or '2 weeks', "
        "or a day like 2026-11-21"
    )


_FOLDER = bounded(r"/?runs/job=[^/]+/run=[^/]+/attempt=\d+/?$")


class _HasLine(Protocol):
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...


def code_line(
    found: _HasLine | None, before: str = "", *, name_only: bool = False
) -> str:
    """Return `file:line` of a line of code, after `before`; empty if no file is known.

    Args:
        found: What has the file and the line.
        before: Text to put before it.
        name_only: Without the folder of the file.
    """
    if found is None or not found.file:
        return ""
    file = Path(found.file).name if name_only else found.file
    return f"{before}{file}:{found.line}"


def command(verb: str, *words: str, store: str | None = None) -> str:
    """Return a `dask blackbox` command, quoted for a shell.

    Args:
        store: The URL of the store; None where it is not known, or where a word is the URL
            of a recording.
    """
    where = [] if store is None else ["--store", store]
    return shlex.join(["dask", "blackbox", verb, *words, *where])


def store_of(url: str | None) -> str | None:
    """Return the URL of the store of a recording's URL."""
    found = None if url is None else _FOLDER.search(url)
    return None if url is None or found is None else url[: found.start()] or "/"


def run_argument(url: str | None, job: str, run_id: str, attempt: int) -> str:
    """Return the word that names a run to a command: its URL, where it has one."""
    return url or f"{job}/{run_id}/{attempt}"
