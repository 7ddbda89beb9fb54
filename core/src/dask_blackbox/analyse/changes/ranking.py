"""The differences of a run in the order in which an engineer on call should read them.

Changes that follow from another one are folded under it.  A package that was upgraded
explains the code that differs inside it and in the prefixes that call it; a commit explains
the functions that it changed; another Python the packages that came with it; a parameter the
value that a function was given, and the size of what it asks for.  A row of `_CAUSES` says
which kind of change can explain which, and what in the two runs has to show that it does:
where nothing shows it, both are listed side by side.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import NamedTuple

from dask_blackbox.analyse.changes.code_changes import (
    Places,
    functions_of,
    is_hash_of_code,
)
from dask_blackbox.analyse.changes.differences import Difference, differences
from dask_blackbox.analyse.changes.prefixes import values_of
from dask_blackbox.analyse.earlier_runs import by_start
from dask_blackbox.analyse.sketching import normal_prefix
from dask_blackbox.finding import Finding
from dask_blackbox.patterns import bounded
from dask_blackbox.sketch import Sketch

_SAME_FACTOR = 0.02  # of the logarithms
_ALIKE = math.log(1.25)
_PIECES = ("partitions", "files", "graphs")
"""What there is more of if each is smaller."""
_NUMBER = bounded(r"-?[\d,]{0,40}\.?\d{1,40}")


class Causes:
    """Which change between two runs explains which other."""

    def __init__(self, before: Sketch, after: Sketch) -> None:
        self._before, self._after = before, after
        self._places = Places(before, after)

    def of(self, effect: Difference, found: Sequence[Difference]) -> Difference | None:
        """Return the change among `found` that explains another one; None if none does."""
        for kind, kinds, shows in _CAUSES:
            if effect.kind not in kinds:
                continue
            for cause in found:
                if (
                    cause.kind == kind
                    and cause != effect
                    and shows(self, cause, effect)
                ):
                    return cause
        return None

    def of_package(self, cause: Difference, effect: Difference) -> bool:
        """Return whether code differs because its package, or one that it calls, does."""
        kind, _, name = effect.what.partition(" ")
        roots = modules_of_package(cause.what.partition(" (")[0])
        if kind in ("module", "callable"):
            return _root(name) in roots
        if kind != "prefix" or not self._places.known:
            return False
        functions = functions_of(name, self._before, self._after)
        own = {each for each in functions if _root(each) not in roots}
        if own & self._places.changed.keys():
            return False  # a function of its own is another one, too
        called = {_root(each) for each in functions} | {
            each.lower()
            for run in (self._before, self._after)
            for prefix in run.prefixes
            if prefix.name == name
            for each in prefix.libraries
        }
        return bool(called & roots)

    def of_commit(self, cause: Difference, effect: Difference) -> bool:
        """Return whether code came with a commit: nothing was uncommitted, then or now."""
        clean = all(
            run.facts.get("code", {}).get("uncommitted changes") == "no"
            for run in (self._before, self._after)
        )
        return cause.what == "git commit" and clean and is_of_code(effect)

    def of_python(self, cause: Difference, effect: Difference) -> bool:
        """Return whether packages differ where Python does."""
        if cause.what == "Python":
            return True
        role = cause.what.rpartition(" ")[2]
        return effect.what.endswith(f"({role})")

    def of_parameter(self, cause: Difference, effect: Difference) -> bool:
        """Return whether a parameter explains a difference: by its name, number or factor."""
        if effect.kind == "parameters":
            return self._is_given_on(cause, effect)
        was, now = _number(cause.before), _number(cause.after)
        if was is None or now is None:
            return False
        counts = _number(effect.before), _number(effect.after)
        if (was, now) == counts and effect.what != "bytes":
            return True
        if effect.by is None or was <= 0 or now <= 0:
            return False
        factor, by, rounding = math.log(now / was), effect.by, 0.0
        pieces = self._pieces(effect)
        old, new = pieces or counts
        if old and new and (pieces or effect.what in _PIECES):
            # The last piece may be smaller than the others: a count is up to one off.
            by, rounding = math.log(new / old), 1 / min(old, new)
            if factor * by < 0:
                factor = -factor  # smaller pieces are more of them
        return abs(factor - by) < _SAME_FACTOR + rounding

    def _pieces(self, effect: Difference) -> tuple[int, int] | None:
        """Return the partitions before and after, if bytes only grew as their number did."""
        old, new = self._before.inputs.partitions, self._after.inputs.partitions
        if effect.what != "bytes" or effect.by is None or not old or not new:
            return None
        return (old, new) if abs(math.log(new / old) - effect.by) < _ALIKE else None

    def _is_given_on(self, cause: Difference, effect: Difference) -> bool:
        """Return whether a run's parameter is what a function was given."""
        if cause.given or not effect.given:
            return False
        name = effect.given.rpartition(":")[2]
        if _plain(cause.what.rpartition(".")[2]) == _plain(name):
            return True
        pairs = [_number(each) for each in (cause.before, cause.after)]
        return None not in pairs and pairs == [
            _number(values_of(effect.given, run)) for run in (self._before, self._after)
        ]


