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
from dask_blackbox.identity import identity_from_environment
from dask_blackbox.manifest import Manifest, own_version, since_boot
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

    Args:
        client: A connected `distributed.Client`.  None: every client of this process, see
            `every_client`.
        store: Where recordings go: `s3://bucket/prefix` or a folder.  None: the setting
            `blackbox.store.url`, otherwise the user's default folder.
        job: Job name; runs of one job are compared.  None: from the host's environment (Airflow,
            Prefect, CI, a batch system), otherwise the script's name.
        run_id: Run id within the job.  None: from the host's environment, otherwise a new one.
        attempt: Attempt of that run, from 1; if it exists already, the next one is used.
        host: The system that started the run.  None: from the environment.
        parameters: Parameters of the run; redacted before they are recorded.
        callable: The function that does the work; its name, place and a hash of its
            source are recorded.
        required: Raise when the run cannot be recorded, before it starts.  None: the
            setting `blackbox.required`.
        store_settings: Override the settings under `blackbox.store`; same names.
        command: The command that does the work, if other processes do it: this process is
            then not the driver, and nothing of it is recorded.
        secrets: Configuration of the host: values under secret names in it are masked
            wherever they occur.
        host_environment: Environment variables with which the recorder can reach the host
            after the driver has died; never written.
        on_progress: Called with the progress of the run every two seconds, in a thread;
            must not block.
        overview: Make the `overview` that the host's page shows.
        every_client: Record all clients of this process, present and future, until the
            run ends.  False: only those given here or to `attach`.  None: every client,
            unless `client`, `host` or `command` is given.

    Returns:
        A context manager, synchronous and asynchronous; `start` and `finish` are the explicit
        form.
    """
    found = identity_from_environment()
    own_run = run_id is not None or job is not None
    manifest = Manifest(
        recording=f"{int(time.time()):x}-{uuid.uuid4().hex[:10]}",
        job=_without_secrets(job or found.job),
        run_id=_without_secrets(run_id or found.run_id),
        attempt=attempt or (1 if own_run else found.attempt),
        started=time.time(),
        since_boot=since_boot(),
        host=dict(found.host if host is None else host),
        machine=platform.node(),
        blackbox=own_version(),
    )
    return Recording(
        client,
        manifest=manifest,
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
        every_client=every_client
        if every_client is not None
        else client is None and host is None and command is None,
    )


def _without_secrets(name: str) -> str:
    """Return the name of a job or run as it may be written; two names stay two."""
    clean = Redaction().text(name)
    if clean == name:
        return name
    return f"{clean}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
