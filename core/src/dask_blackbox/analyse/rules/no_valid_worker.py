"""Was there no worker on which a task could have run?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, short
from dask_blackbox.finding import Finding, Subject

__all__ = ["NO_VALID_WORKER"]

_SAID = r"Attempted to run task '?(?P<key>.+?)'? but timed out after (?P<waited>[\d.]+ ?\w+) waiting"


def _ask(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    named = failure is not None and class_of(failure.exception) in (
        "NoWorkerError",
        "NoValidWorkerError",
    )
    if not case.failed or not (
        named or case.raised("NoWorkerError", "NoValidWorkerError")
    ):
        return
    said = case.said(_SAID)
    text = case.exception.message if case.exception is not None else ""
    text = failure.message if failure is not None and not text else text
    key = said["key"] if said else (failure.key if failure else None)
    restricted = "restriction" in text
    what = f"'{short(key, 80)}'" if key else "a task"
    yield NO_VALID_WORKER.found(
        f"No worker could run {what}",
        cause=(
            f"{short(text, 500)}"
            if text
            else f"{what} waited for a worker, and none came that could run it."
        ),
        remedy=(
            "Start workers that have what the task asks for (`--resources`, names, hosts), "
            "or drop the restriction (`workers=`, `resources=`, `dask.annotate`)."
            if restricted
            else "Start workers, or find out why they left; see the deaths in this recording."
        ),
        confidence="high",
        subject=Subject(key=key, prefix=case.prefix_of(key) if key else None),
        evidence=case.exception_evidence(),
    )


NO_VALID_WORKER = Rule(
    slug="no-valid-worker",
    title="No worker could run a task",
    question="Did a task wait in vain for a worker that satisfies its restrictions?",
    severity="failure",
    retry_advice="environment",
    ask=_ask,
    page=Page(
        detects=(
            "A task asks for a worker, host or resource that no worker has, or there are no "
            "workers at all, for longer than `no-workers-timeout`."
        ),
        evidence="Dask's own exception, which names the task and its restrictions.",
        remedy="Start such workers, or drop the restriction.",
        before='client.submit(train, resources={"GPU": 1})   # no worker has a GPU',
        after='dask worker … --resources "GPU=1"',
    ),
)