def _root(function: str) -> str:
    return function.partition(":")[0].partition(".")[0].lower()


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_").lower()


def _number(text: str | None) -> float | None:
    """Return the number that a value is, or begins with: of `380 partitions`, 380."""
    first = (text or "").partition(" ")[0]
    return float(first.replace(",", "")) if _NUMBER.fullmatch(first) else None


_CAUSES: tuple[
    tuple[str, tuple[str, ...], Callable[[Causes, Difference, Difference], bool]], ...
] = (
    ("package", ("code",), Causes.of_package),
    ("python", ("package",), Causes.of_python),
    ("parameters", ("parameters", "input-size", "graph-shape"), Causes.of_parameter),
    ("code", ("code",), Causes.of_commit),
)
"""Kind of cause, kinds of what it can explain, and what shows that it does: the surest first."""


_HABIT = 0.5
_ENOUGH = 3
_BESIDE = -0.5  # commits of something else
_UNKNOWN = 0.75  # for the order only: without a history, it is unknown

_ORDER = (
    "code",
    "input-size",
    "python",  # with another Python, packages are others, too
    "package",
    "parameters",
    "cluster-shape",
    "graph-shape",
    "dask-config",
    "host",
)
_NARROW = ("prefix", "callable", "module")


class Ranked(NamedTuple):
    """A difference, how rare it is, and what it has to do with the verdict."""

    change: Difference
    rarity: float | None
    weight: float = 0.0
    why: str | None = None
    explains: tuple[Ranked, ...] = ()

    @property
    def habit(self) -> bool:
        """Whether it happens in most runs."""
        return self.rarity is not None and self.rarity < _HABIT


def ranked(
    found: Sequence[Difference],
    rarities: Rarities,
    context: VerdictContext,
    causes: Causes | None = None,
) -> tuple[list[Ranked], list[Ranked]]:
    """Return the differences that are worth a look, the most telling first; and habits.

    What follows from another difference stands under it, and makes it as telling.

    A habit is what changes in most runs: a date, a run's number.  It needs three steps
    from run to run to be known as one, and explains nothing.

    Args:
        found: The differences of two runs.
        rarities: How often such a difference came up before.
        accused: Why the later run failed.
        causes: Which of them explains which other; None: each stands for itself.
    """
    judged = []
    code = any(is_of_code(each) for each in found)
    for change in found:
        relevance = relevance_of(change, context)
        if is_version(change) and code:
            relevance = Relevance()  # that which changed is there by name
        elif is_version(change) and context.code_known:
            relevance = Relevance(_BESIDE, "the code that ran is the same")
        judged.append(Ranked(change, rarities.of(change), *relevance))
    judged.sort(key=_place)
    known = rarities.steps >= _ENOUGH
    habits = [each for each in judged if known and each.habit]
    rest = [each for each in judged if each not in habits]
    return (rest if causes is None else _folded(rest, causes)), habits


