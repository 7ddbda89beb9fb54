"""Did a worker have more memory than workers of this job have with so much input?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.analyse.unusual import more_memory
from dask_blackbox.analyse.words import counted, quoted, size
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["MORE_MEMORY_THAN_USUAL"]

_GRAVE = 2.0


def _ask(case: Case) -> Iterator[Finding]:
    if case.state == "running" or not case.history.good:
        return
    sketch = sketch_of(case)
    parts = more_memory(case.history.good, sketch)
    if not parts:
        return
    unusual = parts[0].unusual
    prefixes = [part for part in parts if part.prefix is not None]
    by_input = " with this much input" if unusual.by_input else ""
    limit = sketch.measure("memory_limit")
    of_limit = f", {unusual.value / limit:.0%} of its limit" if limit else ""
    among = ""
    if prefixes:
        names = quoted(part.prefix or "" for part in prefixes)
        among = f" Workers have more of it while tasks of {names} run."
    yield MORE_MEMORY_THAN_USUAL.found(
        f"A worker had {unusual.factor:.1f} times as much memory as usual",
        cause=(
            f"The peak was {size(unusual.value)}{of_limit}; {size(unusual.expected)} was "
            f"to be expected after {counted(unusual.runs, 'good run')}{by_input}, and up "
            f"to {size(unusual.bar)} would have been usual.{among}"
        ),
        remedy=(
            "Look at what changed: larger partitions, more threads in a worker, code that "
            "keeps more. Where it is there to stay, give workers "
            f"{size(unusual.value / 0.7)} each, so that this peak is 70 % of their limit."
        ),
        confidence="medium",
        severity="warning" if unusual.factor >= _GRAVE else "notice",
        subject=Subject(prefix=prefixes[0].prefix if prefixes else None),
        evidence=tuple(
            Evidence(
                text=f"'{part.prefix}': {size(part.unusual.value)} in its workers, "
                f"usually {size(part.unusual.expected)}",
                source="metrics",
            )
            for part in prefixes[:5]
        ),
    )


MORE_MEMORY_THAN_USUAL = Rule(
    slug="more-memory-than-usual",
    title="Workers had more memory than usual",
    question="Did a worker have more memory than this job takes with so much input?",
    severity="notice",
    retry_advice="memory",
    ask=_ask,
    page=Page(
        detects=(
            "The highest memory of any worker was far above that of earlier runs of the same "
            "job, though the input explains it not. Told of failed runs, too."
        ),
        evidence=(
            "The sketches of the job's good runs, 100 at most, and the memory samples of this "
            "run. Judged as in [slower-than-usual](slower-than-usual.md): with the size of the "
            "input taken into account, against the spread and the worst of earlier runs. "
            "Silent below 4 earlier runs, and below 64 MiB."
        ),
        remedy=(
            "See what changed since the last good run, partitions and threads above all. "
            "Otherwise give workers more memory: the finding says how much."
        ),
        before="peak 7.4 GiB; 3.5 GiB was to be expected after 60 good runs",
        after="peak 3.6 GiB",
    ),
)
