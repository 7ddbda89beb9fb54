"""P2P shuffles, as far as a recording knows them: their progress, their restarts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.signatures import printed_by
from dask_blackbox.analyse.signatures.distributed import (
    SHUFFLE_INITIALIZED,
    SHUFFLE_RESTARTED_FOR,
)
from dask_blackbox.events import GraphUpdated, P2PMessage
from dask_blackbox.finding import Evidence
from dask_blackbox.formatting import counted

__all__ = ["Shuffle", "shuffle_behind"]

_TRANSFER = re.compile(r"(?:rechunk|shuffle|merge|join|hash-join).*transfer|transfer")


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """A shuffle that failed.

    Attributes:
        id: Dask's own; None if it is not known.
        kind: `rechunk` or `shuffle`.
        done: How many of its input pieces had been taken in.
        pieces: How many there were; 0 if unknown.
        restarts: How often it had to begin anew.
        restarted_at: When last, epoch seconds.
    """

    id: str | None
    kind: str
    done: int
    pieces: int
    restarts: int
    restarted_at: float | None

    @property
    def named(self) -> str:
        """What to call it at the beginning of a sentence."""
        return f"The {self.kind} {self.id[:8]}" if self.id else f"A {self.kind}"

    @property
    def share(self) -> float | None:
        """How much of its input had been taken in, from 0 to 1; None if unknown."""
        if not self.pieces or not 0 < self.done < self.pieces:
            return None
        return self.done / self.pieces

    def progress(self) -> str:
        """Return a sentence on how far it had come, or nothing."""
        reported = []
        if self.pieces:
            reported.append(
                f"{self.done:,} of {counted(self.pieces, 'piece')} had been received"
            )
        if self.restarts:
            reported.append(f"it had been restarted {counted(self.restarts, 'time')}")
        text = ", and ".join(reported)
        return f"{text[0].upper()}{text[1:]}." if text else ""

    def evidence(self) -> Iterator[Evidence]:
        """Yield what the scheduler said of it."""
        if self.restarts:
            yield Evidence(
                text=f"The shuffle was restarted {counted(self.restarts, 'time')}.",
                source="logs",
                at=self.restarted_at,
            )


def shuffle_behind(case: Case, known: str | None = None) -> Shuffle:
    """Return the shuffle that failed: the one that is named, else the last that failed.

    Args:
        case: The run.
        known: Its id, if an exception names it.
    """
    failed = [fact.message for fact in case.run.of(P2PMessage)]
    ids = [str(each["shuffle"]) for each in failed if each.get("shuffle")]
    own = known or (ids[-1] if ids else None)
    logs = case.run.logs.filter(pl.col("role") == "scheduler")
    restarts = logs.filter(
        printed_by(SHUFFLE_RESTARTED_FOR)
        & (
            pl.lit(own is None)
            | pl.col("message").str.contains(own or "", literal=True)
        )
    )
    prefix = _transfer_prefix(logs, own) or _known_prefix(case)
    at = restarts["at"].max() if len(restarts) else None
    done = case.run.tasks.filter(
        pl.col("prefix").eq_missing(prefix) & (pl.col("outcome") == "finished")
    )
    return Shuffle(
        id=own,
        kind="rechunk" if "rechunk" in (prefix or "") else "shuffle",
        done=done["key"].n_unique(),
        pieces=_pieces(case, prefix),
        restarts=len(restarts),
        restarted_at=at.timestamp() if at is not None else None,  # type: ignore[union-attr]
    )


def _transfer_prefix(logs: pl.DataFrame, own: str | None) -> str | None:
    """Return the prefix of the task that began it."""
    from dask_blackbox.formatting import prefix_of

    for message in reversed(logs["message"].to_list()):
        begun = SHUFFLE_INITIALIZED.search(message)
        if begun and own in (None, begun["id"]):
            return prefix_of(begun["key"])
    return None


def _known_prefix(case: Case) -> str | None:
    for graph in reversed(case.run.of(GraphUpdated)):
        for prefix in graph.prefixes:
            if _TRANSFER.search(prefix):
                return prefix
    return None


def _pieces(case: Case, prefix: str | None) -> int:
    """Return how many tasks of a prefix the newest graph with it has."""
    for graph in reversed(case.run.of(GraphUpdated)):
        number = graph.prefixes.get(prefix or "")
        if number and number > 1:
            return number
    return 0
