"""Code that is here and not there: modules, versions, files of DAGs and flows."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import dask
from distributed import Client, wait
from staging import Stage, delayed, failure
from starting import processes

LOCAL_MODULE = """
class Config:
    def __init__(self, n):
        self.n = n

def clean(n):
    return n + 1

def enrich(n):
    return n * 2
"""
OLDER_MODULE = """
def clean(n):
    return n + 1
"""
BOTH = "a module that neither scheduler nor workers have: either word leads to it"


def _imported(name: str) -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(name)


# graph-not-deserializable


@failure(
    "graph-not-deserializable", "module-not-shipped", names="sales_pipeline", why=BOTH
)
def a_local_package_is_not_on_the_scheduler(stage: Stage) -> None:
    stage.module("sales_pipeline", LOCAL_MODULE)
    with stage.started(2):
        job = _imported("sales_pipeline")
        dask.compute(*[dask.delayed(job.clean)(n) for n in range(5)])


@failure(
    "graph-not-deserializable", names="Config|risk_model", noise="handled exceptions"
)
def the_scheduler_has_an_older_version(stage: Stage) -> None:
    old = stage.folder / "old"
    old.mkdir()
    (old / "risk_model.py").write_text(OLDER_MODULE)
    with processes(2, environment={"PYTHONPATH": str(old)}) as cluster:
        stage.module("risk_model", LOCAL_MODULE)
        model = _imported("risk_model")
        with Client(cluster.address) as client, stage.recording(client):
            wait(client.submit(divmod, 1, 0))
            client.submit(str, model.Config(3)).result()


@failure("graph-not-deserializable", names="settings.toml|FileNotFound")
def an_object_that_reads_a_file_when_it_is_unpickled(stage: Stage) -> None:
    import dask.dataframe as dd
    import pandas as pd

    class Settings:
        """Leaves its path behind, and reads the file again where it arrives."""

        def __init__(self, path: str) -> None:
            self.path = path
            self.text = Path(path).read_text()

        def __reduce__(self) -> Any:
            return Settings, (self.path,)

    path = stage.folder / "settings.toml"
    path.write_text("rate = 3")
    settings = Settings(str(path))

    def apply(frame: pd.DataFrame, settings: Any) -> pd.DataFrame:
        return frame.assign(rate=settings.text)

    with stage.started(1, "--nthreads", "2"):
        frame = dd.from_pandas(pd.DataFrame({"a": range(10)}), npartitions=2)
        meta = {"a": "int64", "rate": "object"}
        out = frame.map_partitions(apply, settings, meta=meta)
        path.unlink()
        out.compute()


# environment-mismatch


@failure("environment-mismatch", names="geo_fast")
def workers_lack_a_package_that_the_scheduler_has(stage: Stage) -> None:
    path = stage.package("geo_fast", LOCAL_MODULE)
    with processes(0, environment={"PYTHONPATH": str(path)}) as cluster:
        cluster.environment["PYTHONPATH"] = ""
        cluster.start_worker("--nthreads", "1")
        cluster.start_worker("--nthreads", "1")
        geo = _imported("geo_fast")
        with Client(cluster.address) as client:
            client.wait_for_workers(2, timeout=40)
            with stage.recording(client):
                futures = client.map(geo.clean, range(10))
                client.submit(sum, futures).result(timeout=15)


@failure("environment-mismatch", names="geo_fast", noise="healthy work before")
def a_package_is_imported_inside_of_the_function(stage: Stage) -> None:
    stage.package("geo_fast", LOCAL_MODULE)
    assert _imported("geo_fast").clean(1) == 2

    @delayed
    def locate(number: int) -> int:
        import geo_fast  # type: ignore[import-not-found]

        return int(geo_fast.clean(number))

    with stage.started(2) as (client, _):
        client.gather(client.map(abs, range(10)))
        dask.compute(*[locate(n) for n in range(4)])


@failure("environment-mismatch", names="enrich|pricing", allowed=1)
def workers_have_an_older_version(stage: Stage) -> None:
    old = stage.package("pricing", OLDER_MODULE, "0.9")
    sys.path.remove(str(old))
    path = stage.package("pricing", LOCAL_MODULE)
    with processes(0, environment={"PYTHONPATH": str(path)}) as cluster:
        cluster.environment["PYTHONPATH"] = str(old)
        for _ in range(3):
            cluster.start_worker("--nthreads", "1")
        pricing = _imported("pricing")
        with Client(cluster.address) as client:
            client.wait_for_workers(3, timeout=40)
            with stage.recording(client):
                wait(client.submit(divmod, 1, 0))
                futures = client.map(pricing.enrich, range(10))
                client.submit(sum, futures).result(timeout=15)


@failure("environment-mismatch", names="s3reader", allowed=3, hang=True)
def many_workers_are_destroyed_one_by_one(stage: Stage) -> None:
    path = stage.package("s3reader", LOCAL_MODULE)
    with processes(0, environment={"PYTHONPATH": str(path)}) as cluster:
        cluster.environment["PYTHONPATH"] = ""
        for _ in range(5):
            cluster.start_worker("--nthreads", "1")
        reader = _imported("s3reader")
        with Client(cluster.address) as client:
            client.wait_for_workers(5, timeout=40)
            with stage.recording(client):
                parts = [dask.delayed(reader.clean)(n) for n in range(4)]
                client.compute(dask.delayed(sum)(parts)).result(timeout=25)


# module-not-shipped


def _loaded(path: Path, name: str) -> ModuleType:
    """Load a file under a name that nobody else can import, as orchestrators do."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@failure("module-not-shipped", names="unusual_prefix", hang=True)
