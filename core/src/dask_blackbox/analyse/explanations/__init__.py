"""Messages of libraries, explained: the thing that they are about, and the fix as code."""

from __future__ import annotations

import re

from dask_blackbox.analyse.driver_output import PrintedFailure, last_error_before
from dask_blackbox.analyse.explanations import (
    data_errors,
    frequent_errors,
    service_errors,
)
from dask_blackbox.analyse.explanations.explained import Context, Explained, in_one_line
from dask_blackbox.analyse.failures import TaskFailure
from dask_blackbox.analyse.frames import (
    is_from_a_listing,
    raised_on_purpose,
    root_of_chain,
    untangled,
)
from dask_blackbox.analyse.side_effects import files_of_task, one_file
from dask_blackbox.analyse.signatures.data_libraries import META_INFERENCE_FAILED
from dask_blackbox.analyse.signatures.distributed import (
    DATASET_NOT_FOUND,
    GRAPH_HAS_A_CYCLE,
    INTERFACE_NOT_USABLE,
    IOLOOP_CLOSED,
)
from dask_blackbox.analyse.signatures.python import (
    DAEMON_HAS_NO_CHILDREN,
    FILE_TOO_LARGE,
    PORT_IN_USE,
    PROGRAM_FAILED,
)
from dask_blackbox.events import WorkerAdded
from dask_blackbox.formatting import class_of, short, short_with_paths
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import RunTables

_JUST_NOW = 1.0  # seconds that a line of a failed program is older than its exception


def explained_failure(run: RunTables, failure: TaskFailure) -> Explained | None:
    """Return what the exception of a task means, or None."""
    name, message, _ = failure.raised
    meaning = _explained(run, failure, name, message)
    root = failure.root
    if meaning is not None or root is None:
        return meaning
    # A library that tries another way raises the same again, and may then say less of it.
    repeats = class_of(root[0]) == name and message in root[1]
    return _explained(run, failure, name, root[1]) if repeats else None


def explained_origin(run: RunTables, failure: TaskFailure) -> Explained | None:
    """Return what the first exception of a chain means, if the last is not explained."""
    root = failure.root
    if root is None or explained_failure(run, failure) is not None:
        return None
    return _explained(run, failure, class_of(root[0]), root[1])


def _explained(
    run: RunTables, failure: TaskFailure, name: str, message: str
) -> Explained | None:
    program = PROGRAM_FAILED.search(message)
    return explained(
        Context(
            exception=name,
            message=message,
            traceback=failure.traceback,
            file=one_file(files_of_task(run, failure.key)),
            printed=program and last_error_before(run, failure.at, within=_JUST_NOW),
            threads=run.once(_threads).get(failure.worker or ""),
        )
    )


def _threads(run: RunTables) -> dict[str, int | None]:
    """Return how many tasks each worker runs at once, by its address."""
    return {each.subject: each.nthreads for each in run.of(WorkerAdded)}


def failure_text(run: RunTables, failure: TaskFailure) -> str:
    """Return the text of a task's exception, in one line."""
    explanation = explained_failure(run, failure)
    return explanation.headline if explanation else in_one_line(failure.raised.message)


def explained_exception(exception: DriverException) -> Explained | None:
    """Return what the driver's exception means, or None."""
    name, message, _ = untangled(exception.exception, exception.message)
    return explained(
        Context(exception=name, message=message, traceback=exception.traceback)
    )


def driver_exception_text(exception: DriverException, message: str) -> str:
    """Return the text of the driver's exception, in one line.

    Args:
        message: Its text, as far as it is to be shown.
    """
    explanation = explained_exception(exception)
    return explanation.headline if explanation else in_one_line(message)


def error_text(exception: str, message: str, longest: int = 80) -> str:
    """Return an exception as a title shows it: its class, and what its message means.

    Args:
        exception: Its class, with or without its module.
        message: Its text; may be empty.
        longest: Characters of the message that are shown; paths lose their folders first.
    """
    text = message_text(exception, message, longest)
    return f"{class_of(exception)}: {text}".rstrip(": ")


def message_text(exception: str, message: str, longest: int = 80) -> str:
    """Return the second part of `error_text`."""
    meaning = explained(Context(exception=class_of(exception), message=message))
    text = meaning.headline if meaning else in_one_line(message)
    return short_with_paths(text, longest)


def printed_error(failure: PrintedFailure) -> str:
    """Return the same of what failed in the driver's output."""
    if failure.exception:
        return error_text(failure.exception, failure.message)
    return short(failure.message, 80)


_ALL = (
    *service_errors.OF_PROGRAMS,
    *data_errors.EXPLANATIONS,
    *service_errors.EXPLANATIONS,
    *frequent_errors.EXPLANATIONS,
)


def explained(context: Context) -> Explained | None:
    """Return what a message means; None if it is unknown."""
    if is_from_a_listing(context.traceback):
        return _not_in_listing(context)
    for signature, explain in _ALL:
        found = signature.search(context.message)
        explanation = None if found is None else explain(found, context)
        if explanation is not None:
            return explanation
    return _warning_as_error(context)


def _not_in_listing(context: Context) -> Explained:
    """Return that a file was not found in a listing, which may be older than the file."""
    return Explained(
        f"{in_one_line(context.message)} is not in the listing of its folder that this "
        "process had kept",
        "fsspec (s3fs, gcsfs, adlfs) remembers the listings of folders in each process, by "
        "default without an end, so a file that was written later by anyone else does not "
        "exist for it. Call `fs.invalidate_cache()` before the files are read, or open the "
        "file system with `use_listings_cache=False` or `listings_expiry_time=…` (in Dask: "
        "`storage_options=`).",
    )


