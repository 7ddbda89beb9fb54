"""On Dask workers, Airflow's variables and connections raise: nobody there can ask Airflow.

A task's process asks Airflow through the process that supervises it; a worker has none.
There, `Variable.get("x", default=…)` would return the default for a variable that exists:
wrong data, without a message.  What a worker can look up by itself (environment variables,
secrets backends such as Vault) still works.

Workers get this file as text, as their cluster need not have this package.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

NAME = "dask-blackbox-airflow-secrets"
_BUILD = (
    "(exec(compile(source, '<dask-blackbox airflow>', 'exec'), names),"
    " names['AirflowSecrets']())[1]"
)


def shipped(source: str) -> WorkerPlugin:
    """Return the plugin as it travels: as the source text of this module."""

    class Shipped(WorkerPlugin):
        name = NAME

        def __reduce__(self) -> tuple[Any, ...]:
            return eval, (_BUILD, {"source": source, "names": {"__name__": NAME}})

    return Shipped()


class AirflowSecrets(WorkerPlugin):
    """Has look-ups that fail in this process raise; undone with the last such plugin."""

    name = NAME

    def __init__(self) -> None:
        self._finder: _Finder | None = None

    def setup(self, worker: Any) -> None:
        runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
        if getattr(runner, "SUPERVISOR_COMMS", None) is not None:
            return  # a worker in the task's own process
        self._finder = _Finder()
        sys.meta_path.insert(0, self._finder)
        for name in _CHANGES:
            if name in sys.modules:
                self._finder.change(sys.modules[name])

    def teardown(self, worker: Any) -> None:
        if self._finder is not None:
            self._finder.undo()
            sys.meta_path.remove(self._finder)
            self._finder = None


class _Finder:
    """Changes Airflow's modules when they are imported: most workers never import them."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name not in _CHANGES:
            return None
        for finder in sys.meta_path:
            if isinstance(finder, _Finder) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._change_after(spec.loader)
                return spec
        return None

    def _change_after(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            self.change(module)

        loader.exec_module = exec_module

    def change(self, module: Any) -> None:
        for owner, name, kind in _CHANGES[module.__name__]:
            where = getattr(module, owner) if owner else module
            if name in vars(where):
                before = vars(where)[name]
                self._before.append((where, name, before))
                setattr(where, name, _changed(kind, before))

    def undo(self) -> None:
        while self._before:
            where, name, before = self._before.pop()
            setattr(where, name, before)


def _refusal(kind: str, asked: tuple[object, ...]) -> RuntimeError:
    key = next((each for each in asked if isinstance(each, str)), "?")
    how = "Variable.get(…)" if kind == "variable" else "BaseHook.get_connection(…)"
    return RuntimeError(
        f"Airflow's {kind} {key!r} cannot be read on a Dask worker: only the process of "
        f"the Airflow task can ask Airflow; call {how} in the task's callable and pass "
        "the value to the function that runs on the worker"
    )


def _looked_up(kind: str, look_up: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(look_up)
    def looked_up(*args: Any, **kwargs: Any) -> Any:
        try:
            found = look_up(*args, **kwargs)
        except ValueError:  # it is there, and is not JSON
            raise
        except Exception as error:
            raise _refusal(kind, (*args, *kwargs.values())) from error
        if found is None:
            raise _refusal(kind, (*args, *kwargs.values()))
        return found

    return looked_up


def _awaited(kind: str, look_up: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(look_up)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        try:
            return await look_up(*args, **kwargs)
        except Exception as error:
            raise _refusal(kind, (*args, *kwargs.values())) from error

    return awaited


def _changed(kind: str, look_up: Any) -> Any:
    if isinstance(look_up, staticmethod | classmethod):
        return type(look_up)(_looked_up(kind, look_up.__func__))
    if inspect.iscoroutinefunction(look_up):
        return _awaited(kind, look_up)
    return _looked_up(kind, look_up)


_CHANGES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "airflow.sdk.execution_time.context": (
        ("", "_get_variable", "variable"),
        ("", "_get_connection", "connection"),
        ("", "_async_get_connection", "connection"),
    ),
    "airflow.models.variable": (("Variable", "get_variable_from_secrets", "variable"),),
    "airflow.models.connection": (
        ("Connection", "get_connection_from_secrets", "connection"),
    ),
}
"""Which functions of Airflow's modules find a value: (class, name, what of)."""