def _folded(judged: Sequence[Ranked], causes: Causes) -> list[Ranked]:
    """Return the differences, each with those that it explains."""
    found = [each.change for each in judged]
    cause_of = {each: causes.of(each, found) for each in found}
    under: dict[Difference, list[Ranked]] = {}
    for each in judged:
        root, cause = each.change, cause_of[each.change]
        while cause is not None:
            root, cause = cause, cause_of[cause]
        if root != each.change:
            under.setdefault(root, []).append(each)
    heads = [
        _with(each, under.get(each.change, ()))
        for each in judged
        if cause_of[each.change] is None
    ]
    return sorted(heads, key=_place)


def _with(head: Ranked, explained: Sequence[Ranked]) -> Ranked:
    """Return a difference with those that it explains; it weighs as much as they do."""
    most = max([head, *explained], key=lambda each: each.weight)
    if head.weight >= most.weight:
        return head._replace(explains=tuple(explained))
    return head._replace(explains=tuple(explained), weight=most.weight, why=most.why)


def _place(each: Ranked) -> tuple[float, int, float, float, str]:
    rarity = _UNKNOWN if each.rarity is None else each.rarity
    kind = each.change.kind
    order = _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
    what = each.change.what
    # Tasks before the module that they are in, and that before its commit.
    narrow = 0.0
    if kind == "code":
        word = what.partition(" ")[0]
        narrow = _NARROW.index(word) if word in _NARROW else len(_NARROW)
    elif kind == "parameters" and what.startswith("argument "):
        narrow = 1.0  # what has a name says more than what has a place
    by = -abs(each.change.by or 0)
    return (-(rarity + each.weight), order, narrow, by, what)


_AS_LARGE = 0.8  # of a growth: nearly as much counts as such a change


class Rarities:
    """What changed from run to run in a job's history.

    Args:
        sketches: Earlier runs, however they ended, in any order.
    """

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        steps = [differences(a, b) for a, b in pairwise(by_start(sketches))]
        self.steps = len(steps)
        """How many times one run came after another."""
        self._times: dict[tuple[str, str], int] = {}
        self._growths: dict[tuple[str, str], list[float]] = {}
        for step in steps:
            for each in {(d.kind, d.what): d for d in step}.values():
                key = (each.kind, each.what)
                self._times[key] = self._times.get(key, 0) + 1
                if each.by is not None:
                    self._growths.setdefault(key, []).append(abs(each.by))

    def of(self, change: Difference) -> float | None:
        """Return the share of earlier runs without such a change; None without any.

        Of a number, such a change is one as large.
        """
        if not self.steps:
            return None
        key = (change.kind, change.what)
        if change.by is not None:
            least = _AS_LARGE * abs(change.by)
            times = sum(each >= least for each in self._growths.get(key, ()))
        else:
            times = self._times.get(key, 0)
        return 1 - times / self.steps


_OF_INPUT = ("data", "memory")
"""Retry advice of failures that follow from what tasks read."""
_QUOTED = 1.5
_NAMED = 1.0
_FITS = 0.5

_IMPORTED_AS = {
    "beautifulsoup4": "bs4",
    "opencv-python": "cv2",
    "pillow": "pil",
    "protobuf": "google/protobuf",
    "psycopg2-binary": "psycopg2",
    "pyarrow": "pyarrow",
    "python-dateutil": "dateutil",
    "pyyaml": "yaml",
    "scikit-image": "skimage",
    "scikit-learn": "sklearn",
}
"""Distributions whose modules have another name."""

_FITTING: dict[str, set[str | tuple[str, str]]] = {
    "memory": {
        "input-size",
        "parameters",
        "code",
        "graph-shape",
        ("cluster-shape", "memory limit"),
        ("cluster-shape", "threads per worker"),
    },
    "data": {"input-size", "parameters"},
    "code": {"code", "package", "python", "parameters"},
    "environment": {
        "package",
        "python",
        "host",
        "dask-config",
        ("cluster-shape", "resources"),
    },
    "transient": {"cluster-shape", "host"},
}
"""Kinds of changes that fit a verdict, by its retry advice."""