def _warning_as_error(context: Context) -> Explained | None:
    """Return that an exception is a warning which a filter has made an error."""
    is_warning = class_of(context.exception).endswith("Warning")
    if not is_warning or raised_on_purpose(context.traceback):
        return None
    return Explained(
        f"{in_one_line(context.message)} (a warning that is raised as an error)",
        "Warnings are errors in this process: look for `PYTHONWARNINGS`, which workers inherit "
        "from what starts them, `-W error` or `warnings.simplefilter('error')`; or fix what "
        "the warning is about.",
    )


__all__ = [
    "Context",
    "Explained",
    "advice_in",
    "driver_exception_text",
    "error_text",
    "explained",
    "explained_exception",
    "explained_failure",
    "explained_origin",
    "failure_text",
    "in_one_line",
    "message_text",
    "printed_error",
]


_HINTS = (
    (
        FILE_TOO_LARGE,
        (
            "The process reached its file size limit: raise the limit where the "
            "process is started (`ulimit -f`, `LimitFSIZE=`, RLIMIT_FSIZE), or write "
            "smaller files."
        ),
    ),
    (
        PORT_IN_USE,
        (
            "Another process on that host listens on the port: stop it, or use another port "
            "(0: any that is free)."
        ),
    ),
    (
        INTERFACE_NOT_USABLE,
        (
            "The host of this process has no network interface {interface} with an address: "
            "pass `interface=` one that it has (`ip -4 addr`), or none. If scheduler and workers "
            "run on hosts with different interfaces, give the scheduler its own "
            "(`scheduler_options={{'interface': …}}`)."
        ),
    ),
    (
        DAEMON_HAS_NO_CHILDREN,
        (
            "Workers under a nanny are daemons and cannot start processes with "
            "`multiprocessing`: use threads or more workers instead of a process pool, "
            "or set `distributed.worker.daemon: False` where the workers are started."
        ),
    ),
    (
        META_INFERENCE_FAILED,
        (
            "Pass `meta=` to `{what}`: the name and type of the function's result. "
            "Without it, Dask calls the function on one or two rows of made-up values, "
            "which the function must accept."
        ),
    ),
    (
        GRAPH_HAS_A_CYCLE,
        (
            "A task of the graph depends on its own result through the named keys: "
            "rename one of them, or break the cycle."
        ),
    ),
    (
        IOLOOP_CLOSED,
        (
            "The client of this object was already closed (by the end of a `with "
            "Client(…)` block, or by `client.close()`), and its futures with it. Fetch "
            "results while the client is open, or keep it open for as long as they are "
            "needed."
        ),
    ),
    (
        DATASET_NOT_FOUND,
        (
            "No dataset '{what}' is published on this scheduler: it was never "
            "published, was unpublished, or the scheduler was restarted. "
            "`client.list_datasets()` lists published datasets."
        ),
    ),
)


def hint_on(message: str) -> str | None:
    """Return what to do about an error with a known message, or None."""
    for signature, hint in _HINTS:
        found = signature.search(message)
        if found is not None:
            return hint.format(**found.groupdict())
    return None


_SENTENCE_ENDS = bounded(r"(?<=[.!?;])\s+(?=[\"'`A-Z])|\n\s*\n|\n(?=\S)")
_CODE_BELOW = bounded(r"(?<=[\w,:])[ \t]*\n[ \t]*\n?[ \t]{2,}(?=\S)")
"""Between a sentence and the indented code that ends it."""
_ASKS = bounded(
    r"(?:Summary: )?(?:"
    r"(?:(?:Please|Instead|You (?:can|may|might|should|could|need to|must)),? |"
    r"(?:To|If) [^,]{1,60}, )"
    r"(?:[a-z]+ )?(?:call|add|run|increase|reduce|rechunk|install|use|set|pass|specify|try)"
    r"|(?:use|set|pass|specify|provide|try|consider|convert|install)"
    r") (?!to )",
    re.IGNORECASE,
)
_REPORTS = bounded(r"\b(?:failed|fails|error|missing|invalid|takes|denied|refused)\b")
_CODE = bounded(r"`[^`]+`|\b[A-Za-z_][\w.]*\(|\b[a-z_]+=\S")
_LONGEST_ADVICE = 240


def advice_in(message: str) -> str | None:
    """Return the sentence of a message that says what to do instead, with code; or None."""
    for sentence in _SENTENCE_ENDS.split(_CODE_BELOW.sub(" ", message[:4_000])):
        text = in_one_line(sentence)
        found = _ASKS.match(text)
        asks = found is not None and _CODE.search(text) and not _REPORTS.search(text)
        if asks and len(text) <= _LONGEST_ADVICE:
            return f'The message says what to do: "{text.rstrip(".")}".'
    return None


def plain_message(exception: DriverException, message: str) -> str:
    """Return a message without the advice in it, and with the error that it is about.

    Args:
        message: Its text, as far as it is to be reported.
    """
    failed, root = (
        META_INFERENCE_FAILED.search(message),
        root_of_chain(exception.traceback),
    )
    if failed is None or root is None:
        return message
    return f"{failed[0]}: {class_of(root[0])}: {short(root[1], 160)}"
