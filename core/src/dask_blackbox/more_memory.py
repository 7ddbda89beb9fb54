"""`on_memory=`: more memory for the next attempt, if the verdict on the one before was memory.

on_memory={"memory_limit": "x2", "most": "16 GiB"}

An argument of the cluster is multiplied, and is what the verdict asks for if that is more.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.patterns import bounded

if TYPE_CHECKING:
    # It needs msgspec, which a DAG file does not import.
    from dask_blackbox.card import RunCard

__all__ = ["Growth", "MoreMemory"]

_MOST: Final = "most"
_FACTOR: Final = bounded(r"[\u00d7xX*] ?(\d{1,3}(?:\.\d{1,3})?)")
_SIZE: Final = bounded(r"\d{1,15}(?:\.\d{1,6})? ?(?:[kKMGTP]i?)?B?")
_MIB: Final = 1 << 20
_EXAMPLE: Final = (
    "write the cluster's argument and its limit, as in "
    "on_memory={'memory_limit': 'x2', 'most': '16 GiB'}"
)


class Growth(NamedTuple):
    """What an attempt gets instead of what was given.

    Attributes:
        arguments: Of the cluster; empty: as they were given.
        attempt: Number of the last attempt that failed of memory; 0: none did.
        text: What changed and the limit, for a log line; empty: nothing changed.
    """

    arguments: dict[str, str]
    attempt: int
    text: str


class MoreMemory(NamedTuple):
    """How the memory of a cluster's workers grows.

    Attributes:
        argument: Of the cluster: `memory_limit` of a `LocalCluster`.
        factor: What it is multiplied by for each attempt that failed of memory.
        most: The most that a worker may have, as Dask reads sizes.
    """

    argument: str
    factor: float
    most: str

    @classmethod
    def of(cls, given: object, cluster: object = None) -> MoreMemory | None:
        """Return what `on_memory=` asks for; None: nothing.

        Args:
            given: The argument, as the user wrote it.
            cluster: The cluster that is named beside it; an address is one that exists.

        Raises:
            ConfigurationError: if it cannot work, with what would.
        """
        if given is None:
            return None
        names = (
            [name for name in given if name != _MOST]
            if isinstance(given, Mapping)
            else []
        )
        if not isinstance(given, Mapping) or len(names) != 1 or _MOST not in given:
            raise ConfigurationError(f"on_memory= is {given!r}; {_EXAMPLE}")
        (argument,) = names
        factor = _FACTOR.fullmatch(str(given[argument]).strip())
        if factor is None or float(factor[1]) <= 1:
            raise ConfigurationError(
                f"on_memory= has {argument}={given[argument]!r}, which is no factor above "
                f"1; {_EXAMPLE}"
            )
        if not _SIZE.fullmatch(str(given[_MOST]).strip()):
            raise ConfigurationError(
                f"on_memory= has most={given[_MOST]!r}, which is no size; {_EXAMPLE}"
            )
        if isinstance(cluster, str) and "{" not in cluster:
            raise ConfigurationError(
                f"on_memory= is for a cluster that is started for each attempt, and the "
                f"one at {cluster!r} already exists; remove on_memory="
            )
        return cls(argument, float(factor[1]), str(given[_MOST]))

    def grown(
        self, arguments: Mapping[str, Any], earlier: Mapping[int, RunCard | None]
    ) -> Growth:
        """Return the memory that the next attempt needs.

        Args:
            arguments: All arguments of the cluster, as given.
            earlier: The cards of the attempts before, by number, the first first; None:
                that one was not recorded.
        """
        from dask.utils import parse_bytes

        from dask_blackbox.formatting import size

        most = int(parse_bytes(self.most))
        given = arguments.get(self.argument)
        now, last = _bytes_of(given), 0
        for number, card in earlier.items():
            verdict = None if card is None else card.verdict
            if card is None or verdict is None or verdict.retry_advice != "memory":
                continue
            had = now or int(card.numbers.get("memory_limit") or 0)
            wanted = max(had * self.factor, verdict.worker_memory or 0)
            if wanted:
                now, last = max(had, min(ceil(wanted), most)), number
        if not last:
            return Growth({}, 0, "")
        limit = f"; on_memory= allows no more than {self.most}" if now >= most else ""
        text = f"{self.argument}={size(now)} instead of {given!r}{limit}"
        return Growth({self.argument: f"{ceil(now / _MIB)} MiB"}, last, text)


def _bytes_of(limit: object) -> int:
    """Return a limit in bytes; 0 where Dask works it out itself ("auto", a share)."""
    from dask.utils import parse_bytes

    if isinstance(limit, str):
        try:
            return int(parse_bytes(limit))
        except ValueError:
            return 0
    return int(limit) if isinstance(limit, int) and limit > 1 else 0
