"""What would have to be known to say why the run failed?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.analyse.obituary import evidence_of
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, counted, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["UNKNOWN"]

_ERROR = 40


def _ask(case: Case) -> Iterator[Finding]:
    if not case.failed or case.explained:
        return
    known, wanted = _known(case), _wanted(case)
    blame = case.blame
    what = (
        f"Workers died{f' {len(blame.deaths)} times' if len(blame.deaths) > 1 else ''}"
        ", and nobody saw of what"
        if blame.deaths or case.raised("KilledWorker")
        else "The run failed, and the recording does not say why"
    )
    yield UNKNOWN.found(
        what,
        cause=" ".join([*known, f"Missing to know more: {'; '.join(wanted)}."]),
        remedy=(
            "Look at what the host itself has of that time (its own log of the task, the "
            "events of pods and nodes). "
            + (
                "Run workers with a nanny, so that their exit codes are recorded."
                if blame.deaths
                else "If it fails again, the two recordings together may tell."
            )
        ),
        confidence="low",
        subject=Subject(
            key=blame.guilty,
            prefix=case.prefix_of(blame.guilty) if blame.guilty else None,
        ),
        evidence=(
            *case.exception_evidence(),
            *(evidence_of(case, blame.deaths) if blame.deaths else ()),
            *_last_errors(case),
        ),
    )


def _known(case: Case) -> list[str]:
    sentences = [f"The run ended as {case.state}."]
    if case.exception is not None:
        name = class_of(case.exception.exception)
        sentences.append(
            f"The driver got {name}: {short(case.exception.message, 240)}".rstrip(": .")
            + "."
        )
    if case.deaths:
        last = case.deaths[-1]
        sentences.append(
            f"{counted(len(case.deaths), 'worker')} died; of the last one is known that "
            f"{case.cause_of(last).because}."
        )
    sentences.extend(_inside_dask(case))
    return sentences


def _inside_dask(case: Case) -> Iterator[str]:
    """Yield that Dask's own code failed in a worker, which it tells before it gives up."""
    failed = case.run.details("worker-failed-hard")
    if failed:
        last = failed[-1]
        told = last.get("message")
        text = told.get("exception_text") if isinstance(told, dict) else told
        yield (
            f"Dask's own code failed in {case.name_of(last['subject'])}, and the worker gave "
            f"up: {short(str(text), 240)}."
        )


def _wanted(case: Case) -> list[str]:
    wanted = []
    if case.run.ending is None:
        wanted.append("how the run ended (the recording breaks off)")
    elif case.exception is None:
        wanted.append("the driver's exception")
    uncertified = sum(
        death.exit_code is None and not death.closing for death in case.deaths
    )
    if uncertified:
        wanted.append(f"the exit codes of {counted(uncertified, 'worker')}")
    if case.raised("KilledWorker") and not case.deaths:
        wanted.append("any trace of the workers' deaths that Dask speaks of")
    if not len(case.run.logs):
        wanted.append("log lines")
    for source, sentences in missing_from(case.run).items():
        wanted.extend(f"{sentence} ({source})" for sentence in sentences[:2])
    return wanted or ["nothing that we know how to record"]


def _last_errors(case: Case) -> Iterator[Evidence]:
    errors = case.run.logs.filter(case.run.logs["level"] >= _ERROR).tail(3)
    for row in errors.iter_rows(named=True):
        yield Evidence(
            text=f"{row['role']} {row['source']}: {short(row['message'], 300)}",
            source="logs",
            at=row["at"].timestamp(),
            see=case.see("logs", "--level", "ERROR"),
        )


UNKNOWN = Rule(
    slug="unknown",
    title="The recording does not say why the run failed",
    question="Why did the run fail, if no other rule knows?",
    severity="failure",
    retry_advice="unknown",
    ask=_ask,
    page=Page(
        detects=(
            "A run failed and no rule found the cause. The finding says what is known, and "
            "what would have had to be recorded to know more. It is never a guess."
        ),
        evidence="Whatever there is: the driver's exception, deaths, the last errors.",
        remedy="Look at the host's own records; complete the recording.",
        before="dask worker … --no-nanny   # nobody sees how it ends",
        after="dask worker …",
    ),
)
