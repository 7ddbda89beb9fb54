"""What could not be pickled, or not be read where it arrived."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from dask_blackbox.analyse.case import Case, subject_of
from dask_blackbox.analyse.explanations import error_text
from dask_blackbox.analyse.facts.missing_data import LOST, missing_data
from dask_blackbox.analyse.frames import (
    Frame,
    at_frame,
    cause_of_last,
    code_of,
    raised_at_end,
    raised_in_user_code,
    read_by_the_driver,
    root_of_chain,
    user_frame,
)
from dask_blackbox.analyse.hang_texts import (
    evidence_of_hang,
    how_it_ended,
    log_evidence,
)
from dask_blackbox.analyse.missing_modules import (
    driver_has_package,
    missing_module,
    own_module,
)
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.signatures import lines_of
from dask_blackbox.analyse.signatures.distributed import (
    GRAPH_NOT_DESERIALIZED,
    NOT_DESERIALIZED,
    NOT_SERIALIZED,
    PICKLE_FAILED,
)
from dask_blackbox.analyse.signatures.python import CANNOT_PICKLE
from dask_blackbox.analyse.standstills import Hang, HangingTask
from dask_blackbox.events import (
    DriverAttached,
    DriverCallFailed,
    GraphFailed,
    GraphUpdated,
    SchedulerInfo,
)
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import (
    article,
    class_of,
    code_line,
    quoted,
    quoted_key,
    short,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED, epoch
from dask_blackbox.tables.schemas import Row

# graph-not-serializable

_SENDING = (
    "_graph_to_futures",
    "in submit",
    "in map",
    "in scatter",
    "dumps_function",
    "in register_plugin",
    "collections_to_expr",
)

_GRAPH = bounded(
    r"Could not serialize object of type \(?'?(?:LLGExpr|HighLevelGraph|_?HLG\w*|\w*Expr)\b"
)

_DASKS = "Could not serialize object of type"

_DEEP = bounded(r"recursion", re.IGNORECASE)

_GATHERING = ("in _gather", "in gather")

_PRINTED = bounded(
    r"^<(?:(?P<kind>function|bound method|class) )?'?(?P<name>[\w.<>]+?)'?"
    r"(?: object| of .+)?(?: at 0x\w+)?>$",
    re.DOTALL,
)

_HASHED = bounded(
    r"Object (?P<what>.{1,300}?) cannot be deterministically hashed", re.DOTALL
)


@documented("graph-not-serializable")
def GRAPH_NOT_SERIALIZABLE(case: Case) -> Iterator[Finding]:
    exception = case.exception
    if not case.failed or exception is None:
        return
    graph = bool(case.search_exception(_GRAPH.pattern))
    # A task that had failed before, and is blamed because nothing better is known, is not what it says.
    reported = graph and not case.blame.proven
    if case.blame.failure is not None and not reported:
        return
    if case.raised("TokenizationError"):
        yield _not_hashed(case, exception)
    elif _is_refused(case, exception):
        sending = any(word in exception.traceback for word in _SENDING)
        gathering = any(word in exception.traceback for word in _GATHERING)
        if graph or (sending and not gathering):
            yield _not_pickled(case, exception)


def _is_refused(case: Case, exception: DriverException) -> bool:
    """Return whether Dask could not pickle something; not the job's own code."""
    text = f"{exception.message}\n{exception.traceback}"
    refused = (
        case.search_exception(NOT_SERIALIZED.pattern)
        or case.raised("PicklingError")
        or CANNOT_PICKLE.search(text)
    )
    return bool(refused) and not raised_in_user_code(exception.traceback)


