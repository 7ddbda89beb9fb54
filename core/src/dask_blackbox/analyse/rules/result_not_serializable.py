"""Could a result not travel to the driver?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from dask_blackbox.analyse.blame import only_waited
from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import raised_at_end, read_by_the_driver
from dask_blackbox.analyse.hang_evidence import log_evidence
from dask_blackbox.analyse.modules import missing_module
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, quoted, short
from dask_blackbox.finding import Evidence, Finding, Subject
from dask_blackbox.manifest import DriverException

__all__ = ["RESULT_NOT_SERIALIZABLE"]

_SAID = r"Could not serialize object of type (?P<type>[\w.]+)"
_HOLDERS = ("dict", "list", "tuple", "set", "object", "DataFrame", "Series")
_MADE = re.compile(r"(?P<type>\w+)\.(?:__init__|__new__|__setstate__)\(\)")
_UNREAD = ("ModuleNotFoundError", "ImportError", "AttributeError")
_CANNOT = re.compile(r"[Cc]an(?:no|')t pickle '?(?P<what>[\w.]+)'? object")
_DROPPED = "as_completed._track_future"
_REFUSED = (
    r"^(?:Could not serialize object of type |Failed to serialize <)(?P<type>[\w.]+)"
)


def _ask(case: Case) -> Iterator[Finding]:
    exception = case.exception
    if not case.failed or case.explained or case.blame.failure is not None:
        return
    if exception is None or only_waited(exception) or case.raised("KeyboardInterrupt"):
        yield from _in_silence(case)
        return
    if not read_by_the_driver(exception.traceback):
        return
    refused = re.match(_SAID, exception.message)
    if refused is not None:
        yield _could_not_leave(case, exception, refused["type"])
    else:
        yield _could_not_be_read(case, exception)


def _in_silence(case: Case) -> Iterator[Finding]:
    """Yield that the driver waited for a result that had failed to leave its worker.

    `as_completed(…, with_results=True)` waits for ever then; the tasks are all done.
    """
    refused = case.run.logs.filter(
        (pl.col("role") == "worker") & pl.col("message").str.contains(_REFUSED)
    )
    hang = case.standstill
    if not len(refused) or case.deaths or (hang is not None and hang.wanted):
        return
    last = refused.sort("at").row(-1, named=True)
    if any(f["at"] > last["at"] for f in case.run.details("graph-updated")):
        return  # it went on
    # The driver's own loop logs it, where an iterator of futures met it.
    dropped = case.run.logs["message"].str.contains(_DROPPED, literal=True).any()
    if not dropped and case.exception is None:
        return  # it may have handled that, and have been at work of its own
    found = re.match(_REFUSED, last["message"])
    kind = found["type"] if found else "unknown"
    suspects = _that_returned(case, kind)
    if not suspects or len(case.run.tasks.filter(pl.col("stop") > last["at"])):
        return
    first, what = suspects[0], quoted(dict.fromkeys(r["prefix"] for r in suspects))
    because = _why(last["message"])
    yield RESULT_NOT_SERIALIZABLE.found(
        f"A result of {what} ({kind}) cannot travel to the driver, which waits for it",
        cause=(
            f"'{short(first['key'], 80)}' finished on {case.name_of(first['worker'])} and "
            f"returned an object of type {kind}, which cannot be pickled"
            f"{because}. The worker logged that, the driver's loop got no error "
            "(`as_completed(…, with_results=True)` drops it) and waited until it was stopped: "
            "no task was left to do."
        ),
        remedy=(
            f"Return plain data from {what} (arrays, frames, paths, settings) and make the "
            f"{kind} where it is used; or, if it is only needed on the workers, don't fetch "
            "it: pass the future on."
        ),
        confidence="high" if dropped else "medium",
        subject=Subject(
            key=first["key"], prefix=first["prefix"], worker=first["worker"]
        ),
        evidence=(
            *_returned(suspects),
            *log_evidence(case, r"Failed to serialize|Could not serialize"),
            *case.exception_evidence(),
        ),
    )


def _could_not_leave(case: Case, exception: DriverException, kind: str) -> Finding:
    suspects = _that_returned(case, kind)
    if not suspects and (holders := _that_may_hold(case)):
        suspects, inside = holders, f" inside of a {class_of(holders[0]['typename'])}"
    else:
        inside = ""
    why = _why(exception.message)
    what = quoted(list(dict.fromkeys(row["prefix"] for row in suspects)))
    first = suspects[0] if suspects else {}
    key, worker = first.get("key"), first.get("worker")
    whose = f"of {what} ({kind}{inside})" if suspects else f"of type {kind}"
    held = f"'{short(key, 80)}'" if key else "A task"
    if inside:
        held += ", or one like it,"
    on = f" on {case.name_of(worker)}" if worker else ""
    return RESULT_NOT_SERIALIZABLE.found(
        f"A result {whose} cannot travel to the driver",
        cause=(
            f"{held} finished{on} and returned an object of type {kind}{inside}, which "
            f"cannot be pickled{why}. The task had gone well; its result could not be fetched."
            + (
                f" {len(suspects)} tasks returned such an object; which one the driver "
                "asked for is not recorded."
                if len(suspects) > 1 and not inside
                else ""
            )
        ),
        remedy=(
            f"Return plain data from {what if suspects else 'the task'} (arrays, frames, "
            f"paths, settings) and make the {_refused(why, kind)} where it is used; or, if it is only "
            "needed on the workers, don't fetch it: pass the future on."
        ),
        confidence="high",
        subject=Subject(key=key, prefix=first.get("prefix"), worker=worker),
        evidence=(
            *_returned(suspects),
            *log_evidence(case, r"Failed to serialize|Could not serialize"),
            *case.exception_evidence(),
        ),
    )


def _could_not_be_read(case: Case, exception: DriverException) -> Finding:
    name = class_of(exception.exception)
    lacks = name in _UNREAD
    made = _MADE.search(exception.message)
    missing = missing_module(exception.message)
    suspects = _that_returned(case, made["type"]) if made else _of(case, missing)
    first = suspects[0] if suspects else {}
    whose = (
        f" '{short(first['key'], 80)}' on {case.name_of(first['worker'])} had returned such "
        "an object."
        if suspects
        else ""
    )
    return RESULT_NOT_SERIALIZABLE.found(
        f"The driver could not read a result: {name}: {short(exception.message, 80)}",
        cause=(
            f"A result came from a worker, and unpickling it in the driver raised {name}: "
            f"{short(exception.message, 200)}. The task itself had gone well.{whose}"
        ),
        remedy=_remedy_of_reading(made["type"] if made else None, lacks=lacks),
        confidence="high",
        retry_advice="environment" if lacks else None,
        subject=Subject(
            key=first.get("key"),
            prefix=first.get("prefix"),
            worker=first.get("worker"),
        ),
        evidence=(
            *_returned(suspects),
            *case.exception_evidence(),
            Evidence(
                text="\n".join(exception.traceback.strip().splitlines()[-6:])[:1500],
                source="driver",
            ),
        ),
    )


def _remedy_of_reading(made: str | None, *, lacks: bool) -> str:
    if lacks:
        return (
            "Install in the driver's environment what the result's class needs, in the "
            "workers' version; or return plain data."
        )
    if made:
        return (
            f"Reading makes a {made} anew from what its `__reduce__` tells, and that is not "
            "what its `__init__` asks for. An exception tells the arguments of "
            "`super().__init__(…)`: hand all of its own on there, or write `__reduce__`; or "
            "return plain data."
        )
    return (
        "Make the result's class one that can be pickled and read again (look at its "
        "`__reduce__` and `__setstate__`), or return plain data."
    )


def _returned(suspects: list[dict[str, Any]]) -> Iterator[Evidence]:
    for row in suspects[:3]:
        yield Evidence(
            text=f"{row['key']} on {row['worker']} finished and returned a {row['typename']}.",
            source="tasks",
            at=row["stop"].timestamp(),
        )


def _that_returned(case: Case, kind: str) -> list[dict[str, Any]]:
    """Return the executions whose result was of a type, the newest first."""
    bare = class_of(kind)
    tasks = case.run.tasks.filter(pl.col("outcome") == "finished")
    named = tasks["typename"].cast(pl.String).str.split(".").list.last() == bare
    return tasks.filter(named).sort("stop", descending=True).head(20).to_dicts()


def _why(text: str) -> str:
    """Return what pickle said at last, in brackets, or nothing."""
    lines = text.partition("\n")[2]
    found = raised_at_end(lines) if lines else None
    return f" ({short(found[1] or class_of(found[0]), 120)})" if found else ""


def _refused(why: str, kind: str) -> str:
    """Return what is not to be returned: what pickle refused, else what held it."""
    found = _CANNOT.search(why)
    return found["what"] if found else kind


def _of(case: Case, module: str | None) -> list[dict[str, Any]]:
    """Return the executions whose result's class is of a module, the newest first."""
    if module is None:
        return []
    tasks = case.run.tasks.filter(pl.col("outcome") == "finished")
    package = f"{module.partition('.')[0]}."
    named = tasks["typename"].cast(pl.String).str.starts_with(package)
    return tasks.filter(named).sort("stop", descending=True).head(20).to_dicts()


