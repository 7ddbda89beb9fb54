"""Environments that differ, and modules that workers lack."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import dask
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from distributed import Client, as_completed, wait
from failures.shared_parts import LOCAL_MODULE, OLDER_MODULE, imported_module
from staging import NotHere, Stage, delayed, failure, until
from starting import processes


@failure("environment-mismatch", names="geo_fast")
def workers_lack_a_package_that_the_scheduler_has(stage: Stage) -> None:
    path = stage.package("geo_fast", LOCAL_MODULE)
    with processes(0, environment={"PYTHONPATH": str(path)}) as cluster:
        cluster.environment["PYTHONPATH"] = ""
        cluster.start_worker("--nthreads", "1")
        cluster.start_worker("--nthreads", "1")
        geo = imported_module("geo_fast")
        with Client(cluster.address) as client:
            client.wait_for_workers(2, timeout=40)
            with stage.recording(client):
                futures = client.map(geo.clean, range(10))
                client.submit(sum, futures).result(timeout=15)


@failure("environment-mismatch", names="geo_fast", noise="healthy work before")
def a_package_is_imported_inside_of_the_function(stage: Stage) -> None:
    stage.package("geo_fast", LOCAL_MODULE)
    assert imported_module("geo_fast").clean(1) == 2

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
        pricing = imported_module("pricing")
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
        reader = imported_module("s3reader")
        with Client(cluster.address) as client:
            client.wait_for_workers(5, timeout=40)
            with stage.recording(client):
                parts = [dask.delayed(reader.clean)(n) for n in range(4)]
                client.compute(dask.delayed(sum)(parts)).result(timeout=25)


@failure(
    "environment-mismatch", names="fx_rates", allowed=3, noise="exceptions, log spam"
)
def a_missing_module_among_errors(stage: Stage) -> None:
    import importlib

    def shout(number: int) -> int:
        logging.getLogger("distributed.core").error(
            "CommClosedError: in <TCP (closed)>"
        )
        return number

    stage.package("fx_rates", "def convert(n):\n    return n\n")

    def rates(number: int) -> Any:
        return importlib.import_module("fx_rates").convert(number)

    assert rates(1) == 1
    with stage.started(3) as (client, _):
        client.gather(client.map(shout, range(200)))
        wait(client.submit(divmod, 1, 0))
        for future in as_completed(client.map(rates, range(6))):
            future.result()


@failure(
    "environment-mismatch",
    "module-not-shipped",
    names=["geotoolz", "buffer"],
    why="a package of the driver that the workers do not have, imported in the task",
    held_out="second",
)
def a_package_is_imported_inside_of_a_task(stage: Stage) -> None:
    def buffer(number: int) -> Any:
        import geotoolz  # type: ignore[import-not-found]

        return geotoolz.buffer(number)

    with stage.started(2) as (client, _):
        stage.package("geotoolz", "def buffer(n):\n    return n + 1\n", "3.2")
        client.gather(client.map(buffer, range(4)))


@failure(
    "environment-mismatch",
    names=["gridlib", "2.0|1.0|Grid2"],
    hang=True,
    held_out="second",
)
def workers_have_an_older_package(stage: Stage) -> None:
    new = "class Grid2:\n    def __init__(self, n):\n        self.n = n\n"
    older = stage.package("gridlib", "class Grid:\n    pass\n", "1.0")
    sys.path.remove(str(older))
    newer = stage.package("gridlib", new, "2.0")
    path = os.environ.get("PYTHONPATH", "")

    def cells(grid: Any) -> int:
        return int(grid.n)

    with stage.started(
        2,
        shell=f"export PYTHONPATH={older}:{path}",
        environment={"PYTHONPATH": f"{newer}:{path}"},
    ) as (client, _):
        import gridlib  # type: ignore[import-not-found]

        client.submit(cells, gridlib.Grid2(3)).result(timeout=20)


@failure(
    "environment-mismatch",
    names=["pricing", "quote"],
    noise="one of three only",
    held_out="second",
)
def one_worker_of_three_is_of_another_image(stage: Stage) -> None:
    folder = stage.package("pricing", "def quote(n):\n    return n * 2\n", "0.4")
    path = f"{folder}:{os.environ.get('PYTHONPATH', '')}"

    def quote(number: int) -> Any:
        import pricing  # type: ignore[import-not-found]

        time.sleep(0.3)
        return pricing.quote(number)

    with stage.started(2, environment={"PYTHONPATH": path}) as (client, cluster):
        cluster.environment.clear()
        cluster.start_worker("--nthreads", "1")
        client.wait_for_workers(3, timeout=30)
        client.gather(client.map(quote, range(30)))


NEW = "def parse_v2(line, sep=';'):\n    return line.split(sep)\n"


OLD = "def parse(line):\n    return line.split(',')\n"


@failure(
    "environment-mismatch",
    "task-exception",
    names=["feedparse", "parse_v2"],
    why="the task raised, and it did because the workers have an older package",
    held_out="third: services",
)
def the_workers_have_last_months_parser(stage: Stage) -> None:
    old = stage.package("feedparse", OLD, "1.4.2")
    sys.path.remove(str(old))
    stage.package("feedparse", NEW, "2.0.0")
    there = f"{old}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"

    def rows(lines: list[str]) -> int:
        import feedparse  # type: ignore[import-not-found]

        return sum(len(feedparse.parse_v2(line)) for line in lines)

    with stage.started(2, environment={"PYTHONPATH": there}) as (_client, _):
        import feedparse

        print(feedparse.parse_v2("a;b"))
        bag = db.from_sequence(["a;b;c"] * 40, npartitions=8)
        print(bag.map_partitions(lambda part: [rows(list(part))]).sum().compute())


NATIVE = """
import ctypes, os