def _not_pickled(case: Case, exception: DriverException) -> Finding:
    what, why = _refusal(exception)
    raised = why.partition(":")[0] or class_of(exception.exception)
    title = "The graph could not be pickled"
    this = "this graph" if case.run.of(GraphUpdated) else "anything"
    if what:
        title += f": it holds {article(what)} {what}"
        reason = f"an input of a task holds {article(what)} {what}."
    else:
        title += f": {short(why, 90)}" if why else ""
        reason = f"{short(why or exception.message, 200).rstrip('.')}."
    return GRAPH_NOT_SERIALIZABLE.found(
        title,
        cause=f"Pickling raised {raised} before {this} reached the scheduler: {reason}"
        f"{_place(exception, 'submitted')}",
        remedy=_remedy_graph_not_serializable(what, why),
        confidence="high",
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
    if (
        last
        and last[1].startswith((_DASKS, f"('{_DASKS}"))
        and not exception.message.startswith((_DASKS, f"('{_DASKS}"))
    ):
        # The job's own exception was raised for Dask's, and that for the refusal.
        last = cause_of_last(trace[: trace.rfind(_DASKS)]) or last
    name, why = last or ("", "")
    text = why or f"{exception.message}\n{exception.traceback}"
    found = _object_itself(text)
    what = short(found["what"], 80).strip("'") if found else None
    return what, f"{class_of(name)}: {why}" if why else ""


def _remedy_graph_not_serializable(what: str | None, why: str) -> str:
    if _DEEP.search(why):
        return (
            "The task's input is nested too deeply for pickle. Pass a flat form (a "
            "list, an array, a table of parents), or build it inside the task."
        )
    return (
        f"Don't pass {f'{article(what)} {what}' if what else 'it'} to a task. Open "
        "connections, locks, files and clients inside the task, and pass only their "
        "description (a path, a URL). Check what the function closes over, and `self` "
        "if it is a method."
    )


def _not_hashed(case: Case, exception: DriverException) -> Finding:
    """Return what to say where Dask names tasks by what they hold, and could not."""
    found = _HASHED.search(exception.message)
    what = _name_of_object(found["what"]) if found else "something in it"
    refusal, unread = (exception.found.get(name, "") for name in ("refusal", "unread"))
    if unread:
        return _not_read_again(case, what, unread)
    thing = _object_itself(refusal)
    held = None if thing is None else short(thing["what"], 80).strip("'")
    title, said = f"{what} cannot be hashed", tuple[Evidence, ...]()
    why = (
        f"{what} cannot be pickled deterministically. Usually it holds or closes over "
        "something that cannot be pickled."
    )
    remedy = (
        "Check the arguments and what the function closes over. Open connections, "
        "locks, files and clients inside the task. If it can be pickled, add "
        "`__dask_tokenize__` to the class, or name the tasks with `key=`."
    )
    if held:
        title = f"{what} holds {article(held)} {held}"
        said = (Evidence(text=short(refusal, 400), source="driver"),)
        why = f"{title}, which cannot be pickled."
        remedy = _remedy_graph_not_serializable(held, refusal)
    return GRAPH_NOT_SERIALIZABLE.found(
        f"Dask could not name a task by its inputs: {title}",
        cause="Dask raised TokenizationError before anything reached the scheduler. It "
        f"derives the names of tasks from their pickled inputs, and {why}",
        remedy=remedy,
        confidence="high" if held else "medium",
        evidence=(*case.exception_evidence(), *said),
    )


def _not_read_again(case: Case, what: str, unread: str) -> Finding:
    """Return what to say of an object that can be pickled, and not unpickled.

    Args:
        what: The object.
        unread: What unpickling it raised in the driver, and where.
    """
    place = unread.rpartition(", at ")[2] if ", at " in unread else ""
    searches = place.endswith(_SEARCHES)
    return GRAPH_NOT_SERIALIZABLE.found(
        f"Dask could not name a task by its inputs: {what} can be pickled, and not unpickled",
        cause="Dask raised TokenizationError before anything reached the scheduler. It "
        f"pickles the inputs of tasks and reads them again; reading {what} raises {unread}.",
        remedy=(f"Look at {place.partition(' in ')[0]}: " if place else "")
        + (
            f"{_UNMADE[0].lower() if place else _UNMADE[0]}{_UNMADE[1:]}"
            if searches
            else f"{'m' if place else 'M'}ake it survive pickling and unpickling (its "
            "`__reduce__`, `__setstate__`)."
        )
        + " Or send plain values, and create the object inside the task.",
        confidence="high",
        evidence=(
            *case.exception_evidence(),
            Evidence(text=f"Unpickling {what} raised {unread}.", source="driver"),
        ),
    )


def _name_of_object(text: str) -> str:
    """Return what an object is called, of how Python prints it: no address."""
    found = _PRINTED.match(text)
    if found is None:
        return short(text, 100)
    kind, name = found["kind"], found["name"].rpartition(".")[2]
    return f"the {kind} '{name}'" if kind else f"{article(name)} {name}"


def _object_itself(text: str) -> re.Match[str] | None:
    """Return what pickle refuses: rather the lock than the function that holds it."""
    refused = CANNOT_PICKLE.all(text)
    things = [each for each in refused if "<locals>" not in each["what"]]
    return next(iter(things or refused), None)


# graph-not-deserializable

_CHAINED = "\nThe above exception was the direct cause"

_OF_PACKAGES = ("ModuleNotFoundError", "ImportError", "AttributeError")

_ABSENT = "No such file or directory"

_CANCELLED = "Dask cancelled what depends on it."

_MOMENT = 0.5  # seconds in which Dask logs what a graph was refused for


@documented("graph-not-deserializable")
def GRAPH_NOT_DESERIALIZABLE(case: Case) -> Iterator[Finding]:
    exception = case.exception
    if not case.failed or exception is None:
        return
    received = case.search_exception(GRAPH_NOT_DESERIALIZED.pattern)
    missed = None if received else _missed_of_unread_graph(case)
    if not received and missed is None:
        return
    root, trace = _why_not_read(case, exception, missed)
    title, because, frame = "The scheduler could not read the graph", "", None
    if root is not None:
        title += f": {error_text(*root, longest=160)}"
        because = f": {class_of(root[0])}: {short(root[1], 160)}"
        # A class that is not there is missed by Dask's own line.
        frame = user_frame(trace.partition(_CHAINED)[0])
    key = missed.key if missed else None
    then = f" That graph was to make {quoted_key(key)}; {_CANCELLED}" if key else ""
    refused = (
        [missed.at_refusal] if missed else [g.at for g in case.run.of(GraphFailed)]
    )
    yield GRAPH_NOT_DESERIALIZABLE.found(
        title,
        cause="The driver sent a graph that the scheduler could not unpickle"
        f"{because}{at_frame(frame)}{code_of(frame, 100)}. "
        f"{_why_there(case, root, frame)}{then}",
        remedy=_remedy_graph_not_deserializable(case, root, frame),
        confidence="high" if missed is None or missed.logged else "medium",
        subject=case.subject(key),
        evidence=(
            *case.exception_evidence(),
            *(
                Evidence(text="The scheduler refused a graph.", source="events", at=at)
                for at in refused[-1:]
            ),
        ),
    )


def _why_there(case: Case, root: tuple[str, str] | None, frame: Frame | None) -> str:
    """Return a sentence on why it could not be read where the scheduler runs."""
    if _searches(frame):
        return "An object in the graph can be pickled, and not unpickled."
    if _is_the_drivers(case):
        return (
            "The scheduler runs in the driver's own process, so no environment differs: "
            "something in the graph can be pickled, and not unpickled."
        )
    lacking = "something that the driver has, or has another version of it"
    if root is not None and class_of(root[0]) == "ModuleNotFoundError":
        lacking = "that module, which the driver has"
    return f"The scheduler's environment lacks {lacking}."


def _is_the_drivers(case: Case) -> bool:
    """Return whether all schedulers ran in the driver's process, with its modules."""
    drivers = {each.pid for each in case.run.of(DriverAttached)} - {None}
    return bool(drivers) and {e.pid for e in case.run.of(SchedulerInfo)} <= drivers


_SEARCHES = ("__getattr__", "__getattribute__")
_UNMADE = (
    "While an object is unpickled, `__init__` has not run and it has no attributes yet: "
    "`__getattr__` must raise `AttributeError` then."
)


def _searches(frame: Frame | None) -> bool:
    """Return whether a line is where an object looks for an attribute that it does not have."""
    return frame is not None and frame.function in _SEARCHES


def _why_not_read(
    case: Case, exception: DriverException, missed: _MissedOfGraph | None
) -> tuple[tuple[str, str] | None, str]:
    """Return class and message of what reading a graph raised, and its traceback."""
    root = None if missed else root_of_chain(exception.traceback)
    if root is not None:
        return root, exception.traceback
    # The driver handled the exception, or received none.
    logged = lines_of(case.run, NOT_DESERIALIZED, by=["scheduler"])
    if missed:
        logged = logged.filter(epoch("at") <= missed.at_refusal + _MOMENT)
    if logged.is_empty():
        return None, exception.traceback
    trace = str(logged["message"][-1])
    return raised_at_end(trace), trace


class _MissedOfGraph(NamedTuple):
    """Data that a request lacked, and when the scheduler had refused the graph for it.

    `logged`: the scheduler logged that it lacked this.
    """

    key: str
    at_refusal: float
    logged: bool


def _missed_of_unread_graph(case: Case) -> _MissedOfGraph | None:
    """Return what the driver's request lacked, if a graph was to make it that was not read."""
    lost = case.search_exception(LOST)
    missed = missing_data(case.run, lost["key"]) if lost else None
    if missed is None or missed.refused is None:
        return None
    unread = GRAPH_NOT_DESERIALIZED.search(missed.refused.reason)
    if not unread:
        return None
    return _MissedOfGraph(missed.key, missed.refused.at, missed.logged)


_FIND_IT = (
    "Find it in the driver: `cloudpickle.loads(cloudpickle.dumps(x))` raises the same for the "
    "function of the task, or one of its arguments. Give Dask a plain function of your own in "
    "its place, or create that object inside the task."
)
_SAME_PACKAGES = (
    "Install the same packages, your own modules included, where the scheduler runs"
)


def _remedy_at(frame: Frame, name: str) -> str | None:
    """Return what to do about a line of the user's that failed while a graph was read.

    Args:
        name: The class of what it raised.
    """
    if _searches(frame):
        return (
            f"Look at {code_line(frame)}: {_UNMADE[0].lower()}{_UNMADE[1:]} Or send plain values, "
            "and create the object inside the task. `cloudpickle.loads(cloudpickle.dumps(x))` in "
            "the driver shows whether it works."
        )
    if name in _OF_PACKAGES:
        return None
    return (
        f"Look at {code_line(frame)}: this line runs wherever the object is "
        "unpickled, first on the scheduler. Provide there what it needs (a "
        "variable, a file, a service), or send plain values and create the object "
        "inside the task."
    )


def _remedy_graph_not_deserializable(
    case: Case, root: tuple[str, str] | None, frame: Frame | None
) -> str:
    name, text = (class_of(root[0]), root[1]) if root else ("", "")
    image = "most simply, use one image for driver, scheduler and workers."
    module = missing_module(text)
    if module is None and _ABSENT in text:
        return (
            "An object in the graph opens that file when it is unpickled, which also "
            "happens on the scheduler. Open the file in the task, or put it under that "
            "path on scheduler and workers."
        )
    at_line = _remedy_at(frame, name) if module is None and frame else None
    if at_line is not None:
        return at_line
    if module is None:
        return _FIND_IT if _is_the_drivers(case) else f"{_SAME_PACKAGES}; {image}"
    version = driver_has_package(case, module)
    if version:
        name = module.partition(".")[0]
        return (
            f"Install '{name}=={version}', as the driver has it, where the "
            f"scheduler runs; {image}"
        )
    own = own_module(case, module)
    if own is not None and own.loaded_by_a_host:
        return (
            "Define the function inside the task's own function: pickle refers to "
            f"functions at the top of {own.file_of_host} by its module name, which only "
            "the host knows."
        )
    return (
        f"Install '{module}' where the scheduler runs, or, if it is your own file, "
        "ship it there before computing (`client.register_plugin(UploadDirectory(…))`, "
        f"a package); {image}"
    )


# result-not-serializable

_HOLDERS = ("dict", "list", "tuple", "set", "object", "DataFrame", "Series")

_MADE = bounded(r"\b(?P<type>\w+)\.(?:__init__|__new__|__setstate__)\(\)")

_UNREAD = ("ModuleNotFoundError", "ImportError", "AttributeError")

_CANNOT = bounded(r"[Cc]an(?:no|')t pickle '?(?P<what>[\w.]+)'? object")


_REFUSED = (NOT_SERIALIZED, PICKLE_FAILED)


@documented("result-not-serializable")
def RESULT_NOT_SERIALIZABLE(case: Case) -> Iterator[Finding]:
    exception = case.exception
    if not case.failed or case.blame.failure is not None:
        return
    if exception is None or not read_by_the_driver(exception.traceback):
        return
    refused = NOT_SERIALIZED.match(exception.message)
    if refused is not None:
        yield _unpicklable_result_text(case, exception, refused["type"])
    else:
        yield _could_not_be_read(case, exception)


def _unpicklable_result_text(
    case: Case, exception: DriverException, kind: str
) -> Finding:
    suspects = _that_returned(case, kind)
    if not suspects and (holders := _that_may_hold(case)):
        suspects, inside = holders, f" inside a {class_of(holders[0]['typename'])}"
    else:
        inside = ""
    why = _why(exception.message)
    refused = _CANNOT.search(why)  # what pickle refused, else what held it
    what = quoted(list(dict.fromkeys(row["prefix"] for row in suspects)))
    first = suspects[0] if suspects else {}
    key, worker = first.get("key"), first.get("worker")
    whose = f"of {what} ({kind}{inside})" if suspects else f"of type {kind}"
    held = quoted_key(key) if key else "A task"
    if inside:
        held += ", or a similar task,"
    on = f" on {case.name_of(worker)}" if worker else ""
    return RESULT_NOT_SERIALIZABLE.found(
        f"A result {whose} cannot be sent to the driver",
        cause=(
            f"{held} finished{on} and returned an object of type {kind}{inside}, which "
            f"cannot be pickled{why}. The task succeeded; its result could not be "
            f"fetched.{_place(exception, 'requested')}"
            + (
                f" {len(suspects)} tasks returned such an object; which one the driver "
                "requested is not recorded."
                if len(suspects) > 1 and not inside
                else ""
            )
        ),
        remedy=(
            f"Return plain data from {what if suspects else 'the task'} (arrays, "
            f"frames, paths, settings) and create the {refused['what'] if refused else kind} "
            "where it is used. If only workers need it, don't fetch it: pass the future."
        ),
        confidence="high",
        subject=subject_of(first),
        evidence=(
            *_returned(suspects),
            *log_evidence(case, *_REFUSED),
            *case.exception_evidence(),
        ),
    )


def _place(exception: DriverException | DriverCallFailed, done: str) -> str:
    """Return a sentence on where something was submitted or requested; empty if unknown."""
    at = code_line(exception, f" It was {done} at ")
    return f"{at} in {exception.function}." if at else ""


def _could_not_be_read(case: Case, exception: DriverException) -> Finding:
    name = class_of(exception.exception)
    lacks = name in _UNREAD
    made = _MADE.search(exception.message)
    missing = missing_module(exception.message)
    suspects = _that_returned(case, made["type"]) if made else _of(case, missing)
    first, whose = Row(), ""
    if suspects:
        first = suspects[0]
        key, worker = quoted_key(first["key"]), case.name_of(first["worker"])
        whose = f" {key} on {worker} had returned such an object."
    return RESULT_NOT_SERIALIZABLE.found(
        f"The driver could not read a result: {error_text(name, exception.message)}",
        cause=(
            f"A worker sent a result, and unpickling it in the driver raised {name}: "
            f"{short(exception.message, 200)}. The task succeeded.{whose}"
        ),
        remedy=_remedy_of_reading(made["type"] if made else None, lacks=lacks),
        confidence="high",
        retry_advice="environment" if lacks else None,
        subject=subject_of(first),
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
            "workers' version. Or return plain data."
        )
    if made:
        return (
            f"Unpickling calls {made}'s `__init__` with the arguments from "
            "`__reduce__`, and they don't match. An exception keeps the arguments of "
            "`super().__init__(…)`: pass all of them there, or define `__reduce__`; "
            "or return plain data."
        )
    return (
        "Make the result's class picklable in both directions (check its `__reduce__` "
        "and `__setstate__`), or return plain data."
    )


def _returned(suspects: list[Row]) -> Iterator[Evidence]:
    for row in suspects[:3]:
        yield Evidence(
            text=f"{row['key']} on {row['worker']} finished and returned a {row['typename']}.",
            source="tasks",
            at=row["stop"].timestamp(),
        )


def _that_returned(case: Case, kind: str) -> list[Row]:
    """Return the executions whose result was of a type, the newest first."""
    return _newest(case, _BARE_TYPE.eq(class_of(kind)))


_TYPE = pl.col("typename").cast(pl.String)
_BARE_TYPE = _TYPE.str.split(".").list.last()


def _newest(case: Case, returned: pl.Expr) -> list[Row]:
    """Return the executions whose result was such a one, the newest first."""
    tasks = case.run.tasks.filter(FINISHED & returned)
    return tasks.sort("stop", descending=True).head(20).to_dicts()


def _why(text: str) -> str:
    """Return what pickle said at last, in brackets, or nothing."""
    lines = text.partition("\n")[2]
    found = raised_at_end(lines) if lines else None
    return f" ({short(found[1] or class_of(found[0]), 120)})" if found else ""


def _of(case: Case, module: str | None) -> list[Row]:
    """Return the executions whose result's class is of a module, the newest first."""
    if module is None:
        return []
    return _newest(case, _TYPE.str.starts_with(f"{module.partition('.')[0]}."))


def _that_may_hold(case: Case) -> list[Row]:
    """Return the executions whose result can hold anything, if all are of one prefix."""
    tasks = case.run.tasks.filter(FINISHED)
    held = tasks.filter(_BARE_TYPE.is_in(_HOLDERS))
    alone = held["prefix"].n_unique() == 1
    return _newest(case, _BARE_TYPE.is_in(_HOLDERS)) if alone else []


# dependency-not-serializable

_WHY = bounded(r"^(?:\w+\.)*\w*Error: (?P<why>cannot pickle .+)$", re.MULTILINE)

_ARRIVED = ("memory", "released")

_STARTED = ("executing", "long-running", "memory", "ready")


@documented("dependency-not-serializable")
def DEPENDENCY_NOT_SERIALIZABLE(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None:
        return
    message = lines_of(case.run, NOT_SERIALIZED, by=["worker"])
    stuck = _stuck(hang)
    if stuck is None:
        return
    if not len(message):
        yield from _unreadable_findings(case, hang, *stuck)
        return
    task, dependency = stuck
    # The worker that asked for it logs it too; the one that has the word has the trouble.
    messages = message["message"].to_list()
    found = NOT_SERIALIZED.search(messages[-1])
    kind = found["type"] if found else "unknown"
    why = next((m["why"] for text in messages if (m := _WHY.search(text))), None)
    yield DEPENDENCY_NOT_SERIALIZABLE.found(
        f"A result of '{short(case.prefix_of(dependency), 40)}' ({kind}) cannot be "
        "sent between workers",
        cause=(
            f"{quoted_key(task.key)} on {case.name_of(task.worker)} waits for "
            f"{quoted_key(dependency)}, which is on another worker: an object of type "
            f"{kind}, which cannot be pickled{f' ({short(why, 120)})' if why else ''}. "
            f"Dask logs the error once and waits forever. {how_it_ended(case, hang)}"
        ),
        remedy=(
            f"Return plain data from '{short(case.prefix_of(dependency), 40)}' (paths, "
            f"arrays, settings) and create the {kind} inside the task that uses it; or "
            "define `__reduce__` on its class. On a single worker it works only "
            "because nothing is sent."
        ),
        confidence=case.hang_confidence,
        subject=case.subject(dependency, task.worker),
        evidence=(*log_evidence(case, NOT_SERIALIZED), *evidence_of_hang(case, hang)),
    )


def _unreadable_findings(
    case: Case, hang: Hang, task: HangingTask, dependency: str
) -> Iterator[Finding]:
    """Yield that the worker of a task could not unpickle the input that it waits for."""
    lines = lines_of(case.run, NOT_DESERIALIZED, by=["worker"])
    own = lines.filter(pl.col("source") == task.worker)["message"].to_list()
    raised = next((found for text in own if (found := raised_at_end(text))), None)
    if raised is None:
        return
    frame = next((at for text in own if (at := user_frame(text))), None)
    name, message = class_of(raised[0]), short(raised[1], 120)
    where = f" in '{frame.function}'" if frame else ""
    made_by = short(case.prefix_of(dependency), 40)
    yield DEPENDENCY_NOT_SERIALIZABLE.found(
        f"A result of '{made_by}' cannot be read by another worker: {name}{where}",
        cause=(
            f"{quoted_key(task.key)} on {case.name_of(task.worker)} waits for "
            f"{quoted_key(dependency)}, which is on another worker and cannot be "
            f"unpickled there: {name}: {message}{at_frame(frame)}. "
            f"Dask logs the error and waits forever. {how_it_ended(case, hang)}"
        ),
        remedy=(
            (f"Look at {code_line(frame)}: " if frame else "")
            + _remedy_of_unreadable(name, made_by)
            + " On a single worker it works only because nothing is sent."
        ),
        confidence=case.hang_confidence,
        subject=case.subject(dependency, task.worker),
        evidence=(
            *log_evidence(case, NOT_DESERIALIZED),
            *evidence_of_hang(case, hang),
        ),
    )


_OF_PICKLING = ("AttributeError", "RecursionError", "TypeError", "UnpicklingError")
"""What is raised where an object cannot be made again from what was pickled of it."""


def _remedy_of_unreadable(name: str, made_by: str) -> str:
    """Return what to do about an object that was pickled and cannot be unpickled elsewhere."""
    if name in _OF_PICKLING:
        return (
            f"make what '{made_by}' returns survive pickling and unpickling, or return plain "
            f"data. {_UNMADE}"
        )
    return (
        f"it was unpickled in another process than the one in which '{made_by}' made it. What "
        "that line needs (something registered, defined or opened before) must be there in "
        "every worker: do it when its module is imported, or by a `WorkerPlugin` or "
        "`--preload`. Or return plain data."
    )


def _stuck(hang: Hang) -> tuple[HangingTask, str] | None:
    """Return a task that a worker has but cannot start, and what it waits for there."""
    candidates = [
        (task, each)
        for task in hang.tasks
        if task.executing_for is None and task.state not in _STARTED
        for each in task.waits_for
        if each.state not in _ARRIVED
    ]
    failed = [pair for pair in candidates if pair[1].state == "error"]
    for task, each in failed or candidates:
        return task, each.key
    return None
