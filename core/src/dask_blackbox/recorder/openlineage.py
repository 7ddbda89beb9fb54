"""Sends a run to a service of OpenLineage, by its official client, when the run has ended."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dask_blackbox.card import RunCard, without_presigned_links
from dask_blackbox.manifest import Manifest
from dask_blackbox.protocol.messages import OpenLineage
from dask_blackbox.recorder.named_data import DataOfRun
from dask_blackbox.recorder.sending import send_in_time
from dask_blackbox.report.openlineage import FACET, dataset_names, run_facet

if TYPE_CHECKING:
    # An extra: imported where something is sent.
    from openlineage.client.event_v2 import Job, Run, RunEvent

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


def _send(
    to: OpenLineage, manifest: Manifest, card: RunCard, data: DataOfRun
) -> list[str]:
    client = _client(to.url)
    try:
        for event in _events(to, manifest, card, data):
            client.emit(event)
    finally:
        client.close(_TIMEOUT)
    return []


def _client(url: str | None) -> Any:
    from openlineage.client import OpenLineageClient

    if url is None:
        return OpenLineageClient()
    http = {"type": "http", "url": url, "timeout": _TIMEOUT}
    return OpenLineageClient(
        config={"transport": http | {"retry": {"total": _ATTEMPTS}}}
    )


def _events(
    to: OpenLineage, manifest: Manifest, card: RunCard, data: DataOfRun
) -> list[RunEvent]:
    """Return how a run began and how it ended, each with its own time."""
    from openlineage.client.event_v2 import (
        InputDataset,
        OutputDataset,
        RunEvent,
        RunState,
    )

    started = manifest.started
    stopped = started + max(0.0, float(card.numbers.get("duration", 0.0)))
    end = RunState[_ENDS.get(card.state, "FAIL")]
    job = _job(to, card)
    run = _run(to, manifest, card)
    return [
        RunEvent(
            eventType=kind,
            eventTime=datetime.fromtimestamp(at, UTC).isoformat(),
            run=run,
            job=job,
            producer=_PRODUCER,
            inputs=[InputDataset(*each) for each in dataset_names(data.reads)],
            outputs=[OutputDataset(*each) for each in dataset_names(data.writes)],
        )
        for kind, at in ((RunState.START, started), (end, stopped))
    ]


def _job(to: OpenLineage, card: RunCard) -> Job:
    from openlineage.client.event_v2 import Job
    from openlineage.client.facet_v2 import job_type_job

    kind = job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration="DASK", jobType="JOB"
    )
    return Job(namespace=to.namespace, name=card.job, facets={"jobType": kind})


def _run(to: OpenLineage, manifest: Manifest, card: RunCard) -> Run:
    from openlineage.client.event_v2 import Run
    from openlineage.client.facet_v2 import (
        error_message_run,
        parent_run,
        processing_engine_run,
    )
    from openlineage.client.uuid import generate_static_uuid

    began = datetime.fromtimestamp(manifest.started, UTC)
    links = without_presigned_links(card).links
    facets: dict[str, Any] = {
        FACET: run_facet(card, links.get("report") or links.get("recording", "")),
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=version("distributed"),
            name="Dask",
            openlineageAdapterVersion=version("dask-blackbox"),
        ),
    }
    if card.state != "succeeded":
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            message=card.headline, programmingLanguage="python"
        )
    if to.parent:
        namespace, name, run_id = to.parent.rsplit("/", 2)
        facets["parent"] = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=run_id),
            job=parent_run.Job(namespace=namespace, name=name),
        )
    # The same recording has the same id whoever sends it.
    run_id = str(generate_static_uuid(began, manifest.recording.encode()))
    return Run(runId=run_id, facets=facets)
