"""What can be recorded: the kinds of rows and their columns.

Capture emits rows (tuples) by kind, in this column order; the recorder turns them into
columns; segments keep them; `run.py` gives them back as tables.  Times are epoch seconds
on the scheduler's clock, durations are seconds, sizes are bytes.  A change of a column
list is a change of the format (docs/format.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["COLUMNS", "EVENT_KINDS", "Rows"]

Rows = Mapping[str, Sequence[Sequence[Any]]]
"""Rows by kind, each in the column order of `COLUMNS`."""

COLUMNS: dict[str, tuple[str, ...]] = {
    # One row for each execution of a task that ended, however it ended.
    "task": (
        "key",
        "prefix",
        "group",
        "worker",  # address
        "thread",  # thread id on that worker
        "start",  # of its first part (deserialize, disk, transfer, compute)
        "stop",  # of its last part
        "compute",  # seconds
        "transfer",
        "disk",
        "deserialize",
        "nbytes",  # of the result
        "typename",  # of the result
        "outcome",  # finished | erred | retried | killed
    ),
    # One row for each exception of a task, retried attempts included.
    "error": (
        "at",
        "key",
        "prefix",
        "worker",
        "outcome",  # erred | retried | killed
        "exception",  # qualified name of the class
        "message",
        "traceback",  # text, chained causes included where known
        "cause",  # key of the task whose failure this one inherits, or null
    ),
    "log": (
        "at",
        "role",  # scheduler | worker | nanny | driver
        "source",  # address; "driver" for the driver; "scheduler" for the scheduler
        "pid",
        "seq",  # per (source, pid): gaps are losses
        "logger",  # "stdout" and "stderr" for printed lines
        "level",  # numeric, as in logging
        "message",  # formatted, traceback appended
        "key",  # of the task that wrote it, or null
    ),
    # One row per worker (and scheduler) and sampling instant.
    "metric": (
        "at",
        "source",  # address; "scheduler"
        "cpu",  # percent of one core
        "memory",  # process memory (RSS)
        "managed",
        "spilled",  # on disk
        "fds",
        "net_read",  # bytes per second
        "net_write",
        "disk_read",
        "disk_write",
        "event_loop",  # seconds between two turns of the event loop
        "executing",
        "ready",  # tasks waiting on the worker; processing+queued for the scheduler
        "in_memory",
        "status",  # running | paused | closing_gracefully | …
    ),
    # Everything else: a moment, a kind, whom it is about, and its particulars.
    "event": (
        "at",
        "kind",  # a word of EVENT_KINDS
        "subject",  # worker address, client id, key … or ""
        "detail",  # JSON object as text
    ),
}

EVENT_KINDS: dict[str, str] = {
    "worker-added": "name, host, pid, nanny, nthreads, memory_limit, versions, local_directory",
    "worker-removed": "stimulus_id, expected, processing [keys], lost_computed [n], lost_scattered [keys]",
    "worker-certificate": "pid, exit_code, by, alive, asked_to_close, executing [{key,start}], stack, memory [[at,rss]], oom_kills, last_lines",
    "nanny-lost": "nanny, pid, error: it vanished together with its worker",
    "nanny-answers": "nanny, pid: it lives, but says nothing of the worker's end",
    "worker-closing": "reason",
    "worker-status": "before, after",
    "worker-restarted-for-memory": "pid, rss",
    "worker-failed-hard": "message: an error inside Dask's own worker code",
    "worker-ttl": "ttl",
    "workers-retired": "workers",
    "actor-lost": "worker: it held the actor of that key, and is gone",
    "graph-updated": "client, graph (number), tasks, keys_total, prefixes {name: n}, duration, annotations, new {prefix: [tasks that are new, those of them without inputs]}, edges, code {prefix: hash of its functions, told once}, functions {prefix: [module:name of the user's own in them]}, hollow [prefix that is called reading, and holds an empty table instead]",
    "graph-failed": "client, status",
    "client-added": "",
    "client-removed": "",
    "cluster-restarted": "",
    "scheduler-info": "address, dask, distributed, python, packages, config, host, pid, started",
    "packages": "role (scheduler, worker), packages {name: version}: all that is installed, image {variable: value}, config {setting: value} of a worker that are not the scheduler's (null: it has none); once for each that differs",
    "scheduler-closing": "reason, by: who asked for it",
    "recording-started": "",
    "capture-dropped": "dropped rows by kind, so far",
    "capture-failed": "doing, error",
    "p2p": "the message",
    "stall": "lasted, workers, statuses, paused, states, queued, processing, unrunnable, waiting, told (stacks and states by worker)",
    "stall-over": "lasted",
    "unrunnable": "lasted, tasks that no worker may run, with what they ask for, number of them; others may go on",
    "unrunnable-over": "",
    "stall-ended-run": "lasted, keys",
    "recorder-restarted": "times",
    "topic": "topic, message: what the user's own code logged with log_event",
    "span": "a part of the work, so far (id): name, parent, enqueued, start, stop, done, states, nbytes, durations, groups, all_groups, metrics",
    "fine-metrics": "totals since the scheduler's start: [[context, span or prefix, activity, unit, value]]; once before the first task if there were any",
    "process-load": "seconds, cpu, children, gc, host_busy, host_stolen, woken, late, waited (for the GIL), peak_memory, cores, native_threads, host_memory: every 10 s",
    "scheduler-load": "transitions, update_graph, longest_tick, steal_requests, steal_cost: since the scheduler's start; plugins: neither Dask's nor ours; stolen, steal_refused: since the recording began",
    "profile": "start, stop, asked, told (workers), tree; left_out_below: frames that were seen fewer times than that are not in it",
    "driver-attached": "pid, argv, cwd, python, packages, config, git, callable, parameters, client, image {variable: value}",
    "driver-code": "modules {name: hash} of the user's own, parts {module:name: file:line and hash}, machine, dirty: whether files differ from the git commit",
    "driver-warning": "category, message, filename, lineno",
    "driver-stood": "lasted (at one line of the user's), stack, connecting [{address, lasted}] (clients that have reached no scheduler yet)",
    "driver-moved": "lasted",
    "driver-exception": "exception, message, traceback, frames, chain, found: a module that was missing",
    "driver-load": "pid, seconds since it was attached; of its main thread: cpu, delayed (waited for a core)",
    "driver-ended": "state, exit_code, signal, oom_kills: of the kernel's, during the run",
    "driver-lost": "pid, how it was noticed, exit_code: negative for a signal, oom_kills",
    "scheduler-lost": "address, error",
    "scheduler-silent": "error: it has not answered for ten seconds; it may come back, and has its rows",
    "scheduler-answers": "lasted: after so many seconds of silence",
    "capsule-coming": "number (on that worker), prefix, worker: it keeps this failed task with its inputs",
    "capsule-kept": "number (of the file), prefix, worker, function, inputs [n], left_out, redacted, size, sha256, instead_of [number]",
    "capsule-lost": "prefix, worker, error: why it is not in the store",
}
"""Kinds of the `event` rows and what their detail holds."""
