"""Where no host is known: a shell, cron, a notebook."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePath

from dask_blackbox.identity.identity import Identity, filled, script_of

__all__ = ["fresh_run_id", "from_shell"]


def fresh_run_id() -> str:
    """Return a name for a run that nobody has named: `2026-11-21T03-00-07Z-4f2a`.

    It sorts by time, and two runs of one second don't meet.
    """
    return f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{secrets.token_hex(2)}"


def from_shell(environ: Mapping[str, str], argv: Sequence[str]) -> Identity:
    """Name the job after the script or the notebook, and the run after its moment."""
    script = script_of(argv)
    notebook = environ.get("JPY_SESSION_NAME")
    kernel = script == "ipykernel_launcher"
    if kernel:
        script = PurePath(notebook).stem if notebook else "notebook"
    return Identity(
        job=script or "python",
        run_id=fresh_run_id(),
        host=filled(
            kind="notebook" if kernel else "shell",
            user=environ.get("USER") or environ.get("LOGNAME"),
        ),
    )
