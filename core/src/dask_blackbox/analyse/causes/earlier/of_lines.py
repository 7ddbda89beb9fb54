"""What a job printed or logged of errors that it handled."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.causes.earlier.incident import (
    MOST,
    MOST_TEXTS,
    Earlier,
    ended_with,
    handled_failure,
)
from dask_blackbox.analyse.driver_output import (
    NOISE,
    OF_DASK,
    own_lines,
)
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import raised_at_end, user_frame
from dask_blackbox.analyse.retry_advice import UNKNOWN, Advice, advice_on_text
from dask_blackbox.analyse.symptoms import is_wait
from dask_blackbox.analyse.wording import words_of_lines
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of, code_line
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import epoch

EXHAUSTED = (
    r"(?i:too many open files|no space left|file too large|disk quota exceeded|"
    r"read-only file system|input/output error|cannot allocate memory|\bMemoryError\b)"
)
"""What systems say where a resource is used up, or broken.

Data has many reasons to be wrong, and jobs handle that; a system that refuses has one, and what
fails afterwards in any way may follow from it.
"""

ERROR_WORDS = (
    r"(?i)\b[A-Z]\w*(?:Error|Exception)\b|\b(?:errors?|fail(?:ed|ure|s)?|skipp(?:ed|ing)|"
    r"unknown|unsupported|invalid|unrecogni[sz]ed|corrupt\w*|problems?|could not|cannot|can't|unable|unavailable|refused|denied|giving up|gave up)\b|"
    rf"{EXHAUSTED}"
)
"""What a job prints or logs of an error that it handles."""

_NONE_FAILED = (
    r"(?i)(?:^|[,;:(]\s*|\b(?:and|with) )0 (?:\w+ )?(?:errors?|fail(?:ed|ures?))\b|"
    r"\b(?:no|without) (?:\w+ )?(?:errors?|failures?)\b|"
    r"\b(?:errors?|fail(?:ed|ures?)) ?[:=]? ?0\b"
)
"""What a job prints where nothing has failed."""

_RAISED_IN_LINE = bounded(r"\b(?P<name>[A-Z]\w*(?:Error|Exception))\b")

_INFORMATION = bounded(r"^\[?(?:DEBUG|INFO)\b")

_WARNING = 30

_TELLING = 12
"""Characters from which on the text of an exception is found in a line by no accident."""

_LONGEST_ERROR, _LONGEST_LINE = 100, 2_000


def words(text: str) -> str:
    """Return a text without punctuation, which `str` and `repr` of an error set differently."""
    return " ".join(bounded(r"\w+").findall(text))[:_LONGEST_ERROR]


def words_of_line(line: str) -> str:
    words = bounded(r"\w+").findall(line[:_LONGEST_LINE])
    return f" {' '.join(words)} "


def _error_pattern(case: Case) -> str:
    """Return a pattern for what a job says of errors: words, and texts of those it received."""
    received = (" ".join(e.message.split()) for e in case.outcome.survived)
    texts = {text[:_LONGEST_ERROR] for text in received if len(text) >= _TELLING}
    return "|".join([ERROR_WORDS, *map(re.escape, sorted(texts))])


def printed_lines(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield what the job's own code printed or logged of errors."""
    own = pl.col("message")
    logs = own_lines(case.run).filter(
        own.str.contains(_error_pattern(case))
        & ~own.str.contains(_NONE_FAILED)
        & ~own.str.contains(r"^\s|^Traceback|^[\w.]+(?:Error|Exception)\b")
    )
    if case.dialect.notices:
        logs = logs.filter(~own.str.contains(case.dialect.notices))
    first = logs.sort("at").unique("message", keep="first", maintain_order=True)
    texts_of_failures = _texts_of_failures(case)
    logged = _logged_by_workers(case)
    # What a task waits for, and does not come from a task, comes from the driver.
    waited = case.blame.failure is not None and ended_with(case, is_wait)
    for at, role, line, key in (
        first.head(MOST).select(epoch("at"), "role", "message", "key").iter_rows()
    ):
        message, name = _as_one_line(str(line))
        # Workers share the standard error of their driver.
        by = [text for text in logged if role == "driver" and str(line).endswith(text)]
        of_driver = role == "driver" and not by
        of_task = words_of_lines.task_or_worker(case, logged[by[0]] if by else key)
        who = words_of_lines.DRIVER if of_driver else of_task
        quoted_failure = _quoted_by(message, texts_of_failures)
        if quoted_failure is not None:
            had_printed = words_of_lines.had_printed(who)
            yield handled_failure(quoted_failure, had_printed, message)
            continue
        yield Earlier(
            at=at,
            name=name,
            words=words_of_lines.of_printed_line(who, message),
            message=message,
            source="logs",
            # What the job calls information is no failure to it.
            grade="evidence" if _INFORMATION.match(message) else "possible",
            advice=_advice_on_line(message),
            rule="driver-exception" if waited and of_driver else "",
            of_task=not of_driver,
        )


