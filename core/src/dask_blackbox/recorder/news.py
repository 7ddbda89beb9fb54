"""What is new about a job with a run that has ended: whether anybody should know."""

from __future__ import annotations

from collections.abc import Sequence

from dask_blackbox.analyse import History
from dask_blackbox.card_data import CardData
from dask_blackbox.finding import WORSE
from dask_blackbox.job_history import EarlierAttempt
from dask_blackbox.layout import STOPPED_BY_HOST


def news_of(card: CardData, history: History | None) -> str:
    """Return what is new about the job with this run: `failed`, `recovered`, `worse`, or nothing.

    A retry that failed as the attempt before it did is no news, and neither is a run that its
    host or a person ended.

    Args:
        history: The runs of the job before it; None: not known.
    """
    if card.state == "succeeded":
        before = () if history is None else (*reversed(history.tries), *history.names)
        judged = [each for each in before if not each.stopped]
        if judged and judged[0].state != "succeeded":
            return "recovered"
        return "worse" if any(each.rule in WORSE for each in card.findings) else ""
    if card.verdict is not None and card.verdict.rule == STOPPED_BY_HOST:
        return ""
    attempts: Sequence[EarlierAttempt] = () if card.past is None else card.past.attempts
    return "" if attempts and attempts[-1].same_failure else "failed"
