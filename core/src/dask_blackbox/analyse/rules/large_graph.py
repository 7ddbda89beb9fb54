"""Did the driver send data inside a graph?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, duration, size
from dask_blackbox.finding import Cost, Evidence, Finding

__all__ = ["LARGE_GRAPH"]

_SAID = re.compile(r"Sending large graph of size ([\d.]+) (\w+)")
_UNITS = {
    "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9,
    "kiB": 2**10, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip

# So many tasks, of so few bytes each, are a graph of tasks.
_MANY = 5_000
_A_TASK = 10_000


def _ask(case: Case) -> Iterator[Finding]:
    sent = [each for each in map(_of, case.run.details("driver-warning")) if each]
    total = sum(bytes_ for bytes_, _ in sent)
    if total < LARGE_GRAPH.threshold(case, "bytes"):
        return
    largest, warning = max(sent, key=lambda each: each[0])
    took = case.tolls.graphs
    graphs = len(case.loads.graphs)
    told = (
        f" The scheduler took {duration(took)} to take in {counted(graphs, 'graph')}."
        if took >= 1
        else ""
    )
    grave = total >= LARGE_GRAPH.threshold(case, "grave_bytes")
    inside, remedy = _inside(case, largest)
    yield LARGE_GRAPH.found(
        f"The driver sent {size(total)} of graph to the scheduler",
        cause=(
            f"{counted(len(sent), 'graph')} of up to {size(largest)} went through the "
            f"scheduler, which unpacks them and holds them in its memory: {inside}.{told} "
            f"Dask warned at {warning.get('filename')}:{warning.get('lineno')}."
        ),
        remedy=remedy,
        confidence="high",
        severity="warning" if grave else "notice",
        cost=Cost(amount=total, unit="bytes"),
        evidence=tuple(
            Evidence(
                text=f"Sending large graph of size {size(bytes_)} "
                f"({each.get('filename')}:{each.get('lineno')})",
                source="driver",
                at=each["at"].timestamp(),
            )
            for bytes_, each in sorted(sent, key=lambda pair: -pair[0])[:5]
        ),
    )


def _inside(case: Case, largest: float) -> tuple[str, str]:
    """Return what makes a graph large, and what to do: data inside, or its many tasks."""
    tasks = max(
        (g.get("tasks") or 0 for g in case.run.details("graph-updated")), default=0
    )
    each = largest / max(tasks, 1)
    if tasks >= _MANY and each <= _A_TASK:
        inside = f"it is its {tasks:,} tasks, about {size(each)} each"
        remedy = (
            f"Make chunks or partitions larger: a tenth of the tasks make a graph of "
            f"{size(largest / 10)}. Or compute in several steps, with `.persist()` between."
        )
        return inside, remedy
    inside = "data is inside, where only tasks should be"
    remedy = (
        f"Load the data in tasks (`dd.read_parquet`, a function given the path), which "
        f"makes this graph of {size(largest)} one of some kilobytes. What only the driver "
        "has, send once: `future = client.scatter(data)`, and pass the future."
    )
    if not case.run.tasks["key"].str.starts_with("(").any():
        return inside, remedy  # futures: the scheduler left nothing out
    inside += f", or many more tasks than the {tasks:,} that were needed in the end"
    remedy += (
        " If there is no such data, choose what you need (a slice, columns) before the "
        "other steps, or make chunks larger."
    )
    return inside, remedy


def _of(warning: dict[str, Any]) -> tuple[float, dict[str, Any]] | None:
    said = _SAID.search(warning.get("message") or "")
    if said is None:
        return None
    return float(said[1]) * _UNITS.get(said[2], 1), warning


LARGE_GRAPH = Rule(
    slug="large-graph",
    title="A large graph was sent",
    question="Did the driver send data inside a graph?",
    severity="notice",
    ask=_ask,
    thresholds={"bytes": 10 * 2**20, "grave_bytes": 100 * 2**20},
    page=Page(
        detects=(
            "A graph of many megabytes went from the driver through the scheduler: a frame, an "
            "array or a model stands inside it, instead of a task that loads it. A warning "
            "from `large-graph.grave_bytes`."
        ),
        evidence=(
            "Dask's warning `Sending large graph of size …` in the driver, which nobody else "
            "sees. Silent below `large-graph.bytes`, and where the driver was not recorded."
        ),
        remedy="Load data in tasks; scatter what only the driver has.",
        before="futures = [client.submit(score, model, part) for part in parts]",
        after="model = client.scatter(model, broadcast=True)\nfutures = [client.submit(score, model, part) for part in parts]",
    ),
)
