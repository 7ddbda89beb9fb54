"""Choose the fewest recordings that run as much of the analysis as all of them.

    tools/uv run --isolated --python 3.13 --package dask-blackbox --group dev \
        python tools/choose_recordings.py ARCHIVE… [--most 150] [--keep NAME…]

Diagnoses every recording of the archives, and notes which branches of `analyse/` it takes;
branches of conditional expressions are counted too, which coverage of lines cannot show.
What is said counts as well: each rule, with each confidence and retry advice, and each state.
Prints the chosen ones, the most useful first, with the number of branches that each adds.
Needs Python 3.12 or later (`sys.monitoring`), and about 0.3 s for each recording.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from heapq import heapify, heappop, heappush
from pathlib import Path
from types import CodeType
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from dask_blackbox import analyse
from dask_blackbox.card import RunCard, card_of
from kept_recordings import read_archive

_MEASURED = str(Path(analyse.__file__).parent)
_TOOL = 3
_MONITORING: Any = vars(sys).get("monitoring")  # Python 3.11 has none
_WEIGHTS = {"state": 100, "rule": 100, "verdict": 50, "confidence": 15, "retry": 15}

Feature = tuple[Any, ...]


class Branches:
    """The branches of `analyse/` that are taken while it is entered."""

    def __init__(self) -> None:
        self.taken: set[Feature] = set()
        self._measured: dict[CodeType, str] = {}

    def __enter__(self) -> Self:
        _MONITORING.use_tool_id(_TOOL, "choose_recordings")
        _MONITORING.register_callback(_TOOL, _MONITORING.events.BRANCH, self._branch)
        _MONITORING.set_events(_TOOL, _MONITORING.events.BRANCH)
        return self

    def __exit__(self, *_: object) -> None:
        _MONITORING.set_events(_TOOL, 0)
        _MONITORING.free_tool_id(_TOOL)

    def _branch(self, code: CodeType, offset: int, destination: int) -> object:
        file = self._measured.get(code)
        if file is None:
            measured = code.co_filename.startswith(_MEASURED)
            file = code.co_filename.removeprefix(_MEASURED) if measured else ""
            self._measured[code] = file
        if not file:
            return _MONITORING.DISABLE
        self.taken.add((file, code.co_qualname, offset, destination))
        return None


def features_of(archive: Path) -> dict[str, frozenset[Feature]]:
    """Return what each recording of an archive shows, by name."""
    found = {}
    for name, run in read_archive(archive):
        with Branches() as branches:
            card = card_of(run, analyse.findings_in(run))
        found[name] = frozenset({*branches.taken, *_said(card)})
    return found


def _said(card: RunCard) -> Iterator[Feature]:
    yield "state", card.state
    verdict = card.verdict
    if verdict is not None:
        yield "verdict", verdict.rule
    for each in (*card.findings, *([verdict] if verdict is not None else ())):
        yield "rule", each.rule
        yield "confidence", each.rule, each.confidence
        yield "retry", each.rule, each.retry_advice, each.retry_confidence


def weight(feature: Feature) -> int:
    """Return how much a feature counts: a branch counts as one."""
    return _WEIGHTS.get(feature[0], 1)


def chosen(
    features: Mapping[str, frozenset[Feature]], most: int, keep: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Yield the recordings to keep, and what each adds to those before it.

    Args:
        features: Of each recording.
        most: How many there may be.
        keep: Those that are chosen whatever they add.
    """
    shown = set[Feature]()
    for name in keep:
        yield name, _gain(features[name], shown)
        shown |= features[name]
    # What a recording adds only falls as others are chosen: so most are weighed once.
    waiting = [(-_gain(of, shown), name) for name, of in features.items()]
    heapify(waiting)
    number = len(keep)
    while waiting and number < most:
        _, name = heappop(waiting)
        gain = _gain(features[name], shown)
        if waiting and gain < -waiting[0][0]:
            heappush(waiting, (-gain, name))
        elif gain:
            yield name, gain
            shown |= features[name]
            number += 1


def _gain(of: frozenset[Feature], shown: set[Feature]) -> int:
    return sum(map(weight, of - shown))


def main() -> None:
    """Measure the archives, and print the chosen recordings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=150)
    parser.add_argument("--keep", nargs="*", default=[], metavar="NAME")
    asked = parser.parse_args()
    features: dict[str, frozenset[Feature]] = {}
    with ProcessPoolExecutor() as pool:
        for found in pool.map(features_of, asked.archives):
            features |= found
    if unknown := set(asked.keep) - set(features):
        parser.error(f"--keep: no archive has {', '.join(sorted(unknown))}")
    every, shown = frozenset[Feature]().union(*features.values()), set[Feature]()
    for name, gain in chosen(features, asked.most, asked.keep):
        shown |= features[name]
        print(f"{gain:6} {name}")
    print(f"{len(shown) / len(every):.1%} of {len(every)} branches and statements")


if __name__ == "__main__":
    main()
