"""Scores: counts of judgements, by kind of failure and by confidence, and their table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dask_failures.causes import GROUPS, HEALTHY, NOT_VISIBLE
from dask_failures.judge import CAUSE_RIGHT, Kind

__all__ = ["Result", "Score", "by_group", "table", "written"]

_FALSE = frozenset({"wrong", "warnings"})
_GROUPS = (*GROUPS, NOT_VISIBLE, HEALTHY)
_ALL = "all failed runs"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How one case was answered.

    Attributes:
        case: The name of its set and its own.
        group: Its kind of failure.
        causes: The right answers.
        kind: What the judge says.
        cause: What was answered.
        confidence: How surely.
        problem: What is wrong with the answer.
        text: The beginning of the answer's text.
        seconds: How long the diagnoser took.
    """

    case: str
    group: str
    causes: tuple[str, ...] = ()
    kind: Kind
    cause: str | None = None
    confidence: str = ""
    problem: str = ""
    text: str = ""
    seconds: float = 0.0


class Score(msgspec.Struct, frozen=True):
    """The counts of some results.

    Attributes:
        asked: How many cases.
        cause_right: The cause is right.
        all_right: So are what it must name, and what it must not say.
        wrong_high: The cause is wrong, and was given with high confidence.
        wrong: The cause is wrong, and was not.
        unknown: The diagnoser said that it does not know.
        unanswered: There was no answer.
    """

    asked: int
    cause_right: int
    all_right: int
    wrong_high: int
    wrong: int
    unknown: int
    unanswered: int

    @property
    def points(self) -> float:
        """Points per case, from 1 to -2.

        A right cause is worth 1, an unknown one and no answer 0, a wrong one -1, and -2 if it
        was given with high confidence.
        """
        points = self.cause_right - self.wrong - 2 * self.wrong_high
        return points / self.asked if self.asked else 0.0


def score_of(results: Iterable[Result]) -> Score:
    """Count results."""
    found = list(results)
    kinds = Counter[str](each.kind for each in found)
    false = [each for each in found if each.kind in _FALSE]
    sure = sum(each.confidence == "high" for each in false)
    right = sum(each.kind in CAUSE_RIGHT for each in found) + kinds["missing"]
    return Score(
        asked=len(found),
        cause_right=right,
        all_right=kinds["right"],
        wrong_high=sure,
        wrong=len(false) - sure,
        unknown=kinds["unknown"],
        unanswered=kinds["no answer"],
    )


def by_group(results: Sequence[Result]) -> dict[str, Score]:
    """Return the score of each kind of failure that occurs, and of all failed runs."""
    found = {
        group: [each for each in results if each.group == group] for group in _GROUPS
    }
    failed = [each for each in results if each.group != HEALTHY]
    scores = {group: score_of(mine) for group, mine in found.items() if mine}
    return {_ALL: score_of(failed), **scores}


def table(columns: Mapping[str, Sequence[Result]]) -> str:
    """Return the table of several diagnosers, as Markdown: a column for each.

    Args:
        columns: The results of each, by its name.
    """
    scores = {name: by_group(results) for name, results in columns.items()}
    groups = list(dict.fromkeys(group for each in scores.values() for group in each))
    groups.sort(key=[_ALL, *_GROUPS].index)
    lines = [
        "| kind of failure | runs | " + " | ".join(scores) + " |",
        "|---|---|" + "---|" * len(scores),
    ]
    for group in groups:
        cells = [each.get(group, score_of(())) for each in scores.values()]
        shown = " | ".join(_cell(each) for each in cells)
        asked = " / ".join(dict.fromkeys(str(each.asked) for each in cells))
        name = f"**{group}**" if group == _ALL else group
        lines.append(f"| {name} | {asked} | {shown} |")
    return "\n".join(lines)


def _cell(score: Score) -> str:
    if not score.asked:
        return ""
    share = f"{100 * score.cause_right / score.asked:.0f} %"
    return f"{share}, {score.wrong_high} wrong and sure, {score.points:+.2f}"


def written(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of a report on one diagnoser: its table, and what is wrong."""
    yield "| kind of failure | runs | cause right | all right | wrong, high confidence | wrong | unknown | no answer | points |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for group, score in by_group(results).items():
        yield (
            f"| {group} | {score.asked} | {score.cause_right} | {score.all_right} | "
            f"{score.wrong_high} | {score.wrong} | {score.unknown} | "
            f"{score.unanswered} | {score.points:+.2f} |"
        )
