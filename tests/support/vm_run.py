"""A run on a `VMCluster` of dask-cloudprovider, whose virtual machines are processes of this host.

python vm_run.py ENDING

All but `create_vm` and `destroy_vm` is the library's own: its workers choose their names, and its
scheduler is in another process than the cluster object.  It scales to two workers and works;
`scale-down` ends one of them before the cluster is closed, `killed` has a task end its worker and
the nanny after that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

_TIMEOUT = 120


def step(number: int) -> int:
    """Return a number."""
    return number


def die(number: int) -> int:
    """End this worker and its nanny, as if their machine had been lost."""
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def until(condition: Callable[[], Any]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + _TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cluster_class() -> Any:
    """Return the class of the cluster."""
    from dask_cloudprovider.generic.vmcluster import (  # type: ignore[import-not-found]
        SchedulerMixin,
        VMCluster,
        VMInterface,
        WorkerMixin,
    )

    class Machine(VMInterface):  # type: ignore[misc]
        """A process in place of a virtual machine."""

        instance: dict[str, str] | None = None

        def __init__(self, *args: Any, cluster: Any = None, **kwargs: Any) -> None:
            self.cluster = cluster
            super().__init__(*args, **kwargs)
            self.cluster = cluster
            self.env_vars = kwargs.get("env_vars", {})
            self.set_env = "env"

        async def create_vm(self) -> tuple[str, None]:
            command = self.command.replace("''", "'").replace(
                "python ", f"{sys.executable} ", 1
            )
            self._process = await asyncio.create_subprocess_shell(
                f"exec {command}", start_new_session=True
            )
            self.instance = {"InstanceId": f"i-{self._process.pid}"}
            return "127.0.0.1", None

        async def destroy_vm(self) -> None:
            """End all processes of it at once, as a cloud does."""
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()

    class SchedulerMachine(SchedulerMixin, Machine):  # type: ignore[misc]
        """The scheduler's."""

    class WorkerMachine(WorkerMixin, Machine):  # type: ignore[misc]
        """A worker's."""

    class EC2Cluster(VMCluster):  # type: ignore[misc]
        """As the library's own, for what is recorded of it."""

        scheduler_class = SchedulerMachine
        worker_class = WorkerMachine

        def __init__(self, **kwargs: Any) -> None:
            self.scheduler_options = {"cluster": self}
            self.worker_options = {"cluster": self}
            super().__init__(**kwargs)

    EC2Cluster.__module__ = "dask_cloudprovider.aws.ec2"
    return EC2Cluster


def main(ending: str) -> None:
    """Run the driver."""
    from distributed import Client

    # The scheduler is another process, which inherits it.
    os.environ["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"
    port = free_port()
    with (
        cluster_class()(
            n_workers=2, security=False, worker_class="dask.distributed.Nanny",
            worker_options={"nthreads": 1, "host": "127.0.0.1"},
            scheduler_options={"port": port, "host": "127.0.0.1", "dashboard_address": ":0"},
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(2, timeout=_TIMEOUT)
        kept = client.map(step, range(20))
        client.gather(kept)
        if ending == "scale-down":
            cluster.scale(1)
            until(lambda: len(client.scheduler_info()["workers"]) == 1)
            client.gather(client.map(step, range(20, 40)))
        if ending == "killed":
            client.submit(die, 1).result()


if __name__ == "__main__":
    main(sys.argv[1])
