"""What distributed logs and raises."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

# Ends of worker processes

WORKER_OVER_MEMORY_BUDGET = Signature(
    r"Worker (?P<address>\S+) \(pid=(?P<pid>\d+)\) exceeded (?:(?P<share>\d+)%)?.*memory budget",
    "Worker tcp://127.0.0.1:4001 (pid=12) exceeded 95% memory budget. Restarting...",
)
NANNY_KILLED_BY_SIGNAL = Signature(
    r"Worker process (?P<pid>\d+) was killed by signal (?P<signal>\d+)",
    "Worker process 12 was killed by signal 11",
)
NANNY_KILLED_BY_UNKNOWN_SIGNAL = Signature(
    r"Worker process (?P<pid>\d+) was killed by unknown signal",
    "Worker process 12 was killed by unknown signal",
)
NANNY_EXIT_STATUS = Signature(
    r"Worker process (?P<pid>\d+) exited with status (?P<status>\d+)",
    "Worker process 12 exited with status 3",
)
NANNY_CLOSING = Signature(
    r"Closing Nanny(?: gracefully)? at '?(?P<address>\S+?)'?\. Reason: (?P<reason>\S+)",
    "Closing Nanny at 'tcp://127.0.0.1:4002'. Reason: nanny-close",
)
WORKER_STOPPING = Signature(
    r"Stopping worker at (?P<address>\S+)\. Reason: (?P<reason>\S+)",
    "Stopping worker at tcp://127.0.0.1:4002. Reason: worker-close",
)
NANNY_STARTED = Signature(
    r"Start Nanny at: '(?P<address>[^']+)'",
    "        Start Nanny at: 'tcp://127.0.0.1:4002'",
)
NANNY_CLOSED = Signature(
    r"Nanny at '?(?P<address>\S+?)'? closed", "Nanny at 'tcp://127.0.0.1:4002' closed."
)
NANNY_RESTARTS_WORKER = Signature(
    r"Restarting worker", "Restarting worker (status=running)"
)
SIGNAL_RECEIVED = Signature(
    r"Received signal \w+ \((?P<signal>\d+)\)", "Received signal SIGTERM (15)"
)
TASK_KILLED_ITS_WORKERS = Signature(
    r"Attempted to run task '?(?P<key>.+?)'? on \d+ different workers",
    (
        "Attempted to run task 'hog-1' on 4 different workers, but all those workers "
        "died while running it. The last worker that attempt to run the task was "
        "tcp://127.0.0.1:4001. Inspecting worker logs is often a good next step to "
        "diagnose what went wrong. For more information see "
        "https://distributed.dask.org/en/stable/killed.html."
    ),
)
COMM_CLOSED = Signature(
    r"\(closed\) [^>]*\bremote=(?P<address>[^\s>]+)>",
    (
        "in <TCP (closed) ConnectionPool.gather local=tcp://127.0.0.1:1 "
        "remote=tcp://127.0.0.1:4001>: Stream is closed"
    ),
)

# Graphs

GRAPH_HAS_A_CYCLE = Signature(
    r"Cycle detected (?:between the following keys|in Dask)",
    "Cycle detected between the following keys:\n  -> a\n  -> b\n  -> a",
    source="dask",
)

# Starts of clusters, workers, plugins, preloads

CALLBACK_FAILED = Signature(
    r"Error in callback <(?:function|bound method) (?P<callback>[\w.<>]+)",
    "Error in callback <function on_tile at 0x7ff094985120> of <Future: finished, type: dict>:",
)

CLUSTER_FAILED_TO_START = Signature(
    r"^Cluster failed to start: ",
    "Cluster failed to start: [Errno 13] Permission denied: '/scratch/dask'",
)

PROCESS_FAILED_TO_START = Signature(
    r"(?P<who>Nanny|Worker|Scheduler) failed to start", "Worker failed to start."
)
NANNY_PROCESS_FAILED = Signature(r"Failed to start process", "Failed to start process")
WORKER_NOT_CONNECTED = Signature(
    r"Worker failed to connect", "Worker failed to connect", since="2026.8.0"
)
SEVERAL_PLUGINS_FAILED = Signature(
    r"Multiple plugin exceptions raised",
    "Multiple plugin exceptions raised. All exceptions will be logged, the first is raised.",
)
WORKER_NAME_TAKEN = Signature(
    r"Unexpected response from register: .*name taken, (?P<name>[^'\"]+)",
    "Unexpected response from register: {'status': 'error', 'message': 'name taken, w1'}",
)
WORKER_PLUGIN_FAILED = Signature(
    r"Worker plugin (?P<what>.+?) failed to setup",
    "Worker plugin Models failed to setup",
)
WORKER_PLUGIN_STARTED = Signature(
    r"Starting Worker plugin (?P<what>.+)", "Starting Worker plugin lexicon"
)
NANNY_PLUGIN_FAILED = Signature(
    r"Nanny plugin (?P<what>.+?) failed to setup", "Nanny plugin Models failed to setup"
)
PRELOAD_FAILED = Signature(
    r"Failed to start preload: (?P<what>\S+)", "Failed to start preload: models.py"
)
PRELOAD_SET_UP = Signature(
    r"Run preload setup: (?P<what>\S+)", "Run preload setup: models.py"
)
WORKER_LISTENS = Signature(
    r"Start worker at:\s+(?P<address>\S+)",
    "Start worker at:      tcp://127.0.0.1:34563",
)
NANNY_START_GIVEN_UP = Signature(
    r"failure-to-start|nanny-start-failed|nanny-instantiate-failed",
    "nanny-instantiate-failed",
)
START_TIMED_OUT = Signature(
    r"Reason: failure-to-start-<class 'TimeoutError'>",
    "Reason: failure-to-start-<class 'TimeoutError'>",
)
WORKERS_DID_NOT_ARRIVE = Signature(
    r"Only (?P<came>\d+)/(?P<wanted>\d+) workers arrived after (?P<waited>[\w. ]+)",
    "Only 0/2 workers arrived after 30 s",
)
NO_WORKER_TO_SCATTER_TO = Signature(r"No valid workers found", "No valid workers found")
NO_WORKER_FOR_TASK = Signature(
    (
        r"Attempted to run task '?(?P<key>.+?)'? but timed out after "
        r"(?P<waited>[\d.]{1,20} ?\w{1,20}) waiting"
    ),
    (
        "Attempted to run task 'fit-1' but timed out after 4.00 s waiting for a valid worker "
        "matching all restrictions.\n\nRestrictions:\nhost_restrictions={'10.0.0.5'}\n"
        "worker_restrictions=set()\nresource_restrictions={'GPU': 2.0}\n"
    ),
)

# Connections

CONNECT_TIMED_OUT = Signature(
    (
        r"Timed out (?:trying to connect|during handshake while connecting) to "
        r"'?(?P<address>[\w+]+://[^\s']+?)'? after (?P<waited>[\d.]+) ?s"
    ),
    "Timed out trying to connect to tcp://127.0.0.1:9 after 30 s",
)
SCHEDULER_CONNECTION_LOST = Signature(
    r"scheduler-connection-lost|Client is closed|lost the connection to the scheduler",
    (
        "Client lost the connection to the scheduler. Please check your connection and "
        "re-run your work."
    ),
)
IOLOOP_CLOSED = Signature(r"\AIOLoop is closed", "IOLoop is closed")
INTERFACE_NOT_USABLE = Signature(
    r"'(?P<interface>[^']+)' (?:is not a valid network interface|doesn't have an IPv4 address)",
    "'ib0' is not a valid network interface. Valid network interfaces are: ['lo', 'eth0']",
)
DATASET_NOT_FOUND = Signature(
    r"Dataset '(?P<what>[^']+)' not found", "Dataset 'rates' not found"
)
TLS_HANDSHAKE_FAILED = Signature(
    r"TLS handshake failed with remote",
    (
        "Listener on 'tls://127.0.0.1:1': TLS handshake failed with remote "
        "'tls://127.0.0.1:2': EOF occurred"
    ),
)
TLS_CERTIFICATE_DIFFERS = Signature(
    r"TLS certificate does not match",
    (
        "TLS certificate does not match. Check your security settings. More info at "
        "https://distributed.dask.org/en/latest/tls.html"
    ),
)
TLS_WITHOUT_CONTEXT = Signature(
    r"TLS expects a `ssl_context` argument",
    (
        "TLS expects a `ssl_context` argument of type ssl.SSLContext (perhaps check your TLS "
        "configuration?)  Instead got None"
    ),
)
TLS_REQUIRED = Signature(
    r"encryption required by Dask config",
    (
        "encryption required by Dask configuration, refusing communication from/to "
        "'tcp://127.0.0.1:1'"
    ),
)

# Graphs, pickles, results

LARGE_GRAPH_SENT = Signature(
    r"Sending large graph of size (?P<size>[\d.]+) (?P<unit>\w+)",
    (
        "Sending large graph of size 38.15 MiB.\nThis may cause some slowdown.\nConsider "
        "loading the data with Dask directly\n or using futures or delayed objects to embed "
        "the data into the graph without repetition.\nSee also "
        "https://docs.dask.org/en/stable/best-practices.html#load-data-with-dask for more "
        "information."
    ),
)
KEY_HAS_TWO_TASKS = Signature(
    r"Detected different `run_spec` for key (?P<key>.+?) between two",
    (
        "Detected different `run_spec` for key 'ck' between two consecutive calls to "
        "`update_graph`. This can cause failures and deadlocks down the line."
    ),
)
GRAPH_NOT_DESERIALIZED = Signature(
    r"Error during deserialization of the task graph",
    (
        "Error during deserialization of the task graph. This frequently\noccurs if the "
        "Scheduler and Client have different environments.\nFor more information, see\n"
        "https://docs.dask.org/en/stable/deployment-considerations.html"
        "#consistent-software-environments\n"
    ),
)
NOT_DESERIALIZED = Signature(r"Failed to deserialize", "Failed to deserialize")
NOT_SERIALIZED = Signature(
    r"Could not serialize object of type \(?'?(?P<type>[\w.]+)",
    "Could not serialize object of type lock",
)
PICKLE_FAILED = Signature(
    r"Failed to serialize <(?P<type>[\w.]+)",
    "Failed to serialize <Holder object at 0x7f>.",
)
INPUTS_EXCEED_MEMORY_LIMIT = Signature(
    (
        r"Task '?(?P<key>.+?)'? has (?P<inputs>[\d.]+ \w+) worth of input dependencies, "
        r"but worker (?P<worker>\S+) has memory_limit set to (?P<limit>[\d.]+ \w+)"
    ),
    (
        "Task 'finalize-1' has 1.49 GiB worth of input dependencies, but worker "
        "tcp://127.0.0.1:4001 has memory_limit set to 476.84 MiB."
    ),
)
LONG_MESSAGE_CUT = Signature(
    (
        r"(?s)\A\([\"']Long error message[\"'], "
        r"(?:<class '(?P<name>[\w.<>]+)'>, )?[\"'](?P<text>.*)$"
    ),
    "('Long error message', 'the first 10,000 characters')",
)

# Lost and cancelled work

WORK_CANCELLED = Signature(
    (
        r"(?:^|\s)(?P<key>\S+) cancelled for reason: (?P<reason>[^\n.]+)\.?"
        r"(?P<more>[^\n]*\n?[^\n]*)"
    ),
    "inc-1 cancelled for reason: scheduler-restart.",
)
CANCELLED_BY_DASK = frozenset(
    {"scheduler-connection-lost", "lost dependencies", "already forgotten"}
)
"""Reasons for which Dask itself cancels a future, and nobody has asked for it."""
CLIENT_CANCELS = Signature(
    r"\AClient (?P<client>\S+) requests to cancel (?P<number>\d+) keys",
    "Client Client-a1 requests to cancel 3 keys",
)
WORKER_WAITS_TO_CONNECT = Signature(
    r"Waiting to connect to:\s+(?P<address>\S+)",
    "Waiting to connect to:      tcp://127.0.0.1:8786",
)
HOST_NOT_RESOLVED = Signature(
    (
        r"Couldn't detect a suitable IP address for reaching '(?P<host>[^']+)', "
        r"defaulting to hostname: \[Errno -?\d+\]"
    ),
    (
        "Couldn't detect a suitable IP address for reaching 'dask-head', defaulting to "
        "hostname: [Errno -2] Name or service not known"
    ),
)
SCHEDULER_CANCELS = Signature(
    r"^Scheduler cancels key (?P<key>\S+?)\. ",
    "Scheduler cancels key inc-1.  Force=False",
)
ADAPTIVE_RETIRES = Signature(r"\ARetiring workers \[", "Retiring workers [1]")
FUNCTION_RUN_FAILED = Signature(
    r"\ARun Failed\nFunction: (?P<function>\S+)\n",
    "Run Failed\nFunction: load_tables\nargs:     ()\nkwargs:   {}\nValueError: no rows\n",
)
LOST_DATA_ASKED_FOR = Signature(
    r"computation on lost data\. Final key is (?P<final>.+) with missing dependency (?P<key>.+)",
    (
        "User asked for computation on lost data. Final key is inc-1 with missing dependency "
        "scattered-x"
    ),
    since="2025.5.1",
)
ACTOR_WORKER_LOST = Signature(
    r"Worker holding Actor was lost", "Worker holding Actor was lost"
)
ACTOR_UNREACHABLE = Signature(
    r"Unable to contact Actor's worker", "Unable to contact Actor's worker"
)

# Shuffles

SHUFFLE_INITIALIZED = Signature(
    r"Shuffle (?P<id>[0-9a-f]+) initialized by task (?P<key>.+?) executed",
    (
        "Shuffle 09ab initialized by task ('shuffle-transfer-1', 0) executed on worker "
        "tcp://127.0.0.1:4001"
    ),
)
SHUFFLE_RESTARTED_FOR = Signature(
    r"Shuffle (?P<id>\S+) restarted due to stimulus '(?P<stimulus>[^']*)'?",
    "Shuffle 09ab restarted due to stimulus 'handle-worker-cleanup-1",
)
SHUFFLE_PHASE_FAILED = Signature(
    (
        r"P2P (?:shuffling |rechunk\w* )?(?P<id>[0-9a-f]{8,})? ?failed during "
        r"(?P<phase>\w+) phase"
    ),
    "P2P 09abcdef01 failed during transfer phase",
)
SHUFFLE_OUT_OF_DISK = Signature(
    r"P2P ran out of available disk space",
    (
        "P2P ran out of available disk space while temporarily storing transferred data. "
        "Please make sure that P2P has enough disk space available by increasing the number "
        "of workers or the size of the attached disk."
    ),
)

# Memory, disk, event loops

SPILL_FAILED = Signature(
    r"Spill to disk failed", "Spill to disk failed; keeping data in memory"
)
SPILL_CAPPED = Signature(
    r"Spill file on disk reached capacity",
    "Spill file on disk reached capacity; keeping data in memory",
)
MEMORY_LIMIT_LOWERED = Signature(
    r"\AIgnoring provided memory limit",
    "Ignoring provided memory limit 100TB due to system memory limit of 23.54 GiB",
)
EVENT_LOOP_UNRESPONSIVE = Signature(
    r"Event loop was unresponsive in (?P<who>\w+) for (?P<time>[\d.]+)\s*(?P<unit>ms|s)\b",
    (
        "Event loop was unresponsive in Worker for 3.20s.  This is often caused by "
        "long-running GIL-holding functions or moving large chunks of data. This can cause "
        "timeouts and instability."
    ),
)
HEARTBEAT_RAISED = Signature(
    r"Unexpected exception during heartbeat",
    "Unexpected exception during heartbeat. Closing worker.",
)
BATCHED_WRITE_FAILED = Signature(r"Error in batched write", "Error in batched write")
MESSAGE_NOT_SERIALIZED = Signature(r"Failed to Serialize", "Failed to Serialize")
WORKER_PAUSED = Signature(
    r"Pausing worker",
    (
        "Worker is at 87% memory usage. Pausing worker.  Process memory: 416 MiB -- Worker "
        "memory limit: 476 MiB"
    ),
)
WORKER_RESUMED = Signature(
    r"Resuming worker",
    (
        "Worker is at 61% memory usage. Resuming worker. Process memory: 290 MiB -- Worker "
        "memory limit: 476 MiB"
    ),
)
UNMANAGED_MEMORY_HIGH = Signature(
    r"Unmanaged memory use is high",
    (
        "Unmanaged memory use is high. This may indicate a memory leak or the memory may not "
        "be released to the OS; see https://distributed.dask.org/en/latest/worker-memory.html"
        "#memory-not-released-back-to-the-os for more information. -- Unmanaged memory: 400 "
        "MiB -- Worker memory limit: 476 MiB"
    ),
)
