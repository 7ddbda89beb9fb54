"""Has each import of ours fail in turn while a host loads us: the host must load all the same.

Run as a script in the environment of a host: `failing_imports.py HOST CASE`.  The host is imported
once.  A forked child lets one of its functions load us and notes what our modules import; then,
for each of those names, another child in which that import raises calls the same function.
Prints, as JSON, the names, and those with which the function raised.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import logging
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["CASES", "failures"]

_NEEDED = ("PATH", "HOME", "TMPDIR")
_OURS = ("dask_blackbox", "airflow_dask_blackbox", "prefect_dask_blackbox")


class Case(NamedTuple):
    """A way in which a host loads us.

    Attributes:
        groups: Of the entry points that it loads so; or the names of modules.
        before: What the host imports before it loads us.
        load: Has the host load us, by its own function.
        importers: Packages of ours whose imports fail.
        of_python: Imports of the standard library fail as well.
    """

    groups: tuple[str, ...]
    before: tuple[str, ...]
    load: Callable[[], object]
    importers: tuple[str, ...] = _OURS
    of_python: bool = False


def _airflow_providers() -> None:
    from airflow.providers_manager import ProvidersManager

    untyped: Any = ProvidersManager
    manager = untyped()
    assert "airflow-provider-dask-blackbox" in manager.providers
    for each in ("hooks", "extra_links_class_names", "taskflow_decorators"):
        list(getattr(manager, each))
    list(manager.notification)
    list(manager.provider_configs)


def _airflow_plugins() -> None:
    from airflow import plugins_manager
    from airflow.listeners.listener import get_listener_manager

    os.environ["AIRFLOW__DASK_BLACKBOX__RECORD_EVERY_CLIENT"] = "True"
    apps = plugins_manager.get_fastapi_plugins()[0]
    assert "/dask-blackbox" in [each["url_prefix"] for each in apps]
    plugins_manager._get_ui_plugins()
    for each in get_listener_manager().pm.get_plugins():
        if getattr(each, "__name__", "").startswith("airflow_dask_blackbox"):
            each.on_task_instance_running(task_instance=None)


def _airflow_in_core() -> None:
    import_module("airflow")
    _host_in_core("airflow")


def _prefect_collections() -> None:
    from prefect.plugins import load_prefect_collections

    assert load_prefect_collections()


def _prefect_in_core() -> None:
    _host_in_core("prefect")


def _host_in_core(kind: str) -> None:
    from dask_blackbox.dialect import dialect_of
    from dask_blackbox.driver.host_task import host_task
    from dask_blackbox.identity import identity_from_environment

    os.environ |= {"AIRFLOW_CTX_DAG_ID": "d"} if kind == "airflow" else {}
    dialect_of(kind)
    host_task(kind)
    identity_from_environment()


def _dask_commands() -> None:
    import click
    from dask import cli

    def help_of(*words: str) -> None:
        try:
            cli.cli.main([*words, "--help"], standalone_mode=False)
        except click.ClickException as error:
            error.show()

    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - until this child ends
    for point in __import__("importlib.metadata").metadata.entry_points(
        group="dask_cli"
    ):
        cli._register_command_ep(cli.cli, point)
    help_of()
    help_of("blackbox", "prefect")


def _dask_scheduler() -> None:
    from distributed import Scheduler

    async def start() -> None:
        preload = ["dask_blackbox.preload"]
        async with Scheduler(port=0, dashboard=False, preload=preload) as scheduler:
            assert scheduler.status.name == "running"

    asyncio.run(start())


def _dask_client() -> None:
    from distributed.preloading import process_preloads

    os.environ["DASK_BLACKBOX_CONTROL"] = "/nowhere"
    process_preloads(None, _of_command("dask_blackbox_preload.py"), [])  # type: ignore[arg-type]


def _python_start() -> None:
    import runpy

    os.environ["DASK_BLACKBOX_CONTROL"] = "/nowhere"
    runpy.run_path(_of_command("sitecustomize.py"), run_name="dask_blackbox.site")


def _of_command(name: str) -> str:
    from importlib.util import find_spec

    package = find_spec("dask_blackbox")
    assert package is not None
    assert package.origin is not None
    folder = package.origin.removesuffix("__init__.py")  # `pathlib` would be imported
    return f"{folder}autorecord/command/{name}"


_HOSTS = ("airflow_dask_blackbox", "prefect_dask_blackbox")
_CORE_OF_HOST = (
    "dask_blackbox.dialects",
    "dask_blackbox.identities",
    "dask_blackbox.host_tasks",
)
CASES = {
    "airflow": {
        "providers": Case(
            ("apache_airflow_provider",),
            ("airflow.providers_manager", "airflow.plugins_manager"),
            _airflow_providers,
        ),
        "plugins": Case(
            ("airflow.plugins",),
            ("airflow.api_fastapi.app", "airflow.listeners.listener"),
            _airflow_plugins,
        ),
        "in core": Case(
            _CORE_OF_HOST, ("airflow", "dask_blackbox.driver"), _airflow_in_core, _HOSTS
        ),
    },
    "prefect": {
        "collections": Case(
            ("prefect.collections",), ("prefect.plugins",), _prefect_collections
        ),
        "in core": Case(
            _CORE_OF_HOST, ("prefect", "dask_blackbox.driver"), _prefect_in_core, _HOSTS
        ),
        "commands": Case(("dask_blackbox.commands",), ("dask.cli",), _dask_commands),
    },
    "core": {
        "commands": Case(("dask_cli",), ("dask.cli",), _dask_commands),
        "scheduler": Case(
            ("dask_blackbox.preload",), ("distributed",), _dask_scheduler
        ),
        "client": Case(("dask_blackbox_preload",), ("distributed",), _dask_client),
        "python": Case(("sitecustomize",), (), _python_start, of_python=True),
    },
}
"""By host and name."""


class _Imports:
    """Notes what our modules import, and has one of those imports fail."""

    def __init__(self, failing: str | None, importers: tuple[str, ...]) -> None:
        self._importers = importers
        self.names: list[str] = []
        self._failing = failing
        self._import = builtins.__import__
        builtins.__import__ = self  # type: ignore[assignment]

    def __call__(
        self,
        name: str,
        scope: Any = None,
        locals_: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        importer = str((scope or {}).get("__name__", ""))
        if level == 0 and importer.split(".", maxsplit=1)[0] in self._importers:
            self.names.append(name)
            if name == self._failing:
                raise ImportError(f"{name} is made to fail")
        return self._import(name, scope, locals_, fromlist, level)


def _in_child(case: Case, failing: str | None) -> tuple[list[str], str]:
    """Return what our modules imported, and the traceback of what the host raised."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        imports, error = _Imports(failing, case.importers), ""
        try:
            case.load()
        except BaseException:  # noqa: BLE001 - that is the question
            error = traceback.format_exc()
        found = json.dumps((sorted(set(imports.names)), error))
        with os.fdopen(write, "w") as pipe:
            pipe.write(found)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    names, error = json.loads(text) if text else ([], "the process ended")
    return names, error


def main(host: str, name: str) -> dict[str, Any]:
    """Return the names that were made to fail, and the tracebacks of the host by name."""
    case = CASES[host][name]
    for module in case.before:
        import_module(module)
    logging.disable()
    names, error = _in_child(case, None)
    if error:
        return {"noted": names, "names": [], "raised": {"": error}}
    python = () if case.of_python else sys.stdlib_module_names
    not_tried = (*python, *_OURS, "__future__", "os", "sys")
    tried = [each for each in names if each.split(".")[0] not in not_tried]
    raised = {each: found for each in tried if (found := _in_child(case, each)[1])}
    return {"noted": names, "names": tried, "raised": raised}


def failures(host: str, name: str) -> dict[str, str]:
    """Return what the host raised by the import that failed; in a process of its own."""
    home = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        finished = subprocess.run(
            [sys.executable, __file__, host, name],
            env={**home, "AIRFLOW_HOME": folder, "PREFECT_HOME": folder},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    answer = json.loads(finished.stdout.splitlines()[-1])
    assert answer["noted"] or answer["raised"], "nothing of ours was imported"
    raised: dict[str, str] = answer["raised"]
    return raised


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
