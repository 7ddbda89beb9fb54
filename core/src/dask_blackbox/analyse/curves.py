"""Curves over time that change in steps: how many tasks ran, how many threads there were."""

from __future__ import annotations

import polars as pl

__all__ = ["Curve"]


class Curve:
    """A number that changes at moments and stays between them; 0 before the first.

    Args:
        at: Moments in epoch seconds.
        change: By how much it changes at each.
    """

    def __init__(self, at: pl.Series, change: pl.Series) -> None:
        changes = pl.DataFrame(
            {"at": at.cast(pl.Float64), "change": change.cast(pl.Float64)}
        ).sort("at", maintain_order=True)
        # Of several changes at one moment, the level after the last one counts.
        steps = changes.select("at", level=pl.col("change").cum_sum()).filter(
            (pl.col("at") != pl.col("at").shift(-1)).fill_null(value=True)
        )
        lasts = pl.col("at").diff().fill_null(0.0)
        self.steps = steps.with_columns(
            area=(pl.col("level").shift(1, fill_value=0.0) * lasts).cum_sum()
        )

    @classmethod
    def of_spans(
        cls, start: pl.Series, stop: pl.Series, weight: pl.Series | None = None
    ) -> Curve:
        """Return how many spans (or how much weight) there were at each moment."""
        weights = pl.Series([1.0] * len(start)) if weight is None else weight
        weights = weights.cast(pl.Float64)
        return cls(
            pl.concat([start.cast(pl.Float64), stop.cast(pl.Float64)]),
            pl.concat([weights, -weights]),
        )

    def area(self, until: pl.Series) -> pl.Series:
        """Return the integral from the beginning to each of some moments, in order."""
        asked = pl.DataFrame({"until": until.cast(pl.Float64)})
        joined = asked.join_asof(
            self.steps, left_on="until", right_on="at", strategy="backward"
        )
        reported = joined.select(
            (
                pl.col("area") + pl.col("level") * (pl.col("until") - pl.col("at"))
            ).fill_null(0.0)
        )
        return reported.to_series()

    def between(self, begin: float, end: float) -> float:
        """Return the integral between two moments."""
        first, last = self.area(pl.Series([begin, max(begin, end)]))
        return float(last - first)

    @property
    def highest(self) -> float:
        """The highest level."""
        return float(self.steps["level"].max() or 0.0)  # type: ignore[arg-type]
