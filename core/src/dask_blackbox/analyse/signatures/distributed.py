"""What distributed logs and raises."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature, Source

_SOURCE: Source = "distributed"

# Ends of worker processes

WORKER_OVER_MEMORY_BUDGET = Signature(
    name="WORKER_OVER_MEMORY_BUDGET",
    source=_SOURCE,
    pattern=r"Worker (?P<address>\S+) \(pid=(?P<pid>\d+)\) exceeded .*memory budget",
    example=(
        "Worker tcp://127.0.0.1:4001 (pid=12) exceeded 95% memory budget. Restarting..."
    ),
)
NANNY_KILLED_BY_SIGNAL = Signature(
    name="NANNY_KILLED_BY_SIGNAL",
    source=_SOURCE,
    pattern=r"Worker process (?P<pid>\d+) was killed by signal (?P<signal>\d+)",
    example="Worker process 12 was killed by signal 11",
)
NANNY_KILLED_BY_UNKNOWN_SIGNAL = Signature(
    name="NANNY_KILLED_BY_UNKNOWN_SIGNAL",
    source=_SOURCE,
    pattern=r"Worker process (?P<pid>\d+) was killed by unknown signal",
    example="Worker process 12 was killed by unknown signal",
)
NANNY_EXIT_STATUS = Signature(
    name="NANNY_EXIT_STATUS",
    source=_SOURCE,
    pattern=r"Worker process (?P<pid>\d+) exited with status (?P<status>\d+)",
    example="Worker process 12 exited with status 3",
)
NANNY_CLOSING = Signature(
    name="NANNY_CLOSING",
    source=_SOURCE,
    pattern=r"Closing Nanny(?: gracefully)? at '?(?P<address>\S+?)'?\. Reason: (?P<reason>\S+)",
    example="Closing Nanny at 'tcp://127.0.0.1:4002'. Reason: nanny-close",
)
WORKER_STOPPING = Signature(
    name="WORKER_STOPPING",
    source=_SOURCE,
    pattern=r"Stopping worker at (?P<address>\S+)\. Reason: (?P<reason>\S+)",
    example="Stopping worker at tcp://127.0.0.1:4002. Reason: worker-close",
)
NANNY_STARTED = Signature(
    name="NANNY_STARTED",
    source=_SOURCE,
    pattern=r"Start Nanny at: '(?P<address>[^']+)'",
    example="        Start Nanny at: 'tcp://127.0.0.1:4002'",
)
NANNY_CLOSED = Signature(
    name="NANNY_CLOSED",
    source=_SOURCE,
    pattern=r"Nanny at '?(?P<address>\S+?)'? closed",
    example="Nanny at 'tcp://127.0.0.1:4002' closed.",
)
NANNY_RESTARTS_WORKER = Signature(
    name="NANNY_RESTARTS_WORKER",
    source=_SOURCE,
    pattern=r"Restarting worker",
    example="Restarting worker (status=running)",
)
SIGNAL_RECEIVED = Signature(
    name="SIGNAL_RECEIVED",
    source=_SOURCE,
    pattern=r"Received signal \w+ \((?P<signal>\d+)\)",
    example="Received signal SIGTERM (15)",
)
TASK_KILLED_ITS_WORKERS = Signature(
    name="TASK_KILLED_ITS_WORKERS",
    source=_SOURCE,
    pattern=r"Attempted to run task '?(?P<key>.+?)'? on \d+ different workers",
    example=(
        "Attempted to run task 'hog-1' on 4 different workers, but all those workers "
        "died while running it. The last worker that attempt to run the task was "
        "tcp://127.0.0.1:4001. Inspecting worker logs is often a good next step to "
        "diagnose what went wrong. For more information see "
        "https://distributed.dask.org/en/stable/killed.html."
    ),
)
TASK_CALLED_EXIT = Signature(
    name="TASK_CALLED_EXIT",
    source=_SOURCE,
    pattern=(
        r"""Unhandled exception in async instruction for .*?execute\(['"](?P<key>.+?)['"]\)"""
        r""".*?exception=SystemExit\((?P<said>.*?)\)>"""
    ),
    example=(
        "Unhandled exception in async instruction for <Task finished name=\"execute('leave-1')\" "
        "coro=<Worker.execute() done> exception=SystemExit(4)>"
    ),
)
COMM_CLOSED = Signature(
    name="COMM_CLOSED",
    source=_SOURCE,
    pattern=r"\(closed\) [^>]*\bremote=(?P<address>[^\s>]+)>",
    example=(
        "in <TCP (closed) ConnectionPool.gather local=tcp://127.0.0.1:1 "
        "remote=tcp://127.0.0.1:4001>: Stream is closed"
    ),
)