OF_ALL_TASKS = ("code", "package", "python")
"""What is the same for all tasks of a prefix."""

_RAN = ("prefix ", "callable ", "module ", "script")
_VERSIONS = ("git commit", "uncommitted changes", "DAG bundle")


class VerdictContext(NamedTuple):
    """A failed run's verdict, and the traceback behind it, if there is one.

    Attributes:
        verdict: Why it failed.
        traceback: Of the exception behind that.
        prefix: The tasks that it is about.
        code_unchanged: The code of these tasks is known, and is what it was.
        code_known: The code of the job's own modules is known, then and now.
        input_unmeasured: The failure may follow from the input of these tasks, which they
            read themselves: neither files that they opened nor their sizes are recorded.
        others_finished: How many of these tasks failed, and how many finished in the same
            run, with the code that they ran before: what they were given differs.
    """

    verdict: Finding | None = None
    traceback: str = ""
    prefix: str | None = None
    code_unchanged: bool = False
    code_known: bool = False
    input_unmeasured: bool = False
    others_finished: tuple[int, int] | None = None

    def between(self, good: Sketch, sketch: Sketch) -> VerdictContext:
        """Return it with what the good run and this one show about the code."""
        old, new = (
            {each.name: each.code for each in run.prefixes} for run in (good, sketch)
        )
        name = normal_prefix(self.prefix or "")
        modules = (
            any(what.startswith("module ") for what in run.facts.get("code", ()))
            for run in (good, sketch)
        )
        return self._replace(
            code_unchanged=is_hash_of_code(old.get(name))
            and old.get(name) == new.get(name),
            code_known=all(modules),
            input_unmeasured=self.verdict is not None
            and self.verdict.retry_advice in _OF_INPUT
            and any(each.name == name and each.roots for each in sketch.prefixes)
            and not all(_shows_files(run, name) for run in (good, sketch)),
            others_finished=_others_finished(self.verdict, sketch, name)
            if name in old and old[name] == new.get(name)
            else None,
        )


def _shows_files(sketch: Sketch, prefix: str) -> bool:
    """Return whether files are known that the tasks of a prefix opened."""
    return any(each.name == prefix and each.files for each in sketch.prefixes)


def _others_finished(
    verdict: Finding | None, sketch: Sketch, prefix: str
) -> tuple[int, int] | None:
    """Return how many tasks of a prefix failed and finished, if most of them finished."""
    if verdict is None or verdict.rule != "task-exception":
        return None
    if verdict.retry_advice not in ("code", "data"):
        return None
    for each in sketch.prefixes:
        if each.name == prefix and 0 < each.failed < each.tasks:
            return each.failed, each.tasks
    return None


class Relevance(NamedTuple):
    """How much a change has to do with the verdict, and in which way."""

    weight: float = 0.0
    why: str | None = None


def relevance_of(change: Difference, context: VerdictContext) -> Relevance:
    """Return what a change has to do with a verdict."""
    verdict = context.verdict
    if verdict is None:
        return Relevance()
    text = f"{verdict.title}\n{verdict.cause}\n{context.traceback}"
    proves = _proves(change, context)
    if proves is not None:
        return Relevance(_QUOTED, proves)
    why = _named(change, context, text)
    if why is not None:
        return Relevance(_NAMED, why)
    fitting = _FITTING.get(verdict.retry_advice, set())
    name = change.what.partition(" (")[0]
    if change.kind in fitting or (change.kind, name) in fitting:
        if change.kind in OF_ALL_TASKS and context.others_finished is not None:
            return Relevance(why="other such tasks finished with it")
        return Relevance(_FITS, f"it fits {verdict.rule}")
    return Relevance()


