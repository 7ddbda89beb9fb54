"""`recording`: the context manager around Dask work, on which the hosts are built."""

from __future__ import annotations

import hashlib
import os
import platform
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dask_blackbox.capture.redaction import Redaction
from dask_blackbox.driver.host_task import host_task
from dask_blackbox.driver.session import Recording
from dask_blackbox.identity import Identity, identity_from_environment
from dask_blackbox.manifest import Manifest, host_facts, own_version, since_boot
from dask_blackbox.protocol.messages import Progress
from dask_blackbox.settings import setting

if TYPE_CHECKING:
    # Only describe arguments.
    from distributed import Client


def recording(
    client: Client | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    job: str | None = None,
    run_id: str | None = None,
    attempt: int | None = None,
    host: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    callable: Callable[..., object] | None = None,  # noqa: A002 - the word in Dask's docs
    required: bool | None = None,
    store_settings: Mapping[str, object] | None = None,
    command: Sequence[str] | None = None,
    secrets: Mapping[str, object] | None = None,
    host_environment: Mapping[str, str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    overview: bool = False,
    every_client: bool | None = None,
) -> Recording:
    """Record a run: `with recording(client) as rec: …`, and `rec.card` afterwards.

    The context manager is synchronous and asynchronous; `start` and `finish` do the same.

    Args:
        client: A connected `Client`.  None: every client of this process (`every_client`).
        store: `s3://bucket/prefix` or a folder.  None: the setting `blackbox.store.url`, or
            the user's default folder.
        job: Job name; runs of one job are compared.  None: from the host, or the script's name.
        run_id: Run id within the job.  None: from the host's environment, or a new one.
        attempt: Attempt of that run, from 1; if it exists already, the next one is used.
        host: Facts about the system that started the run.  None: from the environment.
        parameters: Parameters of the run; redacted before they are recorded.
        callable: The function that does the work; its name and a hash are recorded.
        required: Raise if the run cannot be recorded.  None: the setting `blackbox.required`.
        store_settings: Override the settings under `blackbox.store`; same names.
        command: The command whose processes do the work; this process is not recorded.
        secrets: Configuration of the host; values under secret names are masked everywhere.
        host_environment: Environment variables with which the recorder can reach the host
            after the driver has died; never written.
        on_progress: Called every two seconds, in a thread; must not block.
        overview: Make the `overview` that the host's page shows.
        every_client: Record all clients of this process, present and future.  False: only
            those given here or to `attach`.  None: unless `client`, `host` or `command` is given.
    """
    found = identity_from_environment()
    if every_client is None:
        every_client = client is None and host is None and command is None
    return Recording(
        client,
        manifest=_manifest(found, job=job, run_id=run_id, attempt=attempt, host=host),
        store=store,
        store_settings=store_settings,
        parameters=parameters,
        function=callable,
        required=bool(setting("required")) if required is None else required,
        command=command,
        secrets=secrets,
        host_environment=host_environment,
        on_progress=on_progress,
        overview=overview,
        host_task=None if host is not None else host_task(str(found.host.get("kind"))),
        every_client=every_client,
    )


def _manifest(
    found: Identity,
    *,
    job: str | None,
    run_id: str | None,
    attempt: int | None,
    host: Mapping[str, object] | None,
) -> Manifest:
    """Return the manifest of a run that starts now."""
    named = run_id is not None or job is not None
    return Manifest(
        recording=f"{int(time.time()):x}-{uuid.uuid4().hex[:10]}",
        job=_without_secrets(job or found.job),
        run_id=_without_secrets(run_id or found.run_id),
        attempt=attempt or (1 if named else found.attempt),
        started=time.time(),
        since_boot=since_boot(),
        host=found.host if host is None else host_facts(host),
        machine=platform.node(),
        blackbox=own_version(),
    )


def _without_secrets(name: str) -> str:
    """Return the name of a job or run as it may be written; two names stay two."""
    clean = Redaction().text(name)
    if clean == name:
        return name
    return f"{clean}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