# Starts of workers, plugins, preloads

PROCESS_FAILED_TO_START = Signature(
    name="PROCESS_FAILED_TO_START",
    source=_SOURCE,
    pattern=r"(?P<who>Nanny|Worker|Scheduler) failed to start",
    example="Worker failed to start.",
)
NANNY_PROCESS_FAILED = Signature(
    name="NANNY_PROCESS_FAILED",
    source=_SOURCE,
    pattern=r"Failed to start process",
    example="Failed to start process",
)
WORKER_NOT_CONNECTED = Signature(
    name="WORKER_NOT_CONNECTED",
    source=_SOURCE,
    pattern=r"Worker failed to connect",
    example="Worker failed to connect",
    since="2026.8.0",
)
SEVERAL_PLUGINS_FAILED = Signature(
    name="SEVERAL_PLUGINS_FAILED",
    source=_SOURCE,
    pattern=r"Multiple plugin exceptions raised",
    example=(
        "Multiple plugin exceptions raised. All exceptions will be logged, the first is raised."
    ),
)
WORKER_PLUGIN_FAILED = Signature(
    name="WORKER_PLUGIN_FAILED",
    source=_SOURCE,
    pattern=r"Worker plugin (?P<what>.+?) failed to setup",
    example="Worker plugin Models failed to setup",
)
NANNY_PLUGIN_FAILED = Signature(
    name="NANNY_PLUGIN_FAILED",
    source=_SOURCE,
    pattern=r"Nanny plugin (?P<what>.+?) failed to setup",
    example="Nanny plugin Models failed to setup",
)
PRELOAD_FAILED = Signature(
    name="PRELOAD_FAILED",
    source=_SOURCE,
    pattern=r"Failed to start preload: (?P<what>\S+)",
    example="Failed to start preload: models.py",
)
NANNY_START_GIVEN_UP = Signature(
    name="NANNY_START_GIVEN_UP",
    source=_SOURCE,
    pattern=r"failure-to-start|nanny-start-failed|nanny-instantiate-failed",
    example="nanny-instantiate-failed",
)
WORKERS_DID_NOT_ARRIVE = Signature(
    name="WORKERS_DID_NOT_ARRIVE",
    source=_SOURCE,
    pattern=(
        r"Only (?P<came>\d+)/(?P<wanted>\d+) workers arrived after (?P<waited>[\w. ]+)"
    ),
    example="Only 0/2 workers arrived after 30 s",
)
NO_WORKER_TO_SCATTER_TO = Signature(
    name="NO_WORKER_TO_SCATTER_TO",
    source=_SOURCE,
    pattern=r"No valid workers found",
    example="No valid workers found",
)
NO_WORKER_FOR_TASK = Signature(
    name="NO_WORKER_FOR_TASK",
    source=_SOURCE,
    pattern=(
        r"Attempted to run task '?(?P<key>.+?)'? but timed out after "
        r"(?P<waited>[\d.]+ ?\w+) waiting"
    ),
    example=(
        "Attempted to run task 'fit-1' but timed out after 4.00 s waiting for a valid worker "
        "matching all restrictions.\n\nRestrictions:\nhost_restrictions={'10.0.0.5'}\n"
        "worker_restrictions=set()\nresource_restrictions={'GPU': 2.0}\n"
    ),
)
TASK_RESTRICTION = Signature(
    name="TASK_RESTRICTION",
    source=_SOURCE,
    pattern=r"(?P<kind>host|worker|resource)_restrictions=",
    example=(
        "Attempted to run task 'fit-1' but timed out after 4.00 s waiting for a valid worker "
        "matching all restrictions.\n\nRestrictions:\nhost_restrictions={'10.0.0.5'}\n"
        "worker_restrictions=set()\nresource_restrictions={'GPU': 2.0}\n"
    ),
)

