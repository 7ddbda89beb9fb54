"""On Dask workers, connections and variables of Airflow raise an error that says what to do.

A task's process asks Airflow through the process that supervises it; a worker has none.
There, `Variable.get("x", default=…)` would return the default for a variable that exists:
wrong data, without a message; `Variable.set` would end in an ImportError, and whatever
goes to the metadata database in one of SQL.  What a worker can look up by itself
(environment variables, secrets backends such as Vault) still works.

Workers get this file as text, as their cluster need not have this package.
"""

from __future__ import annotations

import functools
import inspect
import os
import platform
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NoReturn

from distributed.diagnostics.plugin import WorkerPlugin

NAME = "dask-blackbox-airflow-secrets"
_BUILD = (
    "(exec(compile(names['source'], '<dask-blackbox airflow>', 'exec'), names),"
    " names['AirflowSecrets'](made_in))[1]"
)
_RUNNER = "airflow.sdk.execution_time.task_runner"
_FORBIDDEN = "airflow-db-not-allowed"
_EMPTY = "sqlite://"
_DATABASE = (
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN",
    "AIRFLOW__CORE__SQL_ALCHEMY_CONN",
)


class AirflowSecrets(WorkerPlugin):
    """Has look-ups that fail in this process raise; undone with the last such plugin.

    It travels as the source text of this module, and on from where it has arrived.

    Args:
        made_in: The process that has made it: workers in it can ask what it can ask.
    """

    name = NAME

    def __init__(self, made_in: str = "") -> None:
        self._made_in = made_in or _this_process()
        self._finder: _Finder | None = None

    def __reduce__(self) -> tuple[object, ...]:
        source = globals().get("source") or Path(__file__).read_text("utf-8")
        names = {"__name__": NAME, "source": source}
        return eval, (_BUILD, {"names": names, "made_in": self._made_in})

    def setup(self, worker: object) -> None:
        asks = getattr(sys.modules.get(_RUNNER), "SUPERVISOR_COMMS", None)
        if asks or self._made_in == _this_process():
            return
        _make_importable()
        self._finder = _Finder()
        sys.meta_path.insert(0, self._finder)
        for name in _CHANGES:
            if name in sys.modules:
                self._finder.change(sys.modules[name])

    def teardown(self, worker: object) -> None:
        if self._finder is not None:
            self._finder.undo()
            sys.meta_path.remove(self._finder)
            self._finder = None


def _this_process() -> str:
    return f"{platform.node()} {os.getpid()}"


def _make_importable() -> None:
    """Let this process import Airflow, should it have a task's environment.

    That names a database that cannot be; an empty one in memory gives nothing away.
    """
    for name in _DATABASE:
        if os.environ.get(name, "").startswith(_FORBIDDEN):
            os.environ[name] = _EMPTY
            if "_AIRFLOW_PROCESS_CONTEXT" in os.environ:
                os.environ["_AIRFLOW_PROCESS_CONTEXT"] = "client"


class _Finder:
    """Changes Airflow's modules when they are imported: most workers never import them."""

    def __init__(self) -> None:
        self._before: list[tuple[object, str, object]] = []

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

        def exec_module(module: object) -> None:
            execute(module)
            self.change(module)

        loader.exec_module = exec_module

    def change(self, module: Any) -> None:
        for owner, name, changed in _CHANGES[module.__name__]:
            where = getattr(module, owner, None) if owner else module
            if where is None:
                continue
            before = vars(where).get(name, _ABSENT)
            after = changed(before)
            if after is not before:
                self._before.append((where, name, before))
                setattr(where, name, after)

    def undo(self) -> None:
        while self._before:
            where, name, before = self._before.pop()
            if before is _ABSENT:
                delattr(where, name)
            else:
                setattr(where, name, before)


_ABSENT: object = object()


# What is said


def _only_the_task(what: str, *, instead: str) -> NotImplementedError:
    # A RuntimeError of which everybody knows that a retry raises it again.
    return NotImplementedError(
        f"{what} on a Dask worker: only the process of the Airflow task can ask Airflow; "
        f"{instead}"
    )


def _unread(kind: str, key: object) -> NotImplementedError:
    how = "Variable.get(…)" if kind == "variable" else "BaseHook.get_connection(…)"
    return _only_the_task(
        f"Airflow's {kind} {key!r} cannot be read",
        instead=f"call {how} in the task's callable and pass the value to the function "
        "that runs on the worker",
    )


def _unwritten(kind: str, key: object, how: str) -> NotImplementedError:
    return _only_the_task(
        f"Airflow's {kind} {key!r} cannot be {how}",
        instead="return the value from the function that runs on the worker, and do this "
        "in the task's callable",
    )


def _unasked(message: object) -> NotImplementedError:
    """Return what to raise of a message for which there is no supervisor."""
    asked = type(message).__name__
    key = getattr(message, "key", None)
    if asked == "GetConnection":
        return _unread("connection", getattr(message, "conn_id", "?"))
    if asked == "GetVariable":
        return _unread("variable", key)
    if asked in ("PutVariable", "DeleteVariable"):
        how = "set" if asked == "PutVariable" else "deleted"
        return _unwritten("variable", key, how)
    if asked == "SetXCom":
        return _unwritten("XCom", key, "pushed")
    if asked.startswith("GetXCom"):
        return _only_the_task(
            f"Airflow's XCom {key!r} cannot be pulled",
            instead="pull it in the task's callable and pass the value to the function "
            "that runs on the worker",
        )
    return _only_the_task(
        f"Airflow cannot be asked ({asked})", instead="do this in the task's callable"
    )


