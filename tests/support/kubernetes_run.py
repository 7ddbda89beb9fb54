"""A recorded run on a cluster of the Dask operator, in the environment that has the operator.

    python kubernetes_run.py FOLDER ENDING

starts the API (`kubernetes_cluster.py`) and the operator (`kopf run`), makes a `KubeCluster`, and
records a job that ends as ENDING says into FOLDER/store.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

_STARTING, _ENDING = 120.0, 180
_MIB = 2**20


def hog() -> None:
    """Use more and more memory."""
    held = []
    while True:
        held.append(bytearray(50 * _MIB))
        time.sleep(0.05)


def nap(seconds: float) -> float:
    """Return after some time."""
    time.sleep(seconds)
    return seconds


def compute(seconds: float) -> int:
    """Return how often a processor counted in some time of its own."""
    count, end = 0, time.thread_time() + seconds
    while time.thread_time() < end:
        count += 1
    return count


@contextmanager
def process(
    log: Path, *command: str | Path, **more: Any
) -> Iterator[subprocess.Popen[str]]:
    """Run a program meanwhile."""
    with log.open("w") as errors:
        running = subprocess.Popen(
            [*map(str, command)], stderr=errors, text=True, **more
        )
        try:
            yield running
        finally:
            running.terminate()
            running.wait(60)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def started(folder: Path, stack: ExitStack) -> str:
    """Start API and operator, and return the address of the API."""
    here, bin_ = Path(__file__).parent, Path(sys.executable).parent
    pods = folder / "pods"
    pods.mkdir()
    api = stack.enter_context(
        process(
            folder / "api.log",
            sys.executable,
            here / "kubernetes_cluster.py",
            pods,
            stdout=subprocess.PIPE,
        )
    )
    assert api.stdout is not None
    url = api.stdout.readline().strip()
    cluster = {"name": "here", "cluster": {"server": url}}
    context = {"cluster": "here", "user": "me", "namespace": "default"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [cluster],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": "here", "context": context}],
    }
    (folder / "config").write_text(json.dumps(config))
    os.environ["KUBECONFIG"] = str(folder / "config")
    log = folder / "operator.log"
    module = "dask_kubernetes.operator.controller"
    names = here / "kubernetes_names.py"
    command = (bin_ / "kopf", "run", "--debug", "-A", names, "-m", module)
    stack.enter_context(process(log, *command))
    deadline = time.monotonic() + _STARTING
    # An object that is older than a watch is not told again by this API.
    while log.read_text().count("Starting the watch-stream") < len(_WATCHED):
        if time.monotonic() > deadline:
            raise TimeoutError(log.read_text()[-2_000:])
        time.sleep(0.2)
    return url


_WATCHED = (
    "clusters",
    "worker groups",
    "jobs",
    "autoscalers",
    "pods",
    "services",
    "definitions",
)


def specification(ending: str) -> dict[str, Any]:
    """Return a cluster with a worker, whose scheduler listens on this machine."""
    from dask_kubernetes.operator import (  # type: ignore[import-not-found]
        make_cluster_spec,
    )

    dask = str(Path(sys.executable).parent / "dask")
    requested = {"memory": "512Gi" if ending == "unscheduled" else "256Mi"}
    spec: dict[str, Any] = make_cluster_spec(
        "shop",
        n_workers=1,
        image="missing:1" if ending == "image" else "nightly:7",
        scheduler_service_type="LoadBalancer",
        resources={"limits": {"memory": "700Mi"}, "requests": requested},
    )
    ports = free_port(), free_port()
    scheduler = spec["spec"]["scheduler"]
    for each, port in zip(scheduler["service"]["ports"], ports, strict=True):
        each["port"] = port
    address = f"127.0.0.1:{ports[1]}"
    arguments = [
        "--host",
        "127.0.0.1",
        "--port",
        str(ports[0]),
        "--dashboard-address",
        address,
    ]
    scheduler["spec"]["containers"][0].update(
        image="missing:1" if ending == "scheduler" else "nightly:7",
        resources={},
        args=[dask, "scheduler", *arguments],
    )
    worker = spec["spec"]["worker"]["spec"]["containers"][0]
    worker["args"] = [
        *(
            dask,
            "worker",
            f"tcp://127.0.0.1:{ports[0]}",
            "--name",
            "$(DASK_WORKER_NAME)",
        ),
        *("--nthreads", "1", "--memory-limit", "4GB"),
    ]
    return spec


def interrupt_when_stuck() -> None:
    """Send SIGINT to this process, as a person would, when a pod's image cannot be pulled."""
    config = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    url = f"{config['clusters'][0]['cluster']['server']}/api/v1/pods"
    stuck = False
    while not stuck:
        time.sleep(0.2)
        with urllib.request.urlopen(url) as answer:
            stuck = b"ImagePullBackOff" in answer.read()
    signal.raise_signal(signal.SIGINT)