# Connections

CONNECT_TIMED_OUT = Signature(
    name="CONNECT_TIMED_OUT",
    source=_SOURCE,
    pattern=(
        r"Timed out (?:trying to connect|during handshake while connecting) to "
        r"'?(?P<address>[\w+]+://[^\s']+?)'? after (?P<waited>[\d.]+) ?s"
    ),
    example="Timed out trying to connect to tcp://127.0.0.1:9 after 30 s",
)
SCHEDULER_CONNECTION_LOST = Signature(
    name="SCHEDULER_CONNECTION_LOST",
    source=_SOURCE,
    pattern=(
        r"scheduler-connection-lost|Client is closed|lost the connection to the scheduler"
    ),
    example=(
        "Client lost the connection to the scheduler. Please check your connection and "
        "re-run your work."
    ),
)
IOLOOP_CLOSED = Signature(
    name="IOLOOP_CLOSED",
    source=_SOURCE,
    pattern=r"\AIOLoop is closed",
    example="IOLoop is closed",
)
DATASET_NOT_FOUND = Signature(
    name="DATASET_NOT_FOUND",
    source=_SOURCE,
    pattern=r"Dataset '(?P<what>[^']+)' not found",
    example="Dataset 'rates' not found",
)
TLS_HANDSHAKE_FAILED = Signature(
    name="TLS_HANDSHAKE_FAILED",
    source=_SOURCE,
    pattern=r"TLS handshake failed with remote",
    example=(
        "Listener on 'tls://127.0.0.1:1': TLS handshake failed with remote "
        "'tls://127.0.0.1:2': EOF occurred"
    ),
)
TLS_CERTIFICATE_DIFFERS = Signature(
    name="TLS_CERTIFICATE_DIFFERS",
    source=_SOURCE,
    pattern=r"TLS certificate does not match",
    example=(
        "TLS certificate does not match. Check your security settings. More info at "
        "https://distributed.dask.org/en/latest/tls.html"
    ),
)
TLS_WITHOUT_CONTEXT = Signature(
    name="TLS_WITHOUT_CONTEXT",
    source=_SOURCE,
    pattern=r"TLS expects a `ssl_context` argument",
    example=(
        "TLS expects a `ssl_context` argument of type ssl.SSLContext (perhaps check your TLS "
        "configuration?)  Instead got None"
    ),
)
TLS_REQUIRED = Signature(
    name="TLS_REQUIRED",
    source=_SOURCE,
    pattern=r"encryption required by Dask config",
    example=(
        "encryption required by Dask configuration, refusing communication from/to "
        "'tcp://127.0.0.1:1'"
    ),
)

# Graphs, pickles, results