class _NoSupervisor:
    """Stands for the process that supervises a task, and refuses what only that can do."""

    def __bool__(self) -> bool:
        return False

    def send(self, message: object, *_: object, **__: object) -> object:
        if type(message).__name__ == "MaskSecret":
            return None
        raise _unasked(message)

    async def asend(self, message: object, *args: object, **more: object) -> object:
        return self.send(message, *args, **more)

    def get_message(
        self, *_: object, **__: object
    ) -> NoReturn:  # Airflow 3.1 and older
        raise _only_the_task(
            "Airflow cannot be asked", instead="do this in the task's callable"
        )


class _NoDatabase:
    """Stands for a session of Airflow's metadata database, which is not to be had here."""

    def __init__(self, *_: object, **__: object) -> None:
        raise _only_the_task(
            "Airflow's metadata database cannot be used",
            instead="read what you need in the task's callable, and pass it to the "
            "function that runs on the worker",
        )

    @staticmethod
    def remove(*_: object, **__: object) -> None:
        """Do what Airflow asks of a session at its exit."""


# What is changed, each given what was there


def _supervisor(before: object) -> object:
    return _NoSupervisor() if before is _ABSENT or before is None else before


def _read(kind: str) -> Callable[[Any], Any]:
    """Have a look-up raise where it finds nothing, instead of giving a default."""

    def looked_up(look_up: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(look_up)
        def found(*args: Any, **kwargs: Any) -> Any:
            try:
                value = look_up(*args, **kwargs)
            except ValueError:  # it is there, and is not JSON
                raise
            except Exception:  # noqa: BLE001 - whatever it was, it did not work
                raise _unread(kind, _key_in(args, kwargs)) from None
            if value is None:
                raise _unread(kind, _key_in(args, kwargs))
            return value

        return found

    def awaited(look_up: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(look_up)
        async def found(*args: Any, **kwargs: Any) -> Any:
            try:
                return await look_up(*args, **kwargs)
            except Exception:  # noqa: BLE001 - whatever it was, it did not work
                raise _unread(kind, _key_in(args, kwargs)) from None

        return found

    return lambda before: _wrapped(before, looked_up, awaited)


def _written(how: str) -> Callable[[Any], Any]:
    """Have what changes a variable raise, where that fails."""

    def wrap(write: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(write)
        def written(*args: Any, **kwargs: Any) -> Any:
            try:
                return write(*args, **kwargs)
            except (TypeError, ValueError):  # of the value
                raise
            except Exception:  # noqa: BLE001 - whatever it was, it did not work
                key = _key_in(args, kwargs)
                raise _unwritten("variable", key, how) from None

        return written

    return lambda before: _wrapped(before, wrap, wrap)


def _quiet(before: Any) -> Any:
    """Have a look into the metadata database find nothing where there is none."""

    def wrap(look_up: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(look_up)
        def looked_up(*args: Any, **kwargs: Any) -> Any:
            try:
                return look_up(*args, **kwargs)
            except Exception:  # noqa: BLE001 - whatever it was, it did not work
                return None  # Airflow would log a traceback of SQL, and go on

        return looked_up

    return _wrapped(before, wrap, wrap)


def _without_sessions(before: Any) -> Any:
    """Have sessions of an empty database raise as soon as one is asked for."""

    def wrap(configure: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(configure)
        def configured(*args: Any, **kwargs: Any) -> None:
            configure(*args, **kwargs)
            settings: Any = sys.modules["airflow.settings"]
            if str(settings.SQL_ALCHEMY_CONN) == _EMPTY:
                settings.Session = settings.NonScopedSession = _NoDatabase

        return configured

    return _wrapped(before, wrap, wrap)


def _key_in(args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    asked = (*args, kwargs.get("key"), kwargs.get("conn_id"))
    return next((each for each in asked if isinstance(each, str)), "?")


def _wrapped(
    before: Any,
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]],
    wrap_awaited: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Any:
    if before is _ABSENT:  # in this version of Airflow
        return before
    if isinstance(before, staticmethod | classmethod):
        return type(before)(wrap(before.__func__))
    if inspect.iscoroutinefunction(before):
        return wrap_awaited(before)
    return wrap(before)


_CHANGES: dict[str, tuple[tuple[str, str, Callable[[Any], Any]], ...]] = {
    _RUNNER: (("", "SUPERVISOR_COMMS", _supervisor),),
    "airflow.sdk.execution_time.context": (
        ("", "_get_variable", _read("variable")),
        ("", "_get_connection", _read("connection")),
        ("", "_async_get_connection", _read("connection")),
    ),
    "airflow.models.variable": (
        ("Variable", "get_variable_from_secrets", _read("variable")),
        ("Variable", "set", _written("set")),
        ("Variable", "update", _written("set")),
        ("Variable", "delete", _written("deleted")),
    ),
    "airflow.models.connection": (
        ("Connection", "get_connection_from_secrets", _read("connection")),
    ),
    "airflow.secrets.metastore": (
        ("MetastoreBackend", "get_variable", _quiet),
        ("MetastoreBackend", "get_connection", _quiet),
    ),
    "airflow.settings": (("", "configure_orm", _without_sessions),),
}
"""What of Airflow's modules is changed: (class, name, what becomes of it)."""
