"""Data, code or infrastructure: which side changed, in a sentence, and how sure that is.

Of a run that did not fail, nothing is blamed: what changed is listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dask_blackbox.analyse.changes.code_changes import incomparable
from dask_blackbox.analyse.changes.differences import (
    Difference,
    differences,
    other_dates,
)
from dask_blackbox.analyse.changes.ranking import (
    OF_ALL_TASKS,
    Causes,
    Ranked,
    Rarities,
    VerdictContext,
    is_of_code,
    ranked,
)
from dask_blackbox.finding import Confidence, Finding, is_unusual
from dask_blackbox.formatting import listed
from dask_blackbox.job_history import Blame
from dask_blackbox.sketch import Sketch

_SIDE: dict[str, Blame] = {
    "input-size": "data",
    "parameters": "data",
    "code": "code",
    "graph-shape": "code",
    "package": "infrastructure",
    "python": "infrastructure",
    "dask-config": "infrastructure",
    "cluster-shape": "infrastructure",
    "host": "infrastructure",
}
_NAMES = {
    "input-size": "the input",
    "parameters": "the parameters",
    "code": "the code",
    "graph-shape": "the graph",
    "package": "packages",
    "python": "Python",
    "dask-config": "Dask's configuration",
    "cluster-shape": "the cluster",
    "host": "the host",
}
_OTHERWISE = {
    "data": "a failure of the data",
    "environment": "a failure of the environment",
    "transient": "a transient failure",
}
"""Failures that code elsewhere does not explain, by their retry advice."""
_SEVERAL_RUNS = 5
_MANY_RUNS = 20
_MOST_LISTED = 4
_FAR = math.log(100)  # as a factor, it would be hard to read


def _side_of(kind: str) -> Blame:
    """Return on which side a kind of change is."""
    return _SIDE.get(kind, "unknown")


class Attribution(NamedTuple):
    """On which side something changed that the failure may follow from.

    Attributes:
        blame: The side.
        text: The same in a sentence.
        confidence: In that.
        root: The change that the verdict follows from, if one is named; what is only
            listed beside it is none.
    """

    blame: Blame
    text: str
    confidence: Confidence
    root: Ranked | None = None


class RankedChanges(NamedTuple):
    """In what two runs differ.

    Attributes:
        changes: What is worth a look, the most telling first.
        habits: What changes in most runs.
        unknown: Kinds of facts that one of the two runs has no facts about.
        steps: How many earlier times one run came after another.
        context: The verdict on the second run.
        dates: Parameters of which only the date is another one, as in most runs.
    """

    changes: list[Ranked]
    habits: list[Ranked]
    unknown: list[str]
    steps: int
    context: VerdictContext
    dates: Sequence[Difference] = ()

    def blamed(self) -> Attribution:
        """Return the side that changed, with a sentence and its confidence."""
        blind = [kind for kind in self.unknown if not kind.endswith("/others")]
        if self.context.input_unmeasured and "input-size" not in blind:
            blind.append("input-size")
        found = sides(
            self.changes,
            self.context,
            steps=self.steps,
            blind=blind,
            habits=len(self.habits),
            dates=self.dates,
        )
        if not self.context.input_unmeasured:
            return found
        # What would explain it as well was not measured.
        return found._replace(confidence="low")


def ranked_changes(
    before: Sketch, after: Sketch, context: VerdictContext, earlier: Iterable[Sketch]
) -> RankedChanges:
    """Return in what two runs differ.

    Args:
        context: The verdict on the second.
        earlier: Runs of the job.  What came with a failure and is still there is no habit:
            only those that began no later than the first run count.
    """
    rarities = Rarities([each for each in earlier if each.started <= before.started])
    context = context.between(before, after)
    changes, habits = ranked(
        differences(before, after), rarities, context, Causes(before, after)
    )
    unknown = list(incomparable(before, after))
    dates = list(other_dates(before, after))
    return RankedChanges(changes, habits, unknown, rarities.steps, context, dates)


def sides(
    ranked: Sequence[Ranked],
    context: VerdictContext,
    *,
    steps: int,
    blind: Sequence[str],
    habits: int = 0,
    dates: Sequence[Difference] = (),
) -> Attribution:
    """Return the side that changed, with a sentence and its confidence.

    Args:
        ranked: The changes, habits left out.
        context: The verdict.
        steps: How many earlier times one run came after another.
        blind: Kinds of facts that one of the two runs has no facts about.
        habits: How many habits were left out.
        dates: Parameters that differ in a date.
    """
    judged = [one for each in ranked for one in _representing(each)]
    rare = [each for each in judged if is_unusual(each.rarity) and each.weight >= 0]
    if rare:
        found = _rare_side(rare, context, steps, blind=bool(blind))
    else:
        text = _nothing(ranked, context.verdict, habits, dates)
        sure: Confidence = "medium" if steps >= _SEVERAL_RUNS and not blind else "low"
        found = Attribution("nothing", text, sure)
    unseen = f" ({_names(blind)} could not be compared)" if blind else ""
    return found._replace(text=f"{found.text}{unseen}.")


def _rare_side(
    rare: Sequence[Ranked], context: VerdictContext, steps: int, *, blind: bool
) -> Attribution:
    """Return the side on which something unusual changed, in a clause."""
    most = max(each.weight for each in rare)
    if context.others_finished is not None and most <= 0:
        failed, finished = context.others_finished
        text = (
            f"Data: {failed} of {failed + finished} tasks of '{context.prefix}' failed, and the "
            f"others ran with the same code and packages; {_changed(rare)} changed, too"
        )
        return Attribution("data", text, "low")
    failure = None if most > 0 else _unlike(context.verdict, rare)
    if failure is not None:
        text = f"None of the changes fits {failure}: {_changed(rare)}"
        return Attribution("nothing", text, "low")
    relevant = [each for each in rare if each.weight == most]
    found = {_side_of(each.change.kind) for each in relevant}
    if len(found) > 1:
        kinds = [each.change.kind for each in relevant]
        text = f"More than one of these changed: {_names(kinds)}"
        return Attribution("several", text, "low")
    blame = found.pop()
    text = _sentence(blame, relevant, rare)
    if context.code_unchanged and all(
        _is_beside_the_tasks(each.change) for each in rare
    ):
        text = f"{text}; the tasks that failed run the same code as before"
        return Attribution(blame, text, "low")
    others = any(_side_of(each.change.kind) != blame for each in rare)
    sure = _confidence(relevant, steps, others=others, blind=blind)
    return Attribution(blame, text, sure, _fitting(relevant[0]))


def _fitting(change: Ranked) -> Ranked | None:
    """Return a change that has to do with the verdict, and is not only unusual."""
    return change if change.weight > 0 else None


def _unlike(verdict: Finding | None, rare: Sequence[Ranked]) -> str | None:
    """Return the kind of failure, in words, if none of the changes can lead to such a one."""
    if verdict is None:
        return None
    unrelated = OF_ALL_TASKS if verdict.retry_advice == "transient" else ("code",)
    beside = all(each.change.kind in unrelated for each in rare)
    return _OTHERWISE.get(verdict.retry_advice) if beside else None


def _representing(each: Ranked) -> Sequence[Ranked]:
    """Return what a change is judged by: of a commit, the code that it changed."""
    return each.explains if each.change.kind == "code" and each.explains else (each,)


def _is_beside_the_tasks(change: Difference) -> bool:
    """Return whether it is code, and none that tasks are known to run."""
    return change.kind == "code" and not change.what.startswith("prefix ")


def listed_changes(ranked: Sequence[Ranked]) -> tuple[Blame, str]:
    """Return on which side a run that did not fail changed, and what, the rarest first."""
    judged = [one for each in ranked for one in _representing(each)]
    if not judged:
        return "nothing", ""
    found = {_side_of(each.change.kind) for each in judged}
    blame = found.pop() if len(found) == 1 else "several"
    return blame, f"Changed: {_changed(judged)}."


def _changed(judged: Sequence[Ranked]) -> str:
    """Return what changed, code last."""
    steps = [_step(each.change) for each in judged if not is_of_code(each.change)]
    code = _places([each.change for each in judged if is_of_code(each.change)])
    return listed(steps + code, most=_MOST_LISTED)


def _nothing(
    ranked: Sequence[Ranked],
    verdict: Finding | None,
    habits: int,
    dates: Sequence[Difference],
) -> str:
    """Return that nothing relevant changed."""
    if dates and not ranked and not habits:
        steps = (f"{each.before} → {each.after}" for each in dates)
        names = listed([f"`{each.what}`" for each in dates], most=3)
        return f"Only {names} changed: {listed([*dict.fromkeys(steps)], most=3)}"
    beside = [each.change.what for each in ranked if each.weight < 0]
    if beside and len(beside) == len(ranked):
        text = f"Only {listed(beside)} changed; the code that ran is the same"
    elif ranked or habits:
        text = "Nothing in the recording changed in an unusual way"
    else:
        text = "Nothing in the recording changed since the last good run"
    if verdict is not None and verdict.retry_advice == "transient":
        text += ", which fits a transient failure"
    return text


def _sentence(blame: Blame, relevant: Sequence[Ranked], rare: Sequence[Ranked]) -> str:
    kinds = dict.fromkeys(each.change.kind for each in relevant)
    others = [each.change.kind for each in rare if each.change.kind not in kinds]
    only = "" if others else "only "
    text = f"{blame.capitalize()}: {only}{_names(kinds)} changed: {_named(relevant)}"
    if not others:
        return text
    fits = ", which fits the verdict" if relevant[0].weight > 0 else ""
    return f"{text}{fits}; {_names(others)} changed too"


def _named(relevant: Sequence[Ranked]) -> str:
    """Return what changed: of code, where; a hash says nothing to a reader."""
    if all(is_of_code(each.change) for each in relevant):
        return listed(_places([each.change for each in relevant]), most=3)
    more = f", and {len(relevant) - 1} more" if len(relevant) > 1 else ""
    return f"{_step(relevant[0].change)}{more}"


def _places(changes: Sequence[Difference]) -> list[str]:
    """Return which code has changed: `prefix tax (Tax.added at shop.py:27)`.

    A module in which it is the same that has changed says nothing more.
    """
    values: dict[str, str] = {}
    for change in changes:
        if not change.where:
            values[change.what] = change.what
        elif change.where not in values:
            values[change.where] = f"{change.what} ({change.where})"
    return list(values.values())


def _step(change: Difference) -> str:
    """Return a change in a few words: five times the bytes, `pandas 2.2 → 3.0`."""
    by = change.by
    if change.kind == "input-size" and by is not None and abs(by) < _FAR:
        return f"{math.exp(by):.2g}\N{MULTIPLICATION SIGN} the {change.what}"
    if is_of_code(change) and change.before and change.after:
        return change.what
    before = "nothing" if change.before is None else change.before
    after = "nothing" if change.after is None else change.after
    return f"{change.what} {before} → {after}"


def _confidence(
    relevant: Sequence[Ranked], steps: int, *, others: bool, blind: bool
) -> Confidence:
    named = any(each.weight >= 1 for each in relevant)
    fits = any(each.weight > 0 for each in relevant)
    if others or blind:
        return "medium" if named else "low"
    if named:
        return "high" if steps >= _SEVERAL_RUNS else "medium"
    if steps < _SEVERAL_RUNS:
        return "low"
    return "high" if fits and steps >= _MANY_RUNS else "medium"


def _names(kinds: Iterable[str]) -> str:
    plain = dict.fromkeys(kind.partition("/")[0] for kind in kinds)
    return listed([_NAMES.get(kind, kind) for kind in plain], most=4)