LARGE_GRAPH_SENT = Signature(
    name="LARGE_GRAPH_SENT",
    source=_SOURCE,
    pattern=r"Sending large graph of size (?P<size>[\d.]+) (?P<unit>\w+)",
    example=(
        "Sending large graph of size 38.15 MiB.\nThis may cause some slowdown.\nConsider "
        "loading the data with Dask directly\n or using futures or delayed objects to embed "
        "the data into the graph without repetition.\nSee also "
        "https://docs.dask.org/en/stable/best-practices.html#load-data-with-dask for more "
        "information."
    ),
)
KEY_HAS_TWO_TASKS = Signature(
    name="KEY_HAS_TWO_TASKS",
    source=_SOURCE,
    pattern=r"Detected different `run_spec` for key (?P<key>.+?) between two",
    example=(
        "Detected different `run_spec` for key 'ck' between two consecutive calls to "
        "`update_graph`. This can cause failures and deadlocks down the line."
    ),
)
GRAPH_NOT_DESERIALIZED = Signature(
    name="GRAPH_NOT_DESERIALIZED",
    source=_SOURCE,
    pattern=r"Error during deserialization of the task graph",
    example=(
        "Error during deserialization of the task graph. This frequently\noccurs if the "
        "Scheduler and Client have different environments.\nFor more information, see\n"
        "https://docs.dask.org/en/stable/deployment-considerations.html"
        "#consistent-software-environments\n"
    ),
)
NOT_DESERIALIZED = Signature(
    name="NOT_DESERIALIZED",
    source=_SOURCE,
    pattern=r"Failed to deserialize",
    example="Failed to deserialize",
)
NOT_SERIALIZED = Signature(
    name="NOT_SERIALIZED",
    source=_SOURCE,
    pattern=r"Could not serialize object of type \(?'?(?P<type>[\w.]+)",
    example="Could not serialize object of type lock",
)
PICKLE_FAILED = Signature(
    name="PICKLE_FAILED",
    source=_SOURCE,
    pattern=r"Failed to serialize <(?P<type>[\w.]+)",
    example="Failed to serialize <Holder object at 0x7f>.",
)
INPUTS_EXCEED_MEMORY_LIMIT = Signature(
    name="INPUTS_EXCEED_MEMORY_LIMIT",
    source=_SOURCE,
    pattern=(
        r"Task '?(?P<key>.+?)'? has (?P<inputs>[\d.]+ \w+) worth of input dependencies, "
        r"but worker (?P<worker>\S+) has memory_limit set to (?P<limit>[\d.]+ \w+)"
    ),
    example=(
        "Task 'finalize-1' has 1.49 GiB worth of input dependencies, but worker "
        "tcp://127.0.0.1:4001 has memory_limit set to 476.84 MiB."
    ),
)
LONG_MESSAGE_CUT = Signature(
    name="LONG_MESSAGE_CUT",
    source=_SOURCE,
    pattern=(
        r"(?s)\A\([\"']Long error message[\"'], "
        r"(?:<class '(?P<name>[\w.<>]+)'>, )?[\"'](?P<text>.*)$"
    ),
    example="('Long error message', 'the first 10,000 characters')",
)

# Lost and cancelled work

WORK_CANCELLED = Signature(
    name="WORK_CANCELLED",
    source=_SOURCE,
    pattern=(
        r"(?P<key>\S+) cancelled for reason: (?P<reason>[^\n.]+)\.?"
        r"(?P<more>[^\n]*\n?[^\n]*)"
    ),
    example="inc-1 cancelled for reason: scheduler-restart.",
)
CLIENT_CANCELS = Signature(
    name="CLIENT_CANCELS",
    source=_SOURCE,
    pattern=r"\AClient (?P<client>\S+) requests to cancel (?P<number>\d+) keys",
    example="Client Client-a1 requests to cancel 3 keys",
)
LOST_DATA_ASKED_FOR = Signature(
    name="LOST_DATA_ASKED_FOR",
    source=_SOURCE,
    pattern=(
        r"computation on lost data\. Final key is .+ with missing dependency (?P<key>.+)"
    ),
    example=(
        "User asked for computation on lost data. Final key is inc-1 with missing dependency "
        "scattered-x"
    ),
    since="2025.5.1",
)
ACTOR_WORKER_LOST = Signature(
    name="ACTOR_WORKER_LOST",
    source=_SOURCE,
    pattern=r"Worker holding Actor was lost",
    example="Worker holding Actor was lost",
)
ACTOR_UNREACHABLE = Signature(
    name="ACTOR_UNREACHABLE",
    source=_SOURCE,
    pattern=r"Unable to contact Actor's worker",
    example="Unable to contact Actor's worker",
)

# Shuffles

