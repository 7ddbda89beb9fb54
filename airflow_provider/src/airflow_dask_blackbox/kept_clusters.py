"""Clusters that outlive the task that starts them: started, listed, and closed by address."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.cluster_process import KEEP, Answer, Note, StartRequest
from airflow_dask_blackbox.clusters import (
    OWN_PROCESS_ONLY,
    ClusterSpec,
    importable_airflow,
    prepared,
)
from airflow_dask_blackbox.compat import AirflowException
from airflow_dask_blackbox.shipping import shipped_by_value, unimportable_module_of
from airflow_dask_blackbox.task_log import Log

__all__ = ["KeptCluster", "close_at"]

_CLOSING: Final = "10 s"
_POD: Final = "AIRFLOW_IS_K8S_EXECUTOR_POD"
"""Set in pods that Airflow's KubernetesExecutor starts for a task."""
_ENDS_WITH_POD: Final = (
    "This task runs in a pod of its own. The scheduler of a {kind} is a process of that "
    "pod, and the cluster ends with that pod: the tasks after this one will not reach it. "
    "{instead}"
)
_LEFT_BY_POD: Final = (
    "This task runs in a pod of its own, and so does the process that closes its {kind}. "
    "The scheduler runs elsewhere: if it outlives the pod, tasks reach it and the "
    "teardown ends it and its workers, but what else a {kind} has made there may stay. "
    "{instead}"
)
_INSTEAD: Final = (
    "Use a class whose clusters are found again by their name, such as "
    "dask_kubernetes.operator.KubeCluster, dask_gateway.GatewayCluster or "
    "coiled.Cluster, or give each task a cluster of its own"
)
_ONLY_HERE: Final = (
    "; tasks on other machines do not reach it, unless it has "
    'cluster_kwargs={"host": "0.0.0.0"}'
)


class KeptCluster:
    """A cluster in a process of its own, of one task instance.

    Args:
        key: Of the task instance that starts it.
        log: Of that task.
    """

    def __init__(self, key: TaskKey, log: Log) -> None:
        self._key, self._log = key, log
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def of(cls, ti: object, log: Log) -> KeptCluster:
        """Return the cluster of a task instance."""
        return cls(TaskKey.of(ti), log)

    def start(
        self,
        cluster: ClusterSpec,
        *,
        cluster_kwargs: Mapping[str, Any],
        adapt: Mapping[str, Any] | None,
        idle_timeout: str,
    ) -> tuple[str, str]:
        """Start the cluster; return its address, and its dashboard's.

        Raises:
            OperatorConfigurationError: if an argument cannot work.
            AirflowException: if it does not start, with what it raised.
        """
        self._close_earlier()
        start = prepared(cluster, cluster_kwargs, adapt)
        if isinstance(start, str):
            raise AirflowException(
                f"the cluster at {start!r} already exists, so no task has to start it; "
                "pass its address to the tasks"
            )
        process = self._process = self._start_process()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018
        what = _pickled(start, adapt)
        request = StartRequest(
            path=sys.path,
            folder=str(Path.cwd()),
            note=str(_state_file(self._key)),
            idle_timeout=idle_timeout,
            size=len(what),
        )
        process.stdin.write(msgspec.json.encode(request) + b"\n" + what)
        process.stdin.flush()
        line = process.stdout.readline() or b"{}"
        answer = msgspec.json.decode(line, type=Answer)
        if not answer.address:
            self.abandon()
            process.wait()
            why = answer.error or "its process ended"
            raise AirflowException(f"the cluster did not start: {why}")
        if answer.address.startswith("inproc:"):
            self.abandon()
            process.wait()
            raise OperatorConfigurationError(OWN_PROCESS_ONLY)
        with process.stdin, process.stdout:
            process.stdin.write(KEEP)
        # It stays; Python would warn of a child that nobody has waited for.
        process.returncode = 0
        self._process = None
        is_pod = _POD in os.environ
        loopback = "://127." in answer.address and not is_pod
        only_here = _ONLY_HERE if loopback else ""
        self._log.info("The cluster is at %s%s", answer.address, only_here)
        if is_pod:
            text = _ENDS_WITH_POD if answer.here else _LEFT_BY_POD
            said = text.format(kind=answer.kind, instead=_INSTEAD)
            self._log.warning("%s", said)
        return answer.address, answer.dashboard

    def _start_process(self) -> subprocess.Popen[bytes]:
        note = _state_file(self._key)
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # The task's own streams end with it, and a worker may print at any time.
        with note.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "airflow_dask_blackbox.cluster_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **importable_airflow()},
                start_new_session=True,
            )

    def abandon(self) -> None:
        """Have a cluster closed whose address nobody has got yet."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def _close_earlier(self) -> None:
        """Close what an earlier try of this task started, and nobody has closed."""
        note = _state_file(self._key)
        with suppress(OSError, msgspec.MsgspecError):
            address = msgspec.json.decode(note.read_bytes(), type=Note).address
            self._log.info("An earlier try left a cluster at %s", address)
            close_at(address, self._log)


def close_at(address: str, log: Log) -> None:
    """Close the cluster whose scheduler is at an address, if there is one."""
    from distributed import Client

    try:
        client = Client(address, timeout=_CLOSING, set_as_default=False)
    except OSError:
        log.info("The cluster at %s is closed already", address)
        return
    client.shutdown()
    log.info("The cluster at %s is closed", address)


def _pickled(start: partial[Any], adapt: Mapping[str, Any] | None) -> bytes:
    import cloudpickle

    with shipped_by_value(unimportable_module_of(start)):
        return bytes(cloudpickle.dumps((start, adapt)))  # type: ignore[no-untyped-call]


def _state_file(key: TaskKey) -> Path:
    from dask_blackbox.recorder.spool_folder import chosen_spool

    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    spool = chosen_spool()
    return spool.with_name("clusters") / f"{digest}.json"
