"""Does the recording lack something?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import listed
from dask_blackbox.finding import Evidence, Finding

__all__ = ["RECORDING_INCOMPLETE"]


def _ask(case: Case) -> Iterator[Finding]:
    missing = {} if case.state == "running" else missing_from(case.run)
    if not missing:
        return
    sentences = [
        f"{source}: {sentence}" for source, each in missing.items() for sentence in each
    ]
    yield RECORDING_INCOMPLETE.found(
        f"The recording lacks something of {listed(list(missing))}",
        cause=f"{listed(sentences, most=6)}.",
        remedy=(
            "What other findings say is right as far as it goes; what is missing may hide "
            "more. For dropped rows, raise `blackbox.capture.buffer` or pull more often "
            "(`blackbox.capture.interval`)."
        ),
        confidence="high",
        evidence=tuple(
            Evidence(text=sentence, source="events") for sentence in sentences[:10]
        ),
    )


RECORDING_INCOMPLETE = Rule(
    slug="recording-incomplete",
    title="The recording lacks something",
    question="Is anything missing from the recording?",
    severity="notice",
    ask=_ask,
    page=Page(
        detects=(
            "Rows were dropped, batches never came, segments are damaged, or a part of capture "
            "failed. Each is named with its source."
        ),
        evidence=(
            "The completeness certificate at the end of the recording: sequence numbers, "
            "counts of dropped rows, checksums."
        ),
        remedy="Raise the buffer, or pull more often.",
        before="blackbox:\n  capture:\n    buffer: 1000",
        after="blackbox:\n  capture:\n    buffer: 200000",
    ),
)
