"""Sends a run to a service of OpenLineage, by its official client, when the run has ended."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dask_blackbox.card import RunCard, without_presigned_links
from dask_blackbox.layout import STOPPED_BY_HOST
from dask_blackbox.manifest import Manifest
from dask_blackbox.protocol.messages import HostLineage, OpenLineage
from dask_blackbox.recorder.named_data import DataOfRun
from dask_blackbox.recorder.sending import send_in_time
from dask_blackbox.report.openlineage import FACET, dataset_names, run_facet

if TYPE_CHECKING:
    # An extra: imported where something is sent.
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

_PRODUCER = "https://github.com/dask-blackbox/dask-blackbox"
_TIMEOUT = 5.0  # seconds for one request
_ATTEMPTS = 2
_ENDS = {"succeeded": "COMPLETE", "aborted": "ABORT", "lost": "ABORT"}
"""The last event, by the state of a run; `FAIL` for any other."""


def send_lineage(
    to: OpenLineage, manifest: Manifest, card: RunCard, data: DataOfRun | None = None
) -> list[str]:
    """Send the events of a run that has ended; return what could not be sent, and log it.

    Args:
        to: Where to.
        manifest: Of the run.
        card: Of the run.
        data: What it has read and written.
    """
    data = DataOfRun() if data is None else data
    return send_in_time("OpenLineage's event", partial(_send, to, manifest, card, data))


def complete_host_run(
    to: HostLineage,
    manifest: Manifest,
    card: RunCard,
    data: DataOfRun,
    *,
    stopped: bool,
) -> list[str]:
    """Send what the host's own run lacks, as its process was stopped or killed.

    Who stopped it also says how it ended, and this adds to that; else nobody may say it.

    Args:
        to: The run, and where it is.
        manifest: Of the recording.
        card: Of the recording.
        data: What the run has read and written.
        stopped: Whether the host or a person stopped it.

    Returns:
        What could not be sent; it is logged, too.
    """
    of_host = card.verdict is not None and card.verdict.rule == STOPPED_BY_HOST
    ends = "OTHER" if stopped or of_host else "ABORT"
    sending = partial(_send_host_event, to, manifest, card, data, ends)
    return send_in_time("OpenLineage's event of the host's run", sending)


def _send(
    to: OpenLineage, manifest: Manifest, card: RunCard, data: DataOfRun
) -> list[str]:
    from openlineage.client.event_v2 import RunState

    http = {"type": "http", "url": to.url, "timeout": _TIMEOUT}
    transport = http | {"retry": {"total": _ATTEMPTS}}
    run, job = _run(to, manifest, card), _job(to, card)
    end = RunState[_ENDS.get(card.state, "FAIL")]
    _emit(
        None if to.url is None else {"transport": transport},
        _event(RunState.START, manifest.started, run, job, data),
        _event(end, _ended(manifest, card), run, job, data),
    )
    return []


def _send_host_event(
    to: HostLineage, manifest: Manifest, card: RunCard, data: DataOfRun, ends: str
) -> list[str]:
    from openlineage.client.event_v2 import Job, Run, RunState

    # The host's own event has the other facets, and its error where it says how it ended.
    facets = {FACET: run_facet(card, to.report)} | (
        _error(card) if ends == "ABORT" else {}
    )
    run = Run(runId=to.run_id, facets=facets)
    job = Job(namespace=to.namespace, name=to.job)
    event = _event(RunState[ends], _ended(manifest, card), run, job, data)
    _emit(to.settings, event)
    return []


def _emit(settings: dict[str, Any] | None, *events: RunEvent) -> None:
    """Send events; without settings, to where the client's own variables and files say."""
    from openlineage.client import OpenLineageClient

    client = OpenLineageClient(config=settings) if settings else OpenLineageClient()
    try:
        for event in events:
            client.emit(event)
    finally:
        client.close(_TIMEOUT)


def _ended(manifest: Manifest, card: RunCard) -> float:
    return manifest.started + max(0.0, float(card.numbers.get("duration", 0.0)))


def _event(kind: RunState, at: float, run: Run, job: Job, data: DataOfRun) -> RunEvent:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

    return RunEvent(
        eventType=kind,
        eventTime=datetime.fromtimestamp(at, UTC).isoformat(),
        run=run,
        job=job,
        producer=_PRODUCER,
        inputs=[InputDataset(*each) for each in dataset_names(data.reads)],
        outputs=[OutputDataset(*each) for each in dataset_names(data.writes)],
    )


def _job(to: OpenLineage, card: RunCard) -> Job:
    from openlineage.client.event_v2 import Job
    from openlineage.client.facet_v2 import job_type_job

    kind = job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration="DASK", jobType="JOB"
    )
    return Job(namespace=to.namespace, name=card.job, facets={"jobType": kind})


def _run(to: OpenLineage, manifest: Manifest, card: RunCard) -> Run:
    from openlineage.client.event_v2 import Run
    from openlineage.client.facet_v2 import parent_run, processing_engine_run
    from openlineage.client.uuid import generate_static_uuid

    began = datetime.fromtimestamp(manifest.started, UTC)
    links = without_presigned_links(card).links
    report = links.get("report") or links.get("recording", "")
    facets: dict[str, Any] = {
        FACET: run_facet(card, report),
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=version("distributed"),
            name="Dask",
            openlineageAdapterVersion=version("dask-blackbox"),
        ),
    }
    if card.state != "succeeded":
        facets |= _error(card)
    if to.parent:
        namespace, name, run_id = to.parent.rsplit("/", 2)
        facets["parent"] = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=run_id),
            job=parent_run.Job(namespace=namespace, name=name),
        )
    # The same recording has the same id whoever sends it.
    run_id = str(generate_static_uuid(began, manifest.recording.encode()))
    return Run(runId=run_id, facets=facets)


def _error(card: RunCard) -> dict[str, Any]:
    from openlineage.client.facet_v2 import error_message_run

    said = error_message_run.ErrorMessageRunFacet(
        message=card.headline, programmingLanguage="python"
    )
    return {"errorMessage": said}
