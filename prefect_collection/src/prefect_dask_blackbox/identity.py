"""The identity of a flow run: job, run and attempt of its recording."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING
from uuid import UUID

import certifi
from dask_blackbox.guard import guard
from dask_blackbox.identity import Identity
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import get_current_settings
from prefect.utilities.urls import url_for

from prefect_dask_blackbox.retried_requests import RetriedRequests

if TYPE_CHECKING:
    # Host types that only describe arguments.
    from prefect.client.schemas.objects import FlowRun

__all__ = [
    "client_or_new",
    "for_reader",
    "identity_of",
    "page_of",
    "page_of_artifact",
    "prefect_client",
]

_TIMEOUT = 10.0
"""Seconds that a request to Prefect's API may take before we go on without it."""


def prefect_client(timeout: float = _TIMEOUT) -> SyncPrefectClient:
    """Return a client of Prefect's API that does not wait for long; close it after use.

    Args:
        timeout: Seconds that a request may take.
    """
    known = get_current_settings().api
    settings = {
        "timeout": timeout,
        "auth": RetriedRequests(),
        "verify": _tls(known.ssl_cert_file, bool(known.tls_insecure_skip_verify)),
    }
    return get_client(httpx_settings=settings, sync_client=True)


@cache
def _tls(cert_file: str | None, insecure: bool) -> ssl.SSLContext:  # noqa: FBT001 - private, one caller
    """Return the TLS context that Prefect would make for each client.

    Reading all certificates is most of what a client costs: 20 of 22 ms of CPU.
    """
    if insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    return ssl.create_default_context(cafile=cert_file or certifi.where())


@contextmanager
def client_or_new(client: SyncPrefectClient | None) -> Iterator[SyncPrefectClient]:
    """Use the client that there is, and leave it open; else one of our own."""
    if client is not None:
        yield client
        return
    with prefect_client() as made:
        yield made


def page_of(kind: str, identity: UUID) -> str:
    """Return the address of a page in Prefect's UI; empty where there is none.

    Args:
        kind: `flow-run` or `task-run`.
        identity: Of the run.
    """
    found: str | None = None
    with guard("the address of a page in Prefect"):
        found = url_for(kind, obj_id=identity)
    return found or ""


def page_of_artifact(flow_run_id: UUID, artifact_id: UUID) -> str:
    """Return the address of an artifact's page; empty where there is none.

    Prefect's own function for addresses knows none of artifacts.
    """
    base, found, _ = page_of("flow-run", flow_run_id).partition("/runs/flow-run/")
    return f"{base}/artifacts/artifact/{artifact_id}" if found else ""


def for_reader(page: str) -> str:
    """Return Markdown whose links to Prefect's pages open for whoever reads it.

    The address of the UI that is inferred from the API's is right where the flow runs,
    which may be in a cluster; on a page of the UI itself, links need none. They are relative
    to that page: all that show Markdown are two levels below the UI's own address, which is
    another one for the second UI, and behind a gateway.
    """
    known = get_current_settings()
    base = (known.ui_url or "").rstrip("/")
    given = "ui_url" in known.model_fields_set
    if given or not base or base.startswith(known.cloud.ui_url or base):
        return page
    for kind in ("runs", "artifacts"):
        page = page.replace(f"](<{base}/{kind}/", f"](<../../{kind}/")
    return page


def identity_of(flow_run: FlowRun, flow_name: str, job: str | None) -> Identity:
    """Return who this run is.

    Args:
        flow_run: The flow run.
        flow_name: Its flow's name.
        job: What the user calls the job; None: `<flow>` or `<flow>.<deployment>`.
    """
    deployment = _deployment_name(flow_run)
    usual = f"{flow_name}.{deployment}" if deployment else flow_name
    host = {
        "kind": "prefect",
        "flow_run_id": str(flow_run.id),
        "flow_run_name": flow_run.name,
        "flow_name": flow_name,
        "deployment": deployment,
    }
    with guard("the flow run's address"):
        host["url"] = url_for(flow_run)
    return Identity(
        job=job or usual,
        run_id=str(flow_run.id),
        attempt=max(1, flow_run.run_count or 1),
        host={name: value for name, value in host.items() if value},
    )


def _deployment_name(flow_run: FlowRun) -> str | None:
    name: str | None = None
    if flow_run.deployment_id is not None:
        with guard("the deployment's name"), prefect_client() as client:
            name = client.read_deployment(flow_run.deployment_id).name
    return name
