"""Putting capture on a cluster, through a client."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from dask_blackbox.capture.driver.driver_environment import scheduler_id
from dask_blackbox.capture.masked_values import MASKED, mask_secret
from dask_blackbox.driver.recorder_options import classes_left_out
from dask_blackbox.guard import guard
from dask_blackbox.manifest import ARGUMENTS, LOG_LINES
from dask_blackbox.protocol.messages import Attach, OwnedScheduler
from dask_blackbox.settings import (
    setting,
    setting_bytes,
    setting_patterns,
    setting_seconds,
)

if TYPE_CHECKING:
    from distributed import Client

    from dask_blackbox.capture.shipping import ShippedScheduler

logger = logging.getLogger("dask_blackbox")

_CONNECTING, _INSTALLING = 10.0, 15.0
_PAUSES = (5.0, 20.0, 60.0, 240.0)
"""Seconds before each further attempt to attach a cluster that did not answer in time."""
_LATE = 5.0  # seconds after a recording in which its workers' messages may still arrive
_listening: dict[str, WeakSet[Client]] = {}
"""The clients that listen for values that tasks mask, by recording."""
_installed: deque[tuple[str, str]] = deque(maxlen=100)
"""Recordings and schedulers (their ids) that this process has sent the plugins to."""
_KNOWN_TRANSPORTS = ("tcp", "tls", "ws", "wss", "inproc")
"""What every process that has distributed knows."""
_SECURITY = (
    "require_encryption",
    "tls_ca_file",
    "tls_ciphers",
    "tls_client_cert",
    "tls_client_key",
)


def _bundle_options() -> dict[str, object] | None:
    """Return how workers are to keep failed tasks with their inputs, if they are to."""
    if not setting("capture.values") or ARGUMENTS in classes_left_out():
        return None
    return {
        "limit": setting_bytes("capture.values-limit"),
        "most": int(setting("capture.values-count")),
        "names": setting_patterns("capture.values-redact"),
        "texts": setting_patterns("redact"),
    }


async def install(
    client: Client, recording: str, *, everything: bool = False
) -> Attach:
    """Register our plugins on the client's cluster; return how the recorder reaches it.

    Args:
        client: A connected `distributed.Client`, on whose loop this runs.
        everything: Record the tasks of all clients, not only of this one.

    Raises:
        Exception: whatever the cluster answers; TimeoutError if it does not.
    """
    who = None if everything else client.id
    tap, there = _name_of(recording), (recording, scheduler_id(client))
    async with asyncio.timeout(_INSTALLING):
        join = getattr(client.scheduler, f"{tap}-join")
        # The source of a plugin takes 50 ms to send and load: once for each scheduler.
        address = await join(client=who) if there in _installed else None
        if address is None:  # Dask's answer where our plugin is not there any more
            plugin = _plugin(recording, who)
            await client._register_scheduler_plugin(  # noqa: SLF001
                plugin, name=tap, idempotent=True
            )
            address = await join(client=who)
    if there[1] and there not in _installed:
        _installed.append(there)
    with guard("values that tasks mask"):
        # They are masked in what this process says of them, too.
        topic = f"{tap}{MASKED}"
        client.subscribe_topic(topic, _mask)
        _listening.setdefault(recording, WeakSet()).add(client)
    seen_as = str(getattr(client.scheduler, "address", ""))
    return Attach(
        address=str(address),
        # Within one process, no other process gets there by that way.
        seen_as="" if seen_as.startswith("inproc://") else seen_as,
        tap=tap,
        security=_set_in(getattr(client, "security", None)),
        pid=os.getpid(),
        relays=_may_need_relay(client, seen_as),
    )


def _may_need_relay(client: Client, seen_as: str) -> bool:
    """Return whether it is doubtful that another process can connect as a client does.

    A library may have registered a transport in this process, or have its own class for what
    TLS needs, as dask-gateway has; what else is needed is in `Attach`.
    """
    from distributed.security import Security

    security = getattr(client, "security", None)
    own_security = security is not None and type(security) is not Security
    return own_security or seen_as.partition("://")[0] not in _KNOWN_TRANSPORTS


def attach_later(
    client: Client, attach: Callable[[], object], ended: Callable[[float], bool]
) -> None:
    """Try again, in a thread, to attach a cluster that did not answer in time.

    Args:
        client: Through which; when it has closed, there is nothing to attach.
        attach: Raises if it did not work.
        ended: Waits so many seconds for the end of the recording; returns whether it came.
    """

    def try_again() -> None:
        for pause in _PAUSES:
            if ended(pause) or client.status != "running":
                return
            try:
                attach()
            except Exception as error:  # noqa: BLE001 - whatever the cluster answers
                logger.info("the cluster still does not answer: %r", error)
            else:
                return

    threading.Thread(target=try_again, name="dask-blackbox-attach", daemon=True).start()


def _mask(event: tuple[float, Any]) -> None:
    mask_secret(event[1])


def stop_listening(recording: str) -> None:
    """Remove what `install` has added to the clients of a recording that has ended.

    The scheduler has removed the topic by then.  Not at once: the client would log an error
    for a message without a handler.
    """
    topic = f"{_name_of(recording)}{MASKED}"
    for client in _listening.pop(recording, ()):
        loop = client.loop
        if client.status == "running" and loop is not None:
            handlers = client._event_handlers  # noqa: SLF001 - Dask never removes any
            loop.add_callback(loop.call_later, _LATE, handlers.pop, topic, None)


async def install_at(address: str, security: Any, recording: str) -> Attach:
    """Register our plugins on a cluster without a client, to record every client's work.

    A client of today cannot connect to a scheduler of the year before last; what this
    needs of the scheduler has not changed.

    Args:
        security: A `distributed.Security`.

    Raises:
        OSError: if no scheduler answers there.
        Exception: whatever the cluster answers; TimeoutError if it does not.
    """
    from distributed.comm import connect
    from distributed.core import send_recv
    from distributed.protocol.pickle import dumps

    plugin = _plugin(recording, None)
    args = security.get_connection_args("client")
    comm = await connect(address, timeout=_CONNECTING, **args)
    try:
        async with asyncio.timeout(_INSTALLING):
            await send_recv(
                comm,
                op="register_scheduler_plugin",
                plugin=dumps(plugin),
                name=plugin.name,
                idempotent=True,
            )
            reached = await send_recv(comm, op=f"{plugin.name}-join", client=None)
    finally:
        comm.abort()
    return Attach(
        address=str(reached),
        seen_as=address,
        tap=plugin.name,
        security=_set_in(security),
        pid=os.getpid(),
    )


def _plugin(recording: str, client: str | None) -> ShippedScheduler:
    from dask_blackbox.capture.shipping import ShippedScheduler

    # One per recording and scheduler: a second client of the same recording finds it.
    tap = _name_of(recording)
    worker, nanny = worker_and_nanny(tap, recording)
    config = scheduler_config(tap, recording, client)
    return ShippedScheduler(tap, {**config, "worker": worker, "nanny": nanny})


def _name_of(recording: str) -> str:
    return f"dask-blackbox-{recording}"


def worker_and_nanny(name: str, recording: str) -> tuple[bytes, bytes]:
    """Return the plugins of workers and nannies, pickled and configured by the settings.

    Args:
        name: Of both, and of the topic on which they speak.
    """
    from dask_blackbox.capture.files import working_directory
    from dask_blackbox.capture.shipping import shipped

    worker = {
        "name": name,
        "recording": recording,
        "ring_bytes": setting_bytes("capture.ring"),
        "stdout": bool(setting("capture.stdout")),
        "lines": LOG_LINES not in classes_left_out(),
        "bundles": _bundle_options(),
        "directory": working_directory() or "",
    }
    nanny = {
        "name": name,
        "recording": recording,
        "native_stacks": bool(setting("capture.native-stacks")),
    }
    return (
        shipped("worker.worker", "WorkerCapture", worker),
        shipped("nanny.nanny", "NannyCapture", nanny),
    )


def scheduler_config(name: str, recording: str, client: str | None) -> dict[str, Any]:
    """Return the arguments of `SchedulerCapture`, from the settings.

    Args:
        client: Id of the client that is recorded; None: everything is.
    """
    return {
        "name": name,
        "recording": recording,
        "client": client,
        "limit": int(setting("capture.buffer")),
        "metrics_interval": setting_seconds("capture.metrics-interval"),
        "stall_after": setting_seconds("stall.after"),
        "stall_end": setting_seconds("stall.end-run"),
    }


def install_now(client: Client, recording: str, *, everything: bool = False) -> Attach:
    """As `install`, from a thread that is not the client's loop."""
    attach: Attach = client.sync(
        install,
        client,
        recording,
        everything=everything,
        asynchronous=False,
        callback_timeout=_INSTALLING + 1,
    )
    return attach


def owned_scheduler(cluster: Any) -> OwnedScheduler | None:
    """Return how the recorder reaches the scheduler of a cluster that was just started.

    Args:
        cluster: A `distributed.deploy.Cluster`, or a class with its attributes.

    Returns:
        None: it has no id, or no other process gets to it.
    """
    address = getattr(cluster, "scheduler_address", None)
    known = getattr(cluster, "scheduler_info", None)
    named = known.get("id") if isinstance(known, Mapping) else None
    if not named or not isinstance(address, str) or address.startswith("inproc://"):
        return None
    return OwnedScheduler(
        address=address,
        scheduler=str(named),
        security=_set_in(getattr(cluster, "security", None)),
    )


def _set_in(security: object) -> dict[str, object]:
    values = ((name, getattr(security, name, None)) for name in _SECURITY)
    return {name: value for name, value in values if value}
