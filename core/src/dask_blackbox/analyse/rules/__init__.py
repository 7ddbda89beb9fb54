"""The rules, by phenomenon; in which order they are asked is of no account."""

from __future__ import annotations

from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules.analysis import (
    RECORDING_INCOMPLETE,
    RULE_FAILED,
    SLOWER_THAN_USUAL,
)
from dask_blackbox.analyse.rules.connections import (
    CANNOT_CONNECT,
    TLS_MISCONFIGURED,
    TOO_MANY_OPEN_FILES,
)
from dask_blackbox.analyse.rules.data import (
    DATA_LOST,
    KEY_COLLISION,
    SILENT_EMPTY_INPUT,
)
from dask_blackbox.analyse.rules.driver import (
    DRIVER_EXCEPTION,
    PART_FAILED,
    UNKNOWN,
)
from dask_blackbox.analyse.rules.driver_stopped import (
    CANCELLED,
    CLUSTER_ORPHANED,
    DRIVER_KILLED,
    STOPPED_BY_HOST,
)
from dask_blackbox.analyse.rules.environment import (
    ENVIRONMENT_MISMATCH,
    KNOWN_BUG,
    MODULE_NOT_SHIPPED,
)
from dask_blackbox.analyse.rules.hangs import (
    CLUSTER_LOST_WORKER,
    DISK_FULL,
    NESTED_CLIENT_DEADLOCK,
    STALLED,
    WORKERS_PAUSED,
)
from dask_blackbox.analyse.rules.memory import (
    MEMORY_FORECAST,
    MEMORY_LIMIT_IGNORED,
    MEMORY_NEAR_LIMIT,
    MORE_MEMORY_THAN_USUAL,
    RESULT_TOO_LARGE,
    TASK_MEMORY_ERROR,
)
from dask_blackbox.analyse.rules.memory_use import (
    CHUNKS_TOO_LARGE,
    MEMORY_LEAK,
    OVERPRODUCTION,
    SPILLING,
)
from dask_blackbox.analyse.rules.performance_scheduler import (
    EVENT_LOOP_BLOCKED,
    LARGE_GRAPH,
    SCHEDULER_OVERLOADED,
)
from dask_blackbox.analyse.rules.performance_waiting import (
    CPU_OVERSUBSCRIBED,
    DRIVER_BOUND,
    GC_TIME,
    GIL_BOUND,
    IO_BOUND,
    NETWORK_BOUND,
)
from dask_blackbox.analyse.rules.performance_work import (
    RECOMPUTED_WORK,
    STEALING_CHURN,
    STRAGGLER,
    TINY_TASKS,
    WORKERS_IDLE,
)
from dask_blackbox.analyse.rules.scheduler import (
    SCHEDULER_LOST,
)
from dask_blackbox.analyse.rules.serialization import (
    DEPENDENCY_NOT_SERIALIZABLE,
    GRAPH_NOT_DESERIALIZABLE,
    GRAPH_NOT_SERIALIZABLE,
    RESULT_NOT_SERIALIZABLE,
)
from dask_blackbox.analyse.rules.shuffle import (
    P2P_FAILED,
    P2P_OUT_OF_DISK,
    SHUFFLE_RESTARTED,
)
from dask_blackbox.analyse.rules.startup import (
    NO_VALID_WORKER,
    WORKER_START_FAILED,
    WORKERS_NEVER_ARRIVED,
)
from dask_blackbox.analyse.rules.tasks import (
    ACTOR_LOST,
    RETRIES_HID_ERRORS,
    TASK_EXCEPTION,
)
from dask_blackbox.analyse.rules.worker_deaths import (
    KERNEL_OOM,
    WORKER_ABORT,
    WORKER_EXIT,
    WORKER_HEARTBEAT_TIMEOUT,
    WORKER_HOST_LOST,
    WORKER_LIFETIME,
    WORKER_MEMORY_LIMIT,
    WORKER_PREEMPTED,
    WORKER_SEGFAULT,
    WORKER_SIGNALLED,
    WORKERS_DIED,
)

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    # What worker processes ended of.
    WORKER_MEMORY_LIMIT,
    KERNEL_OOM,
    WORKER_SEGFAULT,
    WORKER_ABORT,
    WORKER_EXIT,
    WORKER_HEARTBEAT_TIMEOUT,
    WORKER_SIGNALLED,
    WORKER_PREEMPTED,
    WORKER_HOST_LOST,
    WORKER_LIFETIME,
    WORKERS_DIED,
    # What did not fit into memory, or nearly did not.
    TASK_MEMORY_ERROR,
    RESULT_TOO_LARGE,
    MEMORY_NEAR_LIMIT,
    MEMORY_LIMIT_IGNORED,
    MEMORY_FORECAST,
    MORE_MEMORY_THAN_USUAL,
    # What memory was used for.
    MEMORY_LEAK,
    SPILLING,
    CHUNKS_TOO_LARGE,
    OVERPRODUCTION,
    # What could not be pickled, or not be read where it arrived.
    GRAPH_NOT_SERIALIZABLE,
    GRAPH_NOT_DESERIALIZABLE,
    RESULT_NOT_SERIALIZABLE,
    DEPENDENCY_NOT_SERIALIZABLE,
    # What the workers' environment lacks, or has in another version.
    ENVIRONMENT_MISMATCH,
    MODULE_NOT_SHIPPED,
    KNOWN_BUG,
    # Workers that did not start, did not arrive, or could not run a task.
    WORKER_START_FAILED,
    WORKERS_NEVER_ARRIVED,
    NO_VALID_WORKER,
    # Connections that could not be made, and the file descriptors that they need.
    CANNOT_CONNECT,
    TLS_MISCONFIGURED,
    TOO_MANY_OPEN_FILES,
    # Why no task finished, where nothing raised an exception.
    STALLED,
    WORKERS_PAUSED,
    DISK_FULL,
    NESTED_CLIENT_DEADLOCK,
    CLUSTER_LOST_WORKER,
    # What tasks and actors raised.
    TASK_EXCEPTION,
    RETRIES_HID_ERRORS,
    ACTOR_LOST,
    # P2P shuffles that failed or restarted.
    P2P_FAILED,
    P2P_OUT_OF_DISK,
    SHUFFLE_RESTARTED,
    # What the driver itself raised, and what nothing explains.
    DRIVER_EXCEPTION,
    PART_FAILED,
    UNKNOWN,
    # Drivers, and their work, that somebody stopped.
    DRIVER_KILLED,
    CANCELLED,
    STOPPED_BY_HOST,
    CLUSTER_ORPHANED,
    # Schedulers that were lost.
    SCHEDULER_LOST,
    # Where the scheduler was the bottleneck.
    SCHEDULER_OVERLOADED,
    EVENT_LOOP_BLOCKED,
    LARGE_GRAPH,
    # Data that was lost, empty or mixed up.
    DATA_LOST,
    SILENT_EMPTY_INPUT,
    KEY_COLLISION,
    # Where core time went: too little, too much or uneven work.
    TINY_TASKS,
    STRAGGLER,
    WORKERS_IDLE,
    RECOMPUTED_WORK,
    STEALING_CHURN,
    # What tasks and threads waited for.
    GIL_BOUND,
    CPU_OVERSUBSCRIBED,
    IO_BOUND,
    GC_TIME,
    NETWORK_BOUND,
    DRIVER_BOUND,
    # What is unusual for the job, and what the analysis itself lacks.
    SLOWER_THAN_USUAL,
    RECORDING_INCOMPLETE,
    RULE_FAILED,
)
