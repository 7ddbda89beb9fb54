"""Words for a verdict with what led to it, and for why another cause is not the root."""

from __future__ import annotations

from dask_blackbox.analyse.frames import Frame
from dask_blackbox.analyse.wording.words import Words
from dask_blackbox.events import DriverCallFailed, DriverErrorLogged
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import class_of, code_line, short, uncapitalised

LATE = "it happened after the outcome"
SPECIFIC = "a more specific rule explains it"
OF_EVERY_PROCESS = (
    "this cause killed one worker after another and would have killed the next one, too"
)


def cause_after(words: Words, verdict: Finding) -> str:
    """Return the cause of a verdict with what led to it."""
    if words.account:
        return f"{words.account} {verdict.cause}"
    if not words.headline:
        return f"{verdict.cause} {words.text}"
    because = words.because or (
        "The job continued, and the later failure may be a consequence."
    )
    return f"{verdict.cause} Before that, {uncapitalised(words.text)}. {because}"


def look_first(words: Words, line: str, frame: Frame | None) -> str:
    """Return the remedy: what would fix the consequence (a retry, say) does not help here.

    Args:
        line: Where the job's own code raised what came before; may be empty.
        frame: Where what then ended the run was raised.
    """
    at = f" at {line}" if line else ""
    ended = f", at {code_line(frame)}," if frame is not None else ""
    return (
        f"Start with the earlier failure: {uncapitalised(words.headline)}{at}. What then "
        f"ended the run{ended} is probably its consequence. {words.remedy}"
    ).rstrip()


def cause_with_end(
    verdict: Finding, reason: DriverCallFailed | DriverErrorLogged, end: str
) -> str:
    """Return the cause of a verdict on an error that the driver had handled, and its end."""
    place = code_line(reason, " at ", name_only=True)
    return (
        f"{verdict.cause} The driver handled {class_of(reason.exception)}{place}, and its "
        f"code shows that this led to its end: {end}."
    )


def unseen_reason(symptom: str, maker: str | None) -> str:
    """Return a sentence on where the reason may be.

    Args:
        symptom: What the exception reports.
        maker: What tasks that made the input are called; None: any earlier one may have.
    """
    where = "the results or files of earlier tasks"
    if maker is not None:
        where = f"'{maker}', which produced its input"
    return f"The exception reports {symptom}, not why: the reason may be in {where}."


def as_likely(root: Finding) -> str:
    """Return why a cause is not the root: another one is as likely, and began earlier."""
    return f"{_named(root)} explains the failure equally well and began earlier"


def weaker(root: Finding) -> str:
    """Return why a cause is not the root: the evidence for it is weaker."""
    return f"the evidence for {_named(root)} is stronger"


def not_raised(root: Finding) -> str:
    """Return why a cause is not the root: the driver raised another one."""
    return f"the driver's exception is {_named(root)}"


def not_waited_for(root: Finding) -> str:
    """Return why a cause is not the root: the driver waited for something else."""
    return f"the driver waited for {_named(root)}"


def _named(root: Finding) -> str:
    return f"'{short(root.title, 80)}'"
