"""The final cards of the flow runs of this process, for their hooks and their parents."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from dask_blackbox import RunCard

__all__ = ["forget_card", "keep_card", "kept_card"]

_MOST = 20
_kept: OrderedDict[UUID, RunCard] = OrderedDict()


def keep_card(flow_run_id: UUID, card: RunCard) -> None:
    """Keep the card of the newest attempt of a flow run; of many, the newest ones."""
    _kept[flow_run_id] = card
    _kept.move_to_end(flow_run_id)
    while len(_kept) > _MOST:
        _kept.popitem(last=False)


def kept_card(flow_run_id: UUID) -> RunCard | None:
    """Return the card of a flow run of this process."""
    return _kept.get(flow_run_id)


def forget_card(flow_run_id: UUID) -> None:
    """Forget the card of a flow run: what is recorded of it counts."""
    _kept.pop(flow_run_id, None)