def a_function_of_a_dag_file(stage: Stage) -> None:
    path = stage.folder / "nightly_dag.py"
    path.write_text(LOCAL_MODULE)
    dag = _loaded(path, "unusual_prefix_0a1b2c3d_nightly_dag")
    with stage.local(2) as client:
        futures = client.map(dag.clean, range(8))
        client.submit(sum, futures).result(timeout=15)


@failure("module-not-shipped", names="__prefect_loader", noise="healthy work before")
def a_function_of_a_flow_file(stage: Stage) -> None:
    path = stage.folder / "flow.py"
    path.write_text(LOCAL_MODULE)
    flow = _loaded(path, "__prefect_loader_140247__")
    with stage.local(3) as client:
        client.gather(client.map(abs, range(10)))
        parts = [dask.delayed(flow.clean)(n) for n in range(4)]
        client.compute(dask.delayed(sum)(parts)).result(timeout=15)


@failure(
    "module-not-shipped", "environment-mismatch", names="my_helpers", allowed=1,
    why="a module beside the script: not shipped, and not in the workers' environment",
)  # fmt: skip
def a_module_beside_the_script(stage: Stage) -> None:
    with stage.local(4) as client:
        stage.module("my_helpers", LOCAL_MODULE)
        helpers = _imported("my_helpers")
        futures = client.map(helpers.enrich, range(20))
        client.submit(sum, futures).result(timeout=15)


@failure(
    "module-not-shipped", "graph-not-deserializable", names="unusual_prefix",
    why="the scheduler is the first that meets the module that was not shipped",
)  # fmt: skip
def a_function_of_a_dag_file_on_a_remote_cluster(stage: Stage) -> None:
    path = stage.folder / "hourly_dag.py"
    path.write_text(LOCAL_MODULE)
    dag = _loaded(path, "unusual_prefix_ffee00aa_hourly_dag")
    with stage.started(2) as (client, _):
        client.gather(client.map(dag.enrich, range(8)))


# too-many-open-files


@failure("too-many-open-files", names="scan_logs")
def a_task_opens_files_and_never_closes_them(stage: Stage) -> None:
    def scan_logs(folder: str, number: int) -> int:
        names = (Path(folder, f"{number}-{n}") for n in range(400))
        return len([name.open("w") for name in names])

    folder = str(stage.folder)
    with stage.started(1, shell="ulimit -n 300") as (client, _):
        client.gather(client.map(scan_logs, [folder] * 4, range(4)))


@failure("too-many-open-files", names="connect", noise="handled exceptions")
def connections_leak_over_many_tasks(stage: Stage) -> None:
    import dask.bag as db

    def connect(number: int) -> int:
        import builtins
        import socket

        held: list[Any] = builtins.__dict__.setdefault("sockets", [])
        held.extend(socket.socket() for _ in range(10))
        time.sleep(0.02)
        return number

    with stage.started(2, "--no-nanny", shell="ulimit -n 256") as (client, _):
        wait(client.submit(divmod, 1, 0))
        db.from_sequence(range(120), npartitions=120).map(connect).sum().compute()


@failure(
    "too-many-open-files",
    "driver-exception",
    how="command",
    names="Too many open",
    why="the driver's own code failed because no file descriptor was free",
)
def the_driver_has_too_many_files_open(stage: Stage) -> None:
    import resource

    with stage.local(1) as client:
        client.gather(client.map(abs, range(10)))
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        held = [(stage.folder / f"{n}.csv").open("w") for n in range(300)]
        print(len(held))
