"""Did the graph not leave the driver, because something in it cannot be pickled?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.frames import cause_of_last, met_at_home
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import article, class_of, short
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.manifest import DriverException

__all__ = ["GRAPH_NOT_SERIALIZABLE"]

_CANNOT = re.compile(
    r"[Cc]an(?:no|')t pickle (?:local object )?'?(?P<what>[^\n]{1,120}?)'?(?: object)?(?:\n|$)"
)
_SENDING = (
    "_graph_to_futures",
    "in submit",
    "in map",
    "in scatter",
    "dumps_function",
    "in register_plugin",
    "collections_to_expr",
)
_GRAPH = re.compile(
    r"Could not serialize object of type \(?'?(?:LLGExpr|HighLevelGraph|_?HLG\w*|\w*Expr)\b"
)
_DASKS = "Could not serialize object of type"
_DEEP = re.compile(r"recursion", re.IGNORECASE)
_GATHERING = ("in _gather", "in gather")
_PRINTED = re.compile(
    r"^<(?:(?P<kind>function|bound method|class) )?'?(?P<name>[\w.<>]+?)'?"
    r"(?: object| of .+)?(?: at 0x\w+)?>$",
    re.DOTALL,
)
_HASHED = re.compile(
    r"Object (?P<what>.{1,300}?) cannot be deterministically hashed", re.DOTALL
)


def _ask(case: Case) -> Iterator[Finding]:
    exception = case.exception
    if not case.failed or exception is None:
        return
    # A task that had failed before, and is blamed for want of better, is not what it says.
    told = case.said(_GRAPH.pattern) and not case.blame.proven
    if case.blame.failure is not None and not told:
        return
    if case.raised("TokenizationError"):
        yield _not_hashed(case, exception)
        return
    refused = case.said(r"Could not serialize object") or case.raised("PicklingError")
    text = f"{exception.message}\n{exception.traceback}"
    if not refused and _CANNOT.search(text) is None:
        return
    if met_at_home(exception.traceback):
        return  # the job pickles something by itself
    graph = case.said(_GRAPH.pattern)
    sending = any(word in exception.traceback for word in _SENDING)
    gathering = any(word in exception.traceback for word in _GATHERING)
    if not graph and (not sending or gathering):
        return
    what, why = _refusal(exception)
    where = (
        f" It was submitted at {exception.file}:{exception.line} in {exception.function}."
        if exception.file
        else ""
    )
    title = "The graph could not be pickled"
    holds = f"it holds {article(what)} {what}" if what else short(why, 90)
    this = "this graph" if case.run.details("graph-updated") else "anything"
    yield GRAPH_NOT_SERIALIZABLE.found(
        f"{title}: {holds}" if holds else title,
        cause=(
            f"{class_of(exception.exception)} before {this} reached the scheduler: "
            + (
                f"something that a task needs holds {article(what)} {what}."
                if what
                else f"{short(why or exception.message, 200).rstrip('.')}."
            )
            + where
        ),
        remedy=_remedy(what, why),
        confidence="high" if graph or sending else "medium",
        evidence=(
            *case.exception_evidence(),
            *([Evidence(text=short(why, 400), source="driver")] if why else ()),
        ),
    )


def _refusal(exception: DriverException) -> tuple[str | None, str]:
    """Return what pickle refuses, and what was said of it, as far as either is known.

    Dask tries pickle first and cloudpickle then: only what the last of them refused counts,
    as functions that are local are nothing to the first and something to the second.
    """
    trace = exception.traceback
    last = cause_of_last(trace)
    if last and last[1].startswith(_DASKS) and not exception.message.startswith(_DASKS):
        # The job's own exception was raised for Dask's, and that for the refusal.
        last = cause_of_last(trace[: trace.rfind(_DASKS)]) or last
    name, why = last or ("", "")
    text = why or f"{exception.message}\n{exception.traceback}"
    found = _the_thing_itself(text)
    what = short(found["what"], 80).strip("'") if found else None
    return what, f"{class_of(name)}: {why}" if why else ""


def _remedy(what: str | None, why: str) -> str:
    if _DEEP.search(why):
        return (
            "What the task is given is nested too deeply for pickle, which follows every "
            "link: hand over a flat form of it (a list, an array, a table of parents), or "
            "build it inside the task."
        )
    return (
        f"Don't carry {f'{article(what)} {what}' if what else 'it'} into a task: open connections, "
        "locks, files and clients inside the task, and hand over only what describes "
        "them (a path, a URL). Look at what the function closes over and at `self`, if "
        "it is a method."
    )


def _not_hashed(case: Case, exception: DriverException) -> Finding:
    """Return what to say where Dask names tasks by what they hold, and could not."""
    found = _HASHED.search(exception.message)
    what = _name_of_object(found["what"]) if found else "something in it"
    return GRAPH_NOT_SERIALIZABLE.found(
        f"The graph could not be pickled: {what} cannot be hashed",
        cause=(
            "TokenizationError before anything reached the scheduler: Dask names tasks by the "
            f"pickle of what they hold, and {what} has none that is always the same. Most "
            "often it holds or closes over something that cannot be pickled."
        ),
        remedy=(
            "Look at what the function closes over and at the objects that it is given: open "
            "connections, locks, files and clients inside the task. Where it can be pickled, "
            "give the class a `__dask_tokenize__`, or name the tasks with `key=`."
        ),
        confidence="medium",
        evidence=case.exception_evidence(),
    )


def _name_of_object(told: str) -> str:
    """Return what an object is called, of how Python prints it: no address."""
    found = _PRINTED.match(told)
    if found is None:
        return short(told, 100)
    kind, name = found["kind"], found["name"].rpartition(".")[2]
    return f"the {kind} '{name}'" if kind else f"a {name}"


def _the_thing_itself(text: str) -> re.Match[str] | None:
    """Return what pickle refuses: rather the lock than the function that holds it."""
    refused = list(_CANNOT.finditer(text))
    things = [each for each in refused if "<locals>" not in each["what"]]
    return next(iter(things or refused), None)


GRAPH_NOT_SERIALIZABLE = Rule(
    slug="graph-not-serializable",
    title="The graph could not be pickled",
    question="Did something in the graph refuse to be pickled on the driver?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A task's function or argument holds something that cannot travel: a lock, an "
            "open file, a database connection, a client. Nothing reaches the scheduler."
        ),
        evidence=(
            "The driver's exception (“Could not serialize object of type …”, “cannot pickle "
            "…”), raised while a graph was being sent. Silent on results that cannot travel "
            "back, and on errors of pickle inside a task."
        ),
        remedy="Open such things inside the task.",
        before="conn = connect(url)\nclient.submit(lambda: conn.query(sql))",
        after="def query(url, sql):\n    with connect(url) as conn:\n        return conn.query(sql)\n\nclient.submit(query, url, sql)",
    ),
)
