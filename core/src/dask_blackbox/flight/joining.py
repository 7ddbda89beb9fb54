"""Putting capture on a cluster, through a client."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from dask_blackbox.record.orders import Attach
from dask_blackbox.settings import setting, setting_bytes, setting_seconds

__all__ = ["install", "install_now"]

_INSTALLING = 15.0
_SECURITY = (
    "require_encryption",
    "tls_ca_file",
    "tls_ciphers",
    "tls_client_cert",
    "tls_client_key",
)


async def install(client: Any, recording: str, *, everything: bool = False) -> Attach:
    """Register our plugins on the client's cluster; return how the recorder reaches it.

    Args:
        client: A connected `distributed.Client`, on whose loop this runs.
        recording: Id of the recording.
        everything: Record the tasks of all clients, not only of this one.

    Raises:
        Exception: whatever the cluster answers; TimeoutError if it does not.
    """
    from dask_blackbox.capture.ship import ShippedScheduler, shipped

    # One per recording and scheduler: a second client of the same recording finds it.
    tap = f"dask-blackbox-{recording}"
    plugin = ShippedScheduler(
        tap,
        {
            "name": tap,
            "recording": recording,
            "client": None if everything else client.id,
            "worker": shipped(
                "worker",
                "WorkerCapture",
                {
                    "name": tap,
                    "recording": recording,
                    "ring_bytes": setting_bytes("capture.ring"),
                    "stdout": bool(setting("capture.stdout")),
                },
            ),
            "nanny": shipped(
                "nanny", "NannyCapture", {"name": tap, "recording": recording}
            ),
            "limit": int(setting("capture.buffer")),
            "metrics_interval": setting_seconds("capture.metrics-interval"),
            "stall_after": setting_seconds("stall.after"),
            "stall_end": setting_seconds("stall.end-run"),
        },
    )
    async with asyncio.timeout(_INSTALLING):
        await client._register_scheduler_plugin(plugin, name=tap, idempotent=True)  # noqa: SLF001
        address = await getattr(client.scheduler, f"{tap}-join")(
            client=None if everything else client.id
        )
    return Attach(
        address=str(address),
        tap=tap,
        security=_security_of(client),
        pid=os.getpid(),
    )


def install_now(client: Any, recording: str, *, everything: bool = False) -> Attach:
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


def _security_of(client: Any) -> dict[str, Any]:
    security = getattr(client, "security", None)
    values = ((name, getattr(security, name, None)) for name in _SECURITY)
    return {name: value for name, value in values if value}