def _logged_by_workers(case: Case) -> dict[str, str | None]:
    """Return some different warnings that loggers of workers recorded, and the tasks."""
    logs = case.run.logs.filter(
        (pl.col("role") == "worker")
        & (pl.col("level") >= _WARNING)
        & (pl.col("message").str.len_chars() >= _TELLING)
    )
    first = logs.unique("message", keep="first", maintain_order=True).head(MOST_TEXTS)
    return dict(first.select("message", "key").iter_rows())


def logged_errors(case: Case, verdict: Finding) -> Iterator[Earlier]:
    """Yield warnings and errors of the job's own loggers."""
    errors = _error_pattern(case)
    logs = case.run.logs.filter(
        (pl.col("level") >= _WARNING)
        & pl.col("role").is_in(["driver", "worker"])
        & ~pl.col("logger").fill_null("").str.contains(f"^(?:{OF_DASK})")
        & ~pl.col("logger").is_in(["stdout", "stderr", ""])
        & ~pl.any_horizontal(
            pl.col("message").str.contains(each, literal=True) for each in NOISE
        )
    )
    if case.dialect.notices:
        logs = logs.filter(~pl.col("message").str.contains(case.dialect.notices))
    texts = logs.group_by("logger", "message", maintain_order=True).agg(
        pl.col("at").min().dt.epoch("us") / 1e6, pl.col("key").first()
    )
    texts_of_failures = _texts_of_failures(case)
    for row in texts.sort("at", "message").head(MOST).iter_rows(named=True):
        message, name = _as_one_line(row["message"])
        who = row["logger"]
        if row["key"] is not None:
            who = words_of_lines.task_or_worker(case, row["key"])
        quoted_failure = _quoted_by(message, texts_of_failures)
        if quoted_failure is not None:
            had_logged = words_of_lines.had_logged(who)
            yield handled_failure(quoted_failure, had_logged, message)
            continue
        yield Earlier(
            at=row["at"],
            name=name,
            words=words_of_lines.of_logged_line(who, message),
            message=message,
            source="logs",
            grade="possible" if bounded(errors).search(message) else "evidence",
            advice=_advice_on_line(message),
            line=code_line(user_frame(row["message"])),
        )


def _texts_of_failures(case: Case) -> dict[str, TaskFailure]:
    """Return the texts of failed tasks that a line can quote, and the first task with each."""
    found = dict[str, TaskFailure]()
    for each in sorted(case.failures, key=lambda failure: failure.at):
        text = words(each.raised.message)
        if len(text) < _TELLING:  # such as of a `KeyError`: only with its class
            text = words(f"{each.raised.name} {each.raised.message}")
        if not each.killed and each is not case.blame.failure and len(text) >= _TELLING:
            found.setdefault(text, each)
        if len(found) >= MOST_TEXTS:
            break
    return found


def _quoted_by(line: str, texts: dict[str, TaskFailure]) -> TaskFailure | None:
    """Return the failed task whose text a line of the job quotes; the line names no task."""
    words = words_of_line(line)
    for text, failure in texts.items():
        if f" {text} " in words or (len(text) == _LONGEST_ERROR and text in words):
            return failure
    return None


def _as_one_line(message: str) -> tuple[str, str]:
    """Return what was printed as one line, and the class that a traceback in it ends with."""
    first, _, rest = message.partition("\n")
    raised = raised_at_end(rest)
    if raised is None:
        return " ".join(message.split()), ""
    name = class_of(raised[0])
    return f"{first.strip()}: {name}: {raised[1]}".rstrip(": "), name


def _advice_on_line(line: str) -> Advice:
    """Return the retry advice on the exception in a printed line."""
    raised = _RAISED_IN_LINE.search(line)
    return UNKNOWN if raised is None else advice_on_text(raised["name"], line)
