"""What the recording and the rules themselves lack."""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.completeness import BY_SETTING, missing_from
from dask_blackbox.analyse.rule import documented
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import capital, counted, listed, short


@documented("recording-incomplete")
def RECORDING_INCOMPLETE(case: Case) -> Iterator[Finding]:
    missing = {} if case.state == "running" else missing_from(case.run)
    missing.pop(BY_SETTING, None)
    if not missing:
        return
    sentences = [
        f"{capital(_name(source))}: {sentence}"
        for source, each in missing.items()
        for sentence in each
    ]
    shown = sentences[:6]
    if (more := len(sentences) - len(shown)) > 0:
        shown.append(f"And {more:,} more")
    yield RECORDING_INCOMPLETE.found(
        f"The recording lacks data from {listed([_name(each) for each in missing])}",
        cause=" ".join(f"{each}." for each in shown),
        remedy="The other findings are valid, but the missing data may hide further ones."
        + (_KEEP_MORE if _has_dropped(case) else ""),
        confidence="high",
        evidence=tuple(
            Evidence(text=sentence, source="events") for sentence in sentences[:10]
        ),
    )


_KEEP_MORE = (
    " To keep all rows, raise `blackbox.capture.buffer` or pull more often "
    "(`blackbox.capture.interval`)."
)


def _has_dropped(case: Case) -> bool:
    """Return whether the scheduler's buffer was too small."""
    sources = {} if case.run.ending is None else case.run.ending.sources
    return any(
        source.startswith("scheduler") and any(each.dropped.values())
        for source, each in sources.items()
    )


def _name(source: str) -> str:
    """Return the name of a source: `worker tcp://…`, `scheduler tcp://…`, `the driver`."""
    if " " in source:
        return source
    return f"worker {source}" if "://" in source else f"the {source}"


@documented("rule-failed")
def RULE_FAILED(case: Case) -> Iterator[Finding]:
    if not case.broken:
        return
    failed = [each for each in case.broken if _SETTINGS not in each]
    title, remedies = f"{counted(len(failed), 'rule')} could not run", []
    if failed:
        remedies.append(
            "Fix the rule, or uninstall its package. `dask_blackbox.testing` tests a rule on "
            "a recording. The other findings are not affected."
        )
    else:
        title = "The settings of the rules are wrong, and were not applied"
    if len(failed) < len(case.broken):
        remedies.append("Correct that setting; all rules were asked as without it.")
    yield RULE_FAILED.found(
        title,
        cause=f"{' '.join(f'{short(each, 240)}.' for each in case.broken[:5])}",
        remedy=" ".join(remedies),
        confidence="high",
        evidence=tuple(
            Evidence(text=short(each, 400), source="driver") for each in case.broken[:5]
        ),
    )


_SETTINGS = "blackbox.rules."
"""What the message on a wrong setting names."""