SHUFFLE_INITIALIZED = Signature(
    name="SHUFFLE_INITIALIZED",
    source=_SOURCE,
    pattern=r"Shuffle (?P<id>[0-9a-f]+) initialized by task (?P<key>.+?) executed",
    example=(
        "Shuffle 09ab initialized by task ('shuffle-transfer-1', 0) executed on worker "
        "tcp://127.0.0.1:4001"
    ),
)
SHUFFLE_RESTARTED_FOR = Signature(
    name="SHUFFLE_RESTARTED_FOR",
    source=_SOURCE,
    pattern=r"Shuffle (?P<id>\S+) restarted due to stimulus '(?P<stimulus>[^']*)'?",
    example="Shuffle 09ab restarted due to stimulus 'handle-worker-cleanup-1",
)
SHUFFLE_PHASE_FAILED = Signature(
    name="SHUFFLE_PHASE_FAILED",
    source=_SOURCE,
    pattern=(
        r"P2P (?:shuffling |rechunk\w* )?(?P<id>[0-9a-f]{8,})? ?failed during "
        r"(?P<phase>\w+) phase"
    ),
    example="P2P 09abcdef01 failed during transfer phase",
)
SHUFFLE_OUT_OF_DISK = Signature(
    name="SHUFFLE_OUT_OF_DISK",
    source=_SOURCE,
    pattern=r"P2P ran out of available disk space",
    example=(
        "P2P ran out of available disk space while temporarily storing transferred data. "
        "Please make sure that P2P has enough disk space available by increasing the number "
        "of workers or the size of the attached disk."
    ),
)

# Memory, disk, event loops

SPILL_FAILED = Signature(
    name="SPILL_FAILED",
    source=_SOURCE,
    pattern=r"Spill to disk failed",
    example="Spill to disk failed; keeping data in memory",
)
SPILL_CAPPED = Signature(
    name="SPILL_CAPPED",
    source=_SOURCE,
    pattern=r"Spill file on disk reached capacity",
    example="Spill file on disk reached capacity; keeping data in memory",
)
MEMORY_LIMIT_LOWERED = Signature(
    name="MEMORY_LIMIT_LOWERED",
    source=_SOURCE,
    pattern=r"\AIgnoring provided memory limit",
    example=(
        "Ignoring provided memory limit 100TB due to system memory limit of 23.54 GiB"
    ),
)
EVENT_LOOP_UNRESPONSIVE = Signature(
    name="EVENT_LOOP_UNRESPONSIVE",
    source=_SOURCE,
    pattern=(
        r"Event loop was unresponsive in (?P<who>\w+) for (?P<time>[\d.]+)\s*(?P<unit>ms|s)\b"
    ),
    example=(
        "Event loop was unresponsive in Worker for 3.20s.  This is often caused by "
        "long-running GIL-holding functions or moving large chunks of data. This can cause "
        "timeouts and instability."
    ),
)
HEARTBEAT_RAISED = Signature(
    name="HEARTBEAT_RAISED",
    source=_SOURCE,
    pattern=r"Unexpected exception during heartbeat",
    example="Unexpected exception during heartbeat. Closing worker.",
)
BATCHED_WRITE_FAILED = Signature(
    name="BATCHED_WRITE_FAILED",
    source=_SOURCE,
    pattern=r"Error in batched write",
    example="Error in batched write",
)
MESSAGE_NOT_SERIALIZED = Signature(
    name="MESSAGE_NOT_SERIALIZED",
    source=_SOURCE,
    pattern=r"Failed to Serialize",
    example="Failed to Serialize",
)
WORKER_PAUSED = Signature(
    name="WORKER_PAUSED",
    source=_SOURCE,
    pattern=r"Pausing worker",
    example=(
        "Worker is at 87% memory usage. Pausing worker.  Process memory: 416 MiB -- Worker "
        "memory limit: 476 MiB"
    ),
)
UNMANAGED_MEMORY_HIGH = Signature(
    name="UNMANAGED_MEMORY_HIGH",
    source=_SOURCE,
    pattern=r"Unmanaged memory use is high",
    example=(
        "Unmanaged memory use is high. This may indicate a memory leak or the memory may not "
        "be released to the OS; see https://distributed.dask.org/en/latest/worker-memory.html"
        "#memory-not-released-back-to-the-os for more information. -- Unmanaged memory: 400 "
        "MiB -- Worker memory limit: 476 MiB"
    ),
)
