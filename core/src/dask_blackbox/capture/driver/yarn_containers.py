"""What became of the containers of a `YarnCluster`, as its application master says it.

The master ends with the application.  So it is asked once, before the driver closes its client or
its cluster, in a thread that is not waited for any longer than `_LONGEST`.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .patches import Patches

_LONGEST = 1.5
"""Seconds that a closing client or cluster waits at most for what the master says."""
_MOST = 1_000
"""Containers of which it is said."""
_STATES = ("RUNNING", "SUCCEEDED", "FAILED", "KILLED")
_STOPS = "_stop_sync"
"""Ends the application, from whatever way a `YarnCluster` is closed."""
_USED = re.compile(
    r"([\d.]{1,12}) ?([KMGT])i?B of ([\d.]{1,12}) ?([KMGT])i?B (?:physical|virtual) memory"
)
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

Note = Callable[[str, str, "dict[str, object]"], None]


class YarnContainers:
    """Reports the states of containers, and which cluster object ends its application.

    Args:
        note: Takes kind, subject and particulars of an event; must not block.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._asked: weakref.WeakSet[object] = weakref.WeakSet()

    def watch(self, patches: Patches) -> None:
        """Watch the end of cluster objects of dask-yarn, if this process uses it."""
        owner = getattr(sys.modules.get("dask_yarn.core"), "YarnCluster", None)
        inner = getattr(owner, _STOPS, None)
        if owner is not None and inner is not None:
            patches.replace(owner, _STOPS, inner, self._watched(inner))

    def forget(self) -> None:
        """Ask once more: another recording begins."""
        self._asked = weakref.WeakSet()

    def _watched(self, inner: Any) -> object:
        @functools.wraps(inner)
        def stop(cluster: Any, *args: object, **kwargs: object) -> object:
            try:
                self._note("driver-closing", "driver", _closing(cluster))
                self.ask(cluster)
            except Exception:  # a failure of ours must not keep a cluster from closing
                pass
            return inner(cluster, *args, **kwargs)

        return stop

    def ask(self, cluster: object) -> None:
        """Report what the application master of a cluster says, if it is one of YARN's."""
        client = getattr(cluster, "__dict__", {}).get("application_client")
        asked = getattr(client, "get_containers", None)
        if asked is None or not _is_of_yarn(cluster) or cluster in self._asked:
            return
        self._asked.add(cluster)
        began = time.monotonic()
        answer: list[Any] = []

        def work() -> None:
            try:
                answer.append(asked(services=("dask.worker",), states=_STATES))
            except Exception as error:  # by grpc, by skein
                answer.append(error)

        thread = threading.Thread(target=work, name="dask-blackbox-yarn", daemon=True)
        thread.start()
        thread.join(_LONGEST)
        found: Any = (
            answer[0] if answer else TimeoutError(f"no answer within {_LONGEST} s")
        )
        wrong = isinstance(found, Exception)
        states = [] if wrong else found[:_MOST]
        self._note(
            "manager-asked",
            "",
            {
                "manager": "YARN",
                "command": "get_containers",
                "units": len(states),
                "seconds": round(time.monotonic() - began, 3),
                "error": f"its application master says nothing: {found}"
                if wrong
                else "",
            },
        )
        for container in states:
            self._note(
                "unit-state", container.yarn_container_id, dict(_facts(container))
            )


def _is_of_yarn(cluster: object) -> bool:
    return any(each.__module__.startswith("dask_yarn.") for each in type(cluster).mro())


def _closing(cluster: Any) -> dict[str, object]:
    """Return the particulars of `driver-closing`: only who has started it ends it."""
    finalizer = getattr(cluster, "_finalizer", None)
    owns = finalizer is not None and finalizer.peek() is not None
    address = str(getattr(cluster, "scheduler_address", "") or "")
    return {"what": "YarnCluster.close", "ends_workers_of": address if owns else None}


def _facts(container: Any) -> Iterator[tuple[str, object]]:
    """Yield what a `skein.Container` says of itself."""
    reason = str(container.exit_message or "")
    yield "manager", "YARN"
    yield "state", str(container.state)
    yield "reason", reason
    yield "node", str(container.yarn_node_http_address or "").rpartition(":")[0]
    yield "worker", str(container.id)
    for name, moment in (
        ("started", container.start_time),
        ("ended", container.finish_time),
    ):
        if moment is not None:
            yield name, moment.timestamp()
    if (used := _USED.search(reason)) is not None:
        yield "memory", int(float(used[1]) * _UNITS[used[2]])
        yield "memory_limit", int(float(used[3]) * _UNITS[used[4]])
