"""The processes of a round of the fuzzer, and what really happened to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzz_draws import Round
from kill_checks import reported_in
from scenario_runs import Home

__all__ = ["Deed", "Truth", "role_of", "roles_in"]


@dataclass(frozen=True)
class Deed:
    """What was done to one process.

    Attributes:
        at: Epoch seconds.
        role: Of the process.
        pid: Of the process.
        how: Signal, by name.
    """

    at: float
    role: str
    pid: int
    how: str


@dataclass
class Truth:
    """What really happened in a round.

    Attributes:
        round: Which.
        home: Where its processes lived.
        store: URL or folder.
        settings: How that is reached.
        deeds: What was done, in its order.
        code: Exit code of what the user had started; None if it was ended with all.
        took: Seconds from the driver's last word to the end of its process.
        hung: Whether the host had to end it.
        errors: What it wrote to standard error.
        roles: All processes that were ever seen, by id.
    """

    round: Round
    home: Home
    store: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    deeds: list[Deed] = field(default_factory=list)
    code: int | None = None
    ended: float = 0.0
    hung: bool = False
    errors: str = ""
    roles: dict[int, str] = field(default_factory=dict)

    @property
    def reported(self) -> dict[str, Any]:
        """What the driver reported."""
        return reported_in(self.home)

    def done_to(self, *roles: str) -> list[Deed]:
        """Return what was done to processes of these roles."""
        return [deed for deed in self.deeds if deed.role in roles]


_ROLES = (
    # The first that fits.
    ("recorder", ("dask_blackbox.recorder",)),
    ("other", ("resource_tracker", " -c \nimport pickle")),
    ("runner", ("blackbox run",)),
    ("attacher", ("blackbox record",)),
    ("driver", ("fuzzed.py",)),
    ("worker", ("spawn_main", "--no-nanny", "one-process")),
    ("nanny", ("dask worker ", "distributed.Nanny")),
    ("scheduler", ("dask scheduler", "distributed.Scheduler", "elsewhere.py")),
)


def role_of(command: str) -> str:
    """Return what a process of a home is, by its command line."""
    return next(
        (role for role, marks in _ROLES if any(mark in command for mark in marks)),
        "other",
    )


def roles_in(home: Home) -> dict[int, str]:
    """Return who lives in a home."""
    return {pid: role_of(command) for pid, command in home.processes().items()}
