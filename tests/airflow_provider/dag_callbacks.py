"""Has the callback of a DAG's failed run called by Airflow's DAG processor: FILE DAG RUN.

Once with Airflow's minimal context, and once with a failed task in it.
"""

from __future__ import annotations

import selectors
import sys
from pathlib import Path
from uuid import uuid4

import structlog
from airflow.callbacks.callback_requests import DagCallbackRequest, DagRunContext
from airflow.dag_processing.processor import (
    DagFileProcessorProcess,
    in_process_api_server,
)
from airflow.models.dagrun import DagRun
from airflow.sdk.api.client import Client
from airflow.utils.session import create_session
from sqlalchemy import select

__all__ = ["main"]


def main(file: Path, dag_id: str, run_id: str) -> None:
    """Call it."""
    transport = in_process_api_server().transport
    client = Client(base_url=None, token="", dry_run=True, transport=transport)
    client.base_url = "http://in-process.invalid./"
    requests = []
    with create_session() as session:
        run = session.scalar(select(DagRun).where(DagRun.run_id == run_id))
        assert run is not None
        last = next(ti for ti in run.get_task_instances() if ti.state == "failed")
        for ti in (None, last):
            known = DagRunContext(dag_run=run, last_ti=ti)
            requests.append(
                DagCallbackRequest(
                    filepath=file.name,
                    dag_id=dag_id,
                    run_id=run_id,
                    bundle_name="tests",
                    bundle_version=None,
                    is_failure_callback=True,
                    msg="task_failure",
                    context_from_server=known,
                )
            )
    process = DagFileProcessorProcess.start(
        id=uuid4(),
        path=file,
        bundle_path=file.parent,
        bundle_name="tests",
        dag_file_rel_path=file.name,
        callbacks=list(requests),
        selector=selectors.DefaultSelector(),
        logger=structlog.get_logger(),
        logger_filehandle=file.with_suffix(".log").open("wb"),
        client=client,
    )
    while not process.is_ready:
        process._service_subprocess(1.0)
    process.close()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
