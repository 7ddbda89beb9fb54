"""What an identity is: job, run, attempt and host of a run."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import msgspec

from dask_blackbox.manifest import HostFact
from dask_blackbox.patterns import bounded

_PASSWORD = bounded(r"//[^/@\s]*@")
_LINK = bounded(r"https?://[^\s/]{1,300}(?:/\S{0,2000})?")


class Identity(msgspec.Struct, kw_only=True, frozen=True):
    """Job, run, attempt and host of a run.

    Attributes:
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of that run, from 1.
        host: What started the run: `kind` (airflow, prefect, github, shell, …), `url` of
            its page where the environment has it, `job_from` if the host does not name the
            job, `within` for the schedulers around it, and whatever else names it there.
    """

    job: str
    run_id: str
    attempt: int = 1
    host: dict[str, HostFact] = {}


def filled(**facts: str | None) -> dict[str, HostFact]:
    """Return the facts that are known, without passwords in URLs."""
    return {name: _PASSWORD.sub("//", fact) for name, fact in facts.items() if fact}


def link(text: str | None) -> str | None:
    """Return the address of a page, if it is one that a browser opens as a page."""
    return text if text and _LINK.fullmatch(text) else None


def joined(*parts: str | None) -> str:
    """Return the known parts joined by dots, without repetitions."""
    return ".".join(dict.fromkeys(part for part in parts if part))


def fresh_run_id() -> str:
    """Return an id for a run without one: `2026-11-21T03-00-07Z-4f2a`.

    It sorts by time; two runs of one second differ.
    """
    return f"{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}-{secrets.token_hex(2)}"