def _proves(change: Difference, context: VerdictContext) -> str | None:
    """Return how a change by itself leads to the failure; None if it need not.

    Memory grows for certain with what tasks read and how many run; with code, it may.
    """
    verdict = context.verdict
    if verdict is None:
        return None
    if _is_quoted(change, verdict.title, context.traceback):
        return "the failure names its value"
    if verdict.retry_advice != "memory":
        return None
    if change.kind == "input-size" and _is_used(change, context):
        return "the tasks that needed the memory read more"
    return "more tasks share a worker's memory" if _run_at_once(change) else None


def _named(change: Difference, context: VerdictContext, text: str) -> str | None:
    """Return how a failure names a change; None if it does not."""
    name = change.what.partition(" (")[0]
    if change.kind == "package" and _names_package(text, name):
        return "the failure names it"
    if change.kind == "code" and _names_code(change, context):
        return "the failure went through it"
    if change.kind != "input-size" and _is_used(change, context):
        return "the tasks that failed were given it"
    settings = change.kind in ("parameters", "dask-config")
    value = change.after
    if settings and value and _is_word(value) and value in text:
        return "the failure names its value"
    return None


def is_of_code(change: Difference) -> bool:
    """Return whether code that ran does something else than before."""
    return change.kind == "code" and change.what.startswith(_RAN)


def is_version(change: Difference) -> bool:
    """Return whether it is a version of a whole repository, whatever ran of it."""
    return change.kind == "code" and change.what in _VERSIONS


def _run_at_once(change: Difference) -> bool:
    """Return whether a worker runs more tasks at the same time than before."""
    before, after = _number(change.before), _number(change.after)
    threads = change.kind == "cluster-shape" and change.what == "threads per worker"
    return threads and (after or 0.0) > (before or math.inf)


def _is_used(change: Difference, context: VerdictContext) -> bool:
    """Return whether the tasks that failed read larger files, or were given another value."""
    prefix = context.prefix
    return prefix is not None and normal_prefix(prefix) in change.used_by


def modules_of_package(package: str) -> set[str]:
    """Return the top-level modules of a package in lower case, derived from its name."""
    module = _IMPORTED_AS.get(package, package.replace("-", "_"))
    return set() if "/" in module else {module.lower()}


def _names_package(text: str, package: str) -> bool:
    module = _IMPORTED_AS.get(package, package.replace("-", "_"))
    escaped = re.escape(module)
    patterns = (
        rf"(?:site|dist)-packages/{escaped}(?:/|\.py|\.cpython)",
        rf"No module named '{escaped.replace('/', '.')}(?:\.|')",
        rf"cannot import name '[^']*' from '{escaped.replace('/', '.')}(?:\.|')",
        rf"module '{escaped.replace('/', '.')}(?:\.[^']*)?' has no attribute",
    )
    return any(bounded(pattern, re.IGNORECASE).search(text) for pattern in patterns)


def _names_code(change: Difference, context: VerdictContext) -> bool:
    kind, _, name = change.what.partition(" ")
    if kind == "prefix":
        return context.prefix is not None and normal_prefix(context.prefix) == name
    if kind == "module" and not context.code_unchanged:
        file = f"{PurePath(name.replace('.', '/')).name}.py"
        return (
            bounded(rf'[/"]{re.escape(file)}"?,? line').search(context.traceback)
            is not None
        )
    if kind == "callable" and not context.code_unchanged:
        function = name.rpartition(".")[2]
        return bool(function) and f" in {function}\n" in f"{context.traceback}\n"
    return False


def _is_quoted(change: Difference, title: str, traceback: str) -> bool:
    """Return whether a failure is about a new value: its message quotes it as a whole."""
    value = change.after
    if not value or value.isdigit():
        return False
    if change.kind == "cluster-shape":
        return _is_word(value) and value in title  # a memory limit, with its unit
    if change.kind not in ("parameters", "dask-config"):
        return False
    _, _, last = traceback.rstrip().rpartition("\n")
    quoted = rf"^[\w.]+: .*(['\"]){re.escape(value)}\1"
    return bounded(quoted).search(last) is not None


def _is_word(value: str) -> bool:
    """Return whether a value is long enough that its place in a message is no chance."""
    return len(value) > 4 and not value.isdigit()  # noqa: PLR2004
