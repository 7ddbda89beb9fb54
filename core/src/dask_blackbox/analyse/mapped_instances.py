"""Which earlier run an instance of a mapped task is compared with: the same piece of the work.

The third instance of one night may be what the second was the night before: a list of regions
has grown.  What it was given says which piece it is; its index does where that does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from dask_blackbox.analyse.earlier_runs import History, whole_run
from dask_blackbox.analyse.sketching.normalisation import normal_value
from dask_blackbox.layout import RunAddress
from dask_blackbox.sketch import Sketch


def good_run_for(history: History, sketch: Sketch) -> Sketch | None:
    """Return the good run to compare a run with; None: there is none.

    The newest one; of a mapped task, the newest instance for the same piece of the work.
    """
    alike = _same_piece(sketch, history.instances)
    return history.last_good_for(sketch.run_id) if alike is None else alike


def _same_piece(own: Sketch, instances: Iterable[Sketch]) -> Sketch | None:
    """Return the first instance that was given what this one was; None if nothing tells them apart."""
    given = {id(each): _parameters(each) for each in instances}
    runs: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for each in instances:
        runs[whole_run(RunAddress.of_run(each).run)].append(given[id(each)])
    mine = _parameters(own)
    telling = {
        name
        for of_run in runs.values()
        for name in mine
        if len({each.get(name) for each in of_run}) > 1
    }
    if not telling:
        return None
    return next(
        (
            each
            for each in instances
            if all(given[id(each)].get(name) == mine[name] for name in telling)
        ),
        None,
    )


def _parameters(sketch: Sketch) -> dict[str, str]:
    """Return what an instance was given, without dates: they differ each night."""
    given = sketch.facts.get("parameters", {})
    return {name: normal_value(value) for name, value in given.items()}
