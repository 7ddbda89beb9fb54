"""Was a whole collection to be gathered on one worker?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dask.utils import parse_bytes

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import short, size
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["RESULT_TOO_LARGE"]

_REFUSED = re.compile(
    r"Task '?(?P<key>.+?)'? has (?P<inputs>[\d.]+ \w+) worth of input dependencies, "
    r"but worker (?P<worker>\S+) has memory_limit set to (?P<limit>[\d.]+ \w+)"
)


def _ask(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    texts = [failure.message] if failure is not None else []
    if case.exception is not None:
        texts.append(case.exception.message)
    refused = next(filter(None, map(_REFUSED.search, texts)), None)
    if not case.failed or refused is None:
        return
    key, inputs, limit = refused["key"], refused["inputs"], refused["limit"]
    yield RESULT_TOO_LARGE.found(
        f"A result of {inputs} was to be gathered on a worker of {limit}",
        cause=(
            f"The scheduler refused to run '{short(key, 80)}': its inputs are {inputs}, and "
            f"{case.name_of(refused['worker'])} has a memory limit of {limit}. That is "
            "`compute()` on a whole collection, `repartition` to one, or a task that takes "
            f"all pieces at once{_asked_at(case)}."
        ),
        remedy=(
            "Write the result from the workers (`to_parquet`, `to_zarr`) or reduce it before "
            f"compute(). If it must come to one place, that worker (and the driver) needs "
            f"well over {inputs}: give it {size(2 * parse_bytes(inputs.replace(' ', '')))}, "
            "for the pieces and for the whole."
        ),
        confidence="high",
        subject=Subject(key=key, prefix=case.prefix_of(key), worker=refused["worker"]),
        evidence=(
            Evidence(
                text=short(refused[0], 400),
                source="errors",
                at=failure.at if failure is not None else None,
            ),
            *case.exception_evidence(),
        ),
    )


def _asked_at(case: Case) -> str:
    exception = case.exception
    if exception is None or not exception.file:
        return ""
    return f"; it was asked for at {exception.file}:{exception.line}"


RESULT_TOO_LARGE = Rule(
    slug="result-too-large",
    title="A result was too large for one worker",
    question="Did the scheduler refuse a task whose inputs exceed a worker's memory?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "`compute()` on a whole collection asks one worker to put all pieces together; "
            "the scheduler refuses if they exceed its memory limit."
        ),
        evidence="The scheduler's own sentence, which names the key, the bytes and the limit.",
        remedy="Write from the workers, or reduce first.",
        before="frame = ddf.compute()",
        after='ddf.to_parquet("s3://bucket/result/")',
    ),
)