def wait_for_scheduler() -> None:
    """Make a cluster object whose scheduler never starts; there is never a client."""
    from dask_kubernetes.operator import KubeCluster

    threading.Thread(target=interrupt_when_stuck).start()
    KubeCluster(
        custom_cluster_spec=specification("scheduler"), namespace="default", quiet=True
    )


def work_until_killed() -> None:
    """Make a cluster object, and send SIGKILL to this process during the work."""
    from dask_kubernetes.operator import KubeCluster
    from distributed import Client

    cluster = KubeCluster(
        custom_cluster_spec=specification("killed"), namespace="default", quiet=True
    )
    client = Client(cluster)
    client.wait_for_workers(1, timeout=_ENDING)
    running = client.submit(nap, 300)
    until(lambda: any(client.processing().values()))
    os.kill(os.getpid(), signal.SIGKILL)
    running.result()


def record_command(folder: Path, ending: str) -> None:
    """Record a command that makes a cluster object."""
    dask = Path(sys.executable).parent / "dask"
    run = (dask, "blackbox", "run", "--store", folder / "store", "--job", "nightly")
    command = (sys.executable, __file__, folder, f"inner-{ending}")
    subprocess.run([*run, "--run-id", ending, "--", *command], check=False)
    complete = f"store/runs/job=nightly/run={ending}/attempt=1/complete.json"
    deadline = time.monotonic() + _ENDING
    # The recorder may outlive the command.
    while not (folder / complete).exists() and time.monotonic() < deadline:
        time.sleep(0.2)


def job(client: Any, ending: str, url: str, folder: Path) -> None:
    """Do the work, and end it."""
    never = ending in ("unscheduled", "image")
    client.wait_for_workers(1, timeout=20 if never else _ENDING)
    if ending == "healthy":
        client.gather(client.map(nap, [0.1] * 10))
    elif ending in ("scale-down", "adaptive"):
        grow_and_shrink(client, adaptive=ending == "adaptive")
    elif ending == "memory":
        client.submit(hog).result(timeout=_ENDING)
    else:
        running = client.submit(nap, 300)
        until(lambda: any(client.processing().values()))
        before = addresses(client)
        [pod] = [
            each.name for each in (folder / "pods").iterdir() if "worker" in each.name
        ]
        order = urllib.request.Request(f"{url}/control/{ending}/{pod}", method="POST")
        urllib.request.urlopen(order).close()
        until(lambda: addresses(client) - before)  # on the pod that replaces it
        running.result(timeout=5)


def grow_and_shrink(client: Any, *, adaptive: bool) -> None:
    """Work on two workers, then on one of them."""
    if adaptive:
        client.cluster.adapt(minimum=1, maximum=2)
        work = client.map(compute, [0.5 + number / 1_000 for number in range(60)])
    else:
        client.cluster.scale(2)
        work = client.map(nap, [0.1 + number / 1_000 for number in range(20)])
    client.wait_for_workers(2, timeout=_ENDING)
    client.gather(work)
    del work
    if not adaptive:
        client.cluster.scale(1)
    until(lambda: len(addresses(client)) == 1)
    client.gather(client.map(nap, [0.05 + number / 1_000 for number in range(5)]))


def addresses(client: Any) -> set[str]:
    """Return the addresses of the workers."""
    return {*client.scheduler_info(n_workers=-1)["workers"]}


def until(is_true: Callable[[], Any]) -> None:
    """Wait for something."""
    deadline = time.monotonic() + _ENDING
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {_ENDING} s")
        time.sleep(0.1)


def main(folder: Path, ending: str) -> None:
    """Record a run."""
    import dask
    from dask_blackbox import recording
    from dask_kubernetes.operator import KubeCluster
    from distributed import Client

    dask.config.set(
        {
            "kubernetes.resource-timeout": 120,
            "distributed.scheduler.allowed-failures": 0,
        }
    )
    with ExitStack() as stack:
        url = started(folder, stack)
        if ending in ("scheduler", "killed"):
            record_command(folder, ending)
            return
        cluster = KubeCluster(
            custom_cluster_spec=specification(ending), namespace="default", quiet=True
        )
        client = stack.enter_context(Client(stack.enter_context(cluster)))
        with recording(client, store=folder / "store", job="nightly", run_id=ending):
            job(client, ending, url, folder)


if __name__ == "__main__":
    if sys.argv[2] == "inner-scheduler":
        wait_for_scheduler()
    elif sys.argv[2] == "inner-killed":
        work_until_killed()
    else:
        main(Path(sys.argv[1]), sys.argv[2])