def _that_may_hold(case: Case) -> list[dict[str, Any]]:
    """Return the executions whose result can hold anything, if all are of one prefix."""
    tasks = case.run.tasks.filter(pl.col("outcome") == "finished")
    last = tasks["typename"].cast(pl.String).str.split(".").list.last()
    held = tasks.filter(last.is_in(_HOLDERS)).sort("stop", descending=True)
    return held.head(20).to_dicts() if held["prefix"].n_unique() == 1 else []


RESULT_NOT_SERIALIZABLE = Rule(
    slug="result-not-serializable",
    title="A result cannot travel to the driver",
    question="Did a task go well, and its result not reach the driver?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "The driver fetched a result (`result()`, `gather`, `compute()`) that its worker "
            "could not pickle (a lock, a generator, a connection, or something that holds "
            "one), or that the driver could not unpickle."
        ),
        evidence=(
            "The driver's exception, raised while it read what a worker sent, and the "
            "executions that returned an object of that type; or a worker's word that it "
            "could not send one, after which nothing happened until the driver was stopped. "
            "Silent where a task raised "
            "the same error, and where it was the graph that could not be sent."
        ),
        remedy="Return plain data; leave on the workers what only they need.",
        before="model = client.submit(open_session, url).result()",
        after="session = client.submit(open_session, url)      # stays where it is\nrows = client.submit(count_rows, session).result()",
    ),
)
