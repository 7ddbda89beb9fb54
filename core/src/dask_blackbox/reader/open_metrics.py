"""The last run of each job as OpenMetrics, for Prometheus and what reads its format.

What is reported comes from names of blobs, and from one sketch for each job.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from dask_blackbox.errors import ConfigurationError
from dask_blackbox.layout import SketchName
from dask_blackbox.patterns import bounded
from dask_blackbox.price import Prices, cost_of, price_setting
from dask_blackbox.reader.earlier_runs import read_sketches, sketched_runs
from dask_blackbox.reader.run_index import RunEntry, entries
from dask_blackbox.sketch import Sketch
from dask_blackbox.store import Store

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_MOST_JOBS = 500
_MOST_LOOKED_AT = 200
_FOR_SKETCHES = 5.0
_FOR_A_PUSH = 10.0
_PREFIX = "dask_blackbox_"
_LABEL = bounded(r'[\\"\n]')
_ESCAPED = {"\\": r"\\", '"': r"\"", "\n": r"\n"}

_MEASURES = (
    ("last_run_duration_seconds", "Duration of the last run that has ended."),
    ("last_run_peak_memory_bytes", "Peak memory of a worker in that run."),
    ("last_run_tasks", "Tasks that finished in that run."),
    ("last_run_task_failures", "Tasks that failed in that run."),
    ("last_run_worker_deaths", "Workers that died in that run."),
)


class _Job(NamedTuple):
    """What is known of a job: its newest run, and those of its runs that have ended."""

    name: str
    newest: RunEntry
    ended: SketchName | None
    good: SketchName | None


def open_metrics(store: Store) -> str:
    """Return the last run of each job, of 500 jobs at most, as OpenMetrics.

    Raises:
        StoreError: if the store cannot be listed.
        ConfigurationError: if a price is not a number.
    """
    names = list(islice(store.folders("index/jobs/"), _MOST_JOBS + 1))
    jobs = [each for name in names[:_MOST_JOBS] for each in _job(store, name)]
    wanted = [job.ended for job in jobs if job.ended is not None]
    sketches = read_sketches(store, wanted, timeout=_FOR_SKETCHES)
    lines = [
        *_gauge("last_run_info", "State of the newest run, and the verdict on the last that has ended.", _states(jobs)),
        *_gauge("last_run_start_timestamp_seconds", "When the newest run started.", ((job, {}, job.newest.started) for job in jobs)),
        *_gauge("last_success_timestamp_seconds", "When the newest run that succeeded started.", ((job, {}, job.good.started_ms / 1000) for job in jobs if job.good)),
    ]  # fmt: skip
    for number, (name, help_text) in enumerate(_MEASURES):
        lines += _gauge(name, help_text, _measured(jobs, sketches, number))
    if (prices := price_setting()) is not None:
        lines += _gauge(
            "last_run_cost",
            "What the cluster of that run cost, by blackbox.price.",
            _costs(jobs, sketches, prices),
        )
    lines += [
        f"# TYPE {_PREFIX}jobs_left_out gauge",
        f"# HELP {_PREFIX}jobs_left_out Whether the store has more jobs than are listed.",
        f"{_PREFIX}jobs_left_out {int(len(names) > _MOST_JOBS)}",
    ]
    return "\n".join([*lines, "# EOF", ""])


def push(text: str, gateway: str) -> None:
    """Replace the group of metrics `dask_blackbox` in a Pushgateway of Prometheus.

    Args:
        text: As of `open_metrics`.
        gateway: Its URL, as `http://pushgateway:9091`.

    Raises:
        ConfigurationError: if it is no URL, or the gateway does not take the metrics.
    """
    if urlsplit(gateway).scheme not in {"http", "https"}:
        raise ConfigurationError(
            f"{gateway!r} is no Pushgateway; give a URL like http://pushgateway:9091"
        )
    request = urllib.request.Request(  # noqa: S310 - the scheme is known
        f"{gateway.rstrip('/')}/metrics/job/dask_blackbox",
        data=text.encode(),
        headers={"Content-Type": "text/plain; version=0.0.4"},
        method="PUT",
    )
    try:
        with urllib.request.urlopen(request, timeout=_FOR_A_PUSH):  # noqa: S310
            pass
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the Pushgateway at {gateway} does not take the metrics: {error}"
        ) from error


def _job(store: Store, name: str) -> Iterator[_Job]:
    newest = next(entries(store, job=name), None)
    if newest is not None:
        ended = list(islice(sketched_runs(store, name), _MOST_LOOKED_AT))
        good = next((each for each in ended if each.state == "succeeded"), None)
        yield _Job(name, newest, next(iter(ended), None), good)


_Sample = tuple[_Job, dict[str, str], float]


def _states(jobs: list[_Job]) -> Iterator[_Sample]:
    for job in jobs:
        verdict = job.ended.verdict if job.ended is not None else None
        yield job, {"state": job.newest.state, "verdict": verdict or ""}, 1.0


def _measured(
    jobs: list[_Job], sketches: dict[str, Sketch], number: int
) -> Iterator[_Sample]:
    for job in jobs:
        if job.ended is None:
            continue
        sketch = sketches.get(job.ended.name)
        numbers = {} if sketch is None else sketch.numbers
        value = (
            job.ended.duration,
            job.ended.peak_memory,
            numbers.get("tasks"),
            numbers.get("task_failures"),
            numbers.get("deaths"),
        )[number]
        if value is not None:
            yield job, {}, float(value)


def _costs(
    jobs: list[_Job], sketches: dict[str, Sketch], prices: Prices
) -> Iterator[_Sample]:
    for job in jobs:
        sketch = None if job.ended is None else sketches.get(job.ended.name)
        price = None if sketch is None else prices.of(sketch.job)
        if sketch is None or price is None:
            continue
        cost = cost_of(sketch.numbers, price)
        if cost is not None:
            yield job, {"currency": cost.currency}, round(cost.amount, 6)


def _gauge(name: str, help_text: str, samples: Iterator[_Sample]) -> Iterator[str]:
    yield f"# TYPE {_PREFIX}{name} gauge"
    if name.endswith(("seconds", "bytes")):
        yield f"# UNIT {_PREFIX}{name} {name.rpartition('_')[2]}"
    yield f"# HELP {_PREFIX}{name} {help_text}"
    for job, labels, value in samples:
        shown = ",".join(
            f'{label}="{_LABEL.sub(lambda found: _ESCAPED[found[0]], text)}"'
            for label, text in {"job_name": job.name, **labels}.items()
        )
        yield f"{_PREFIX}{name}{{{shown}}} {value!r}"
