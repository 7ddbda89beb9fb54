"""The rules, in the order in which they are asked: causes before symptoms."""

from __future__ import annotations

from dask_blackbox.analyse.rule import Rule
from dask_blackbox.analyse.rules.actor_lost import ACTOR_LOST
from dask_blackbox.analyse.rules.cancelled import CANCELLED
from dask_blackbox.analyse.rules.cannot_connect import CANNOT_CONNECT
from dask_blackbox.analyse.rules.chunks_too_large import CHUNKS_TOO_LARGE
from dask_blackbox.analyse.rules.cluster_lost_worker import CLUSTER_LOST_WORKER
from dask_blackbox.analyse.rules.cpu_oversubscribed import CPU_OVERSUBSCRIBED
from dask_blackbox.analyse.rules.data_lost import DATA_LOST
from dask_blackbox.analyse.rules.dependency_not_serializable import (
    DEPENDENCY_NOT_SERIALIZABLE,
)
from dask_blackbox.analyse.rules.disk_full import DISK_FULL
from dask_blackbox.analyse.rules.driver_bound import DRIVER_BOUND
from dask_blackbox.analyse.rules.driver_exception import DRIVER_EXCEPTION
from dask_blackbox.analyse.rules.driver_killed import DRIVER_KILLED
from dask_blackbox.analyse.rules.environment_mismatch import ENVIRONMENT_MISMATCH
from dask_blackbox.analyse.rules.event_loop_blocked import EVENT_LOOP_BLOCKED
from dask_blackbox.analyse.rules.gc_time import GC_TIME
from dask_blackbox.analyse.rules.gil_bound import GIL_BOUND
from dask_blackbox.analyse.rules.graph_not_deserializable import (
    GRAPH_NOT_DESERIALIZABLE,
)
from dask_blackbox.analyse.rules.graph_not_serializable import GRAPH_NOT_SERIALIZABLE
from dask_blackbox.analyse.rules.io_bound import IO_BOUND
from dask_blackbox.analyse.rules.kernel_oom import KERNEL_OOM
from dask_blackbox.analyse.rules.key_collision import KEY_COLLISION
from dask_blackbox.analyse.rules.known_bug import KNOWN_BUG
from dask_blackbox.analyse.rules.large_graph import LARGE_GRAPH
from dask_blackbox.analyse.rules.memory_forecast import MEMORY_FORECAST
from dask_blackbox.analyse.rules.memory_leak import MEMORY_LEAK
from dask_blackbox.analyse.rules.memory_limit_ignored import MEMORY_LIMIT_IGNORED
from dask_blackbox.analyse.rules.memory_near_limit import MEMORY_NEAR_LIMIT
from dask_blackbox.analyse.rules.module_not_shipped import MODULE_NOT_SHIPPED
from dask_blackbox.analyse.rules.more_memory_than_usual import (
    MORE_MEMORY_THAN_USUAL,
)
from dask_blackbox.analyse.rules.nested_client_deadlock import NESTED_CLIENT_DEADLOCK
from dask_blackbox.analyse.rules.network_bound import NETWORK_BOUND
from dask_blackbox.analyse.rules.no_valid_worker import NO_VALID_WORKER
from dask_blackbox.analyse.rules.overproduction import OVERPRODUCTION
from dask_blackbox.analyse.rules.p2p_failed import P2P_FAILED
from dask_blackbox.analyse.rules.p2p_out_of_disk import P2P_OUT_OF_DISK
from dask_blackbox.analyse.rules.recomputed_work import RECOMPUTED_WORK
from dask_blackbox.analyse.rules.recording_incomplete import RECORDING_INCOMPLETE
from dask_blackbox.analyse.rules.result_not_serializable import RESULT_NOT_SERIALIZABLE
from dask_blackbox.analyse.rules.result_too_large import RESULT_TOO_LARGE
from dask_blackbox.analyse.rules.retries_hid_errors import RETRIES_HID_ERRORS
from dask_blackbox.analyse.rules.rule_failed import RULE_FAILED
from dask_blackbox.analyse.rules.scheduler_lost import SCHEDULER_LOST
from dask_blackbox.analyse.rules.scheduler_overloaded import SCHEDULER_OVERLOADED
from dask_blackbox.analyse.rules.shuffle_restarted import SHUFFLE_RESTARTED
from dask_blackbox.analyse.rules.silent_empty_input import SILENT_EMPTY_INPUT
from dask_blackbox.analyse.rules.slower_than_usual import SLOWER_THAN_USUAL
from dask_blackbox.analyse.rules.spilling import SPILLING
from dask_blackbox.analyse.rules.stalled import STALLED
from dask_blackbox.analyse.rules.stealing_churn import STEALING_CHURN
from dask_blackbox.analyse.rules.straggler import STRAGGLER
from dask_blackbox.analyse.rules.task_exception import TASK_EXCEPTION
from dask_blackbox.analyse.rules.task_memory_error import TASK_MEMORY_ERROR
from dask_blackbox.analyse.rules.tiny_tasks import TINY_TASKS
from dask_blackbox.analyse.rules.tls_misconfigured import TLS_MISCONFIGURED
from dask_blackbox.analyse.rules.too_many_open_files import TOO_MANY_OPEN_FILES
from dask_blackbox.analyse.rules.unknown import UNKNOWN
from dask_blackbox.analyse.rules.worker_abort import WORKER_ABORT
from dask_blackbox.analyse.rules.worker_exit import WORKER_EXIT
from dask_blackbox.analyse.rules.worker_heartbeat_timeout import (
    WORKER_HEARTBEAT_TIMEOUT,
)
from dask_blackbox.analyse.rules.worker_host_lost import WORKER_HOST_LOST
from dask_blackbox.analyse.rules.worker_lifetime import WORKER_LIFETIME
from dask_blackbox.analyse.rules.worker_memory_limit import WORKER_MEMORY_LIMIT
from dask_blackbox.analyse.rules.worker_preempted import WORKER_PREEMPTED
from dask_blackbox.analyse.rules.worker_segfault import WORKER_SEGFAULT
from dask_blackbox.analyse.rules.worker_signalled import WORKER_SIGNALLED
from dask_blackbox.analyse.rules.worker_start_failed import WORKER_START_FAILED
from dask_blackbox.analyse.rules.workers_died import WORKERS_DIED
from dask_blackbox.analyse.rules.workers_idle import WORKERS_IDLE
from dask_blackbox.analyse.rules.workers_never_arrived import WORKERS_NEVER_ARRIVED
from dask_blackbox.analyse.rules.workers_paused import WORKERS_PAUSED

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    # What the scheduler or the driver says in so many words.
    RESULT_TOO_LARGE,
    GRAPH_NOT_DESERIALIZABLE,
    GRAPH_NOT_SERIALIZABLE,
    RESULT_NOT_SERIALIZABLE,
    TLS_MISCONFIGURED,
    WORKER_START_FAILED,
    WORKER_LIFETIME,
    NO_VALID_WORKER,
    WORKERS_NEVER_ARRIVED,
    ACTOR_LOST,
    DATA_LOST,
    SCHEDULER_LOST,
    P2P_OUT_OF_DISK,
    P2P_FAILED,
    TOO_MANY_OPEN_FILES,
    # What stood still, while nothing raised anything.
    CLUSTER_LOST_WORKER,
    DISK_FULL,
    WORKERS_PAUSED,
    DEPENDENCY_NOT_SERIALIZABLE,
    NESTED_CLIENT_DEADLOCK,
    # What the workers died of.
    MODULE_NOT_SHIPPED,
    ENVIRONMENT_MISMATCH,
    WORKER_MEMORY_LIMIT,
    KERNEL_OOM,
    WORKER_SEGFAULT,
    WORKER_ABORT,
    WORKER_EXIT,
    WORKER_HEARTBEAT_TIMEOUT,
    WORKER_PREEMPTED,
    WORKER_HOST_LOST,
    WORKER_SIGNALLED,
    # What a task raised, or the driver.
    TASK_MEMORY_ERROR,
    TASK_EXCEPTION,
    CANNOT_CONNECT,
    CANCELLED,
    STALLED,
    DRIVER_EXCEPTION,
    DRIVER_KILLED,
    UNKNOWN,
    # What is good to know although it succeeded.
    WORKERS_DIED,
    RETRIES_HID_ERRORS,
    KEY_COLLISION,
    SILENT_EMPTY_INPUT,
    MEMORY_NEAR_LIMIT,
    SPILLING,
    # Where the time and the memory went.
    SHUFFLE_RESTARTED,
    RECOMPUTED_WORK,
    STRAGGLER,
    SCHEDULER_OVERLOADED,  # before its symptom, tasks that are late
    TINY_TASKS,
    GIL_BOUND,
    NETWORK_BOUND,
    WORKERS_IDLE,
    CPU_OVERSUBSCRIBED,
    IO_BOUND,
    DRIVER_BOUND,
    EVENT_LOOP_BLOCKED,
    GC_TIME,
    STEALING_CHURN,
    LARGE_GRAPH,
    CHUNKS_TOO_LARGE,
    OVERPRODUCTION,
    MEMORY_LEAK,
    MEMORY_LIMIT_IGNORED,
    KNOWN_BUG,
    # What is unusual for the job.
    SLOWER_THAN_USUAL,
    MORE_MEMORY_THAN_USUAL,
    MEMORY_FORECAST,
    RECORDING_INCOMPLETE,
    RULE_FAILED,  # the last: of whom it tells has been asked
)