# As wheels do that were built against a library of the system.
ctypes.CDLL(os.environ.get("RASTERLIB", "librasterio-gdal.so.30"))

class Window:
    def __init__(self, row):
        self.row = row

def read(window):
    return window.row * 2
"""


@failure(
    "environment-mismatch",
    names=["librasterio-gdal.so.30"],
    hang=True,
    noise="the package is installed everywhere; a library of the system is not",
    held_out="third: services",
)
def a_library_of_the_system_is_missing_on_workers(stage: Stage) -> None:
    site = stage.package("rasterwin", NATIVE, "1.3.9")
    there = f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    os.environ["RASTERLIB"] = "libc.so.6"
    import rasterwin  # type: ignore[import-not-found]

    with stage.started(
        2, shell="unset RASTERLIB", environment={"PYTHONPATH": there}
    ) as (client, _):
        windows = [rasterwin.Window(row) for row in range(6)]
        futures = client.map(rasterwin.read, windows)
        print(sum(future.result(timeout=20) for future in futures))


@failure(
    "environment-mismatch",
    "module-not-shipped",
    names=["tariffs", "rated"],
    why="the module is on a path that only the first workers have",
    held_out="third: tasks",
)
def a_late_worker_knows_no_path(stage: Stage) -> None:
    def rated(number: int) -> int:
        import tariffs  # type: ignore[import-not-found]

        time.sleep(0.4)
        return int(tariffs.rate(number))

    with stage.started(1) as (client, cluster):
        folder = str(stage.module("tariffs", "def rate(n):\n    return n * 3\n").parent)
        client.run(lambda: sys.path.append(folder))
        futures = client.map(rated, range(40))
        until(lambda: sum(each.done() for each in futures) > 2)
        cluster.start_worker("--nthreads", "2")
        client.gather(futures)


@failure(
    "environment-mismatch",
    names=["geometry", "area"],
    noise="a forgotten file where workers start has the name of a package",
    held_out="fourth: services",
)
def a_file_on_the_workers_hides_a_package(stage: Stage) -> None:
    text = "def area(width, height):\n    return width * height\n"
    folder = stage.package("geometry", text, "4.2")
    path = os.environ.get("PYTHONPATH", "")

    def field(width: int) -> int:
        from geometry import area  # type: ignore[import-not-found]

        return int(area(width, 3))

    with stage.started(2, environment={"PYTHONPATH": f"{folder}:{path}"}) as (
        client,
        cluster,
    ):
        (cluster.folder / "geometry.py").write_text("SQUARE = 4\n")
        client.gather(client.map(field, range(8)))


@failure(
    "environment-mismatch",
    "result-not-serializable",
    names=["vendorlib"],
    why="workers have a package that the driver lacks: it cannot read what they return",
    held_out="fourth: tasks",
)
def the_driver_lacks_a_package_of_the_workers(stage: Stage) -> None:
    def quoted(number: int) -> Any:
        import vendorlib  # type: ignore[import-not-found]

        return vendorlib.Quote(number)

    text = "class Quote:\n    def __init__(self, n):\n        self.n = n\n"
    folder = stage.package("vendorlib", text, "4.1")
    sys.path.remove(str(folder))
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    with stage.started(2, environment={"PYTHONPATH": paths}) as (client, _):
        client.gather(client.map(quoted, range(6)))


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
    "module-not-shipped",
    "environment-mismatch",
    names="my_helpers",
    allowed=1,
    why="a module beside the script: not shipped, and not in the workers' environment",
)
def a_module_beside_the_script(stage: Stage) -> None:
    with stage.local(4) as client:
        stage.module("my_helpers", LOCAL_MODULE)
        helpers = imported_module("my_helpers")
        futures = client.map(helpers.enrich, range(20))
        client.submit(sum, futures).result(timeout=15)


@failure(
    "module-not-shipped",
    "graph-not-deserializable",
    names="unusual_prefix",
    why="the scheduler is the first that meets the module that was not shipped",
)
def a_function_of_a_dag_file_on_a_remote_cluster(stage: Stage) -> None:
    path = stage.folder / "hourly_dag.py"
    path.write_text(LOCAL_MODULE)
    dag = _loaded(path, "unusual_prefix_ffee00aa_hourly_dag")
    with stage.started(2) as (client, _):
        client.gather(client.map(dag.enrich, range(8)))


@failure("module-not-shipped", names=["house_rules", "apply_rules"], held_out="second")
def a_sibling_of_the_script_is_imported_in_a_task(stage: Stage) -> None:
    @delayed
    def apply_rules(number: int) -> Any:
        from house_rules import check  # type: ignore[import-not-found]

        return check(number)

    with stage.started(2):
        stage.module("house_rules", "def check(n):\n    return n > 1\n")
        dask.compute(*[apply_rules(n) for n in range(4)])


@failure("module-not-shipped", names=["units_table", "conversions"], held_out="second")
def an_uploaded_file_imports_its_neighbour(stage: Stage) -> None:
    with stage.started(1) as (client, _):
        stage.module("units_table", "FACTOR = 1.609\n")
        file = stage.module(
            "conversions",
            "from units_table import FACTOR\n\ndef to_km(n):\n    return n * FACTOR\n",
        )
        client.upload_file(str(file))

        def convert(number: int) -> Any:
            import conversions  # type: ignore[import-not-found]

            return conversions.to_km(number)

        client.gather(client.map(convert, range(3)))


@failure(
    "module-not-shipped",
    "graph-not-deserializable",
    names="flow_steps",
    why="the scheduler is the first that meets the module that was not shipped",
    held_out="second",
)
def steps_of_a_flow_live_in_a_file_of_their_own(stage: Stage) -> None:
    with stage.started(2):
        stage.module("flow_steps", "def clean(row):\n    return row.strip()\n")
        import flow_steps  # type: ignore[import-not-found]

        db.from_sequence([" a", "b "], npartitions=2).map(flow_steps.clean).compute()


@failure(
    "module-not-shipped",
    "environment-mismatch",
    names=["nightly_etl"],
    hang=True,
    why="a package of the project's own folder, that was installed nowhere",
    accepted="it was the scheduler that lacked the package",
    held_out="third: services",
)
def the_steps_live_in_the_projects_folder(stage: Stage) -> None:
    project = stage.folder / "project"
    (project / "nightly_etl" / "steps").mkdir(parents=True)
    for part in ("", "steps"):
        (project / "nightly_etl" / part / "__init__.py").write_text("")
    code = "from ..settings import FACTOR\n\ndef clean(n):\n    return n * FACTOR\n"
    (project / "nightly_etl" / "steps" / "clean.py").write_text(code)
    (project / "nightly_etl" / "settings.py").write_text("FACTOR = 3\n")

    with stage.started(2) as (client, _):
        sys.path.insert(0, str(project))
        from nightly_etl.steps.clean import clean  # type: ignore[import-not-found]

        values = db.from_sequence(range(20), npartitions=4).map(clean)
        print(client.compute(values.sum()).result(timeout=20))


@failure(
    "module-not-shipped",
    "graph-not-deserializable",
    names=["features_of_customers"],
    why="a collection travels through the scheduler, which misses the module first",
    held_out="third: tasks",
)
def features_live_in_a_module_beside_the_job(stage: Stage) -> None:
    text = "def ratio(part):\n    return part.amount / part.amount.sum()\n"
    with stage.started(2) as (client, _):
        stage.module("features_of_customers", text)
        import features_of_customers  # type: ignore[import-not-found]

        ddf = dd.from_pandas(pd.DataFrame({"amount": range(90)}), npartitions=3)
        meta = ("ratio", "float64")
        ratios = ddf.map_partitions(features_of_customers.ratio, meta=meta)
        client.compute(ratios.max()).result()


@failure(
    "module-not-shipped",
    names=["tenant_rules"],
    hang=True,
    bound=25,
    held_out="fourth: services",
)
def rules_are_loaded_from_a_path_of_the_configuration(stage: Stage) -> None:
    path = stage.folder / "rules-2026.py"
    path.write_text("def discount(order):\n    return order // 10\n")
    found = importlib.util.spec_from_file_location("tenant_rules", path)
    if found is None or found.loader is None:
        raise NotHere("a file cannot be loaded")
    rules = importlib.util.module_from_spec(found)
    sys.modules["tenant_rules"] = rules
    found.loader.exec_module(rules)
    with stage.local() as client:
        orders = client.map(abs, range(0, -60, -10))
        client.gather(client.map(rules.discount, orders))
