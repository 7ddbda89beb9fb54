"""Makes Dask work inside an Airflow task, whose DAG file its workers cannot import.

Two things keep an ordinary `LocalCluster` from working in a task of Airflow 3.

**The main module.** A worker process is spawned, and spawning runs the parent's main
module again.  In a task that is Airflow's own command, which finds its database forbidden
there and dies; the user reads "Nanny failed to start".  The same happens again whenever a
nanny restarts a worker, so that the main module stays hidden for the whole life of the
task, as if the task had been typed at a prompt.

**The DAG file.** Airflow imports it under a name that no other process can import
(`unusual_prefix_<digest>_<file>`).  Whatever the file defines at its top level is pickled
by that name, and a worker that reads it loses its connection to the scheduler instead of
raising: the run hangs.  `cloudpickle.register_pickle_by_value` is not enough, because
distributed tries plain `pickle` first, and a function deep in a graph passes it.  So for as
long as the task runs, `sys.modules` holds a stand-in that has everything the DAG file has
except, for those who ask for it as an attribute, its own functions and classes.  Pickle's
look-up by name then fails as for anything that cannot be imported, and everyone falls
back on cloudpickle, which sends such things by value.
"""

from __future__ import annotations

import atexit
import copy
import copyreg
import functools
import sys
import types
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

__all__ = [
    "hidden_main",
    "prepare_process",
    "shipped_by_value",
    "unimportable_module_of",
]

_DAG_FILE_PREFIX: Final = "unusual_prefix_"
_ABSENT: Final = object()
_prepared: Final = ExitStack()


@contextmanager
def hidden_main() -> Iterator[None]:
    """Keep processes that are spawned inside the block from running `__main__` again."""
    main = sys.modules["__main__"]
    # What multiprocessing.spawn looks at; both are absent or None at a prompt.
    file = getattr(main, "__file__", _ABSENT)
    spec = main.__spec__
    main.__spec__ = None
    if file is not _ABSENT:
        del main.__file__
    try:
        yield
    finally:
        main.__spec__ = spec
        if file is not _ABSENT:
            main.__file__ = file  # type: ignore[assignment]


def prepare_process(module: types.ModuleType | None) -> None:
    """Have Dask work for the rest of this process, which a task has for itself.

    Args:
        module: The DAG file; None: workers can import it.
    """
    # As Python ends, a generator that is still open cannot clean up any more.
    atexit.unregister(_prepared.close)
    atexit.register(_prepared.close)
    _prepared.enter_context(hidden_main())
    _prepared.enter_context(shipped_by_value(module))


def unimportable_module_of(function: Callable[..., object]) -> types.ModuleType | None:
    """Return the DAG file that `function` stands in, if workers cannot import it."""
    while (wrapped := getattr(function, "func", None)) is not None:  # a partial
        function = wrapped
    name = getattr(function, "__module__", None) or ""
    if not name.startswith(_DAG_FILE_PREFIX):
        return None
    return sys.modules.get(name)


@contextmanager
def shipped_by_value(module: types.ModuleType | None) -> Iterator[None]:
    """Have what `module` defines pickled by value inside the block; None: change nothing."""
    if module is None or isinstance(sys.modules.get(module.__name__), _StandIn):
        yield  # somebody around this block has it shipped, and ends that
        return
    import cloudpickle  # as heavy as pickle, but not needed to parse DAGs

    # For the module object itself, where a function names it as a global.
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    sys.modules[module.__name__] = _StandIn(module)
    try:
        with _cached_functions_by_value(module.__name__):
            yield
    finally:
        sys.modules[module.__name__] = module
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


@contextmanager
def _cached_functions_by_value(module_name: str) -> Iterator[None]:
    """Have functions under `functools.cache` pickled by value, too.

    They only know how to be pickled by name, with cloudpickle as well.  A plain function
    that finds its cache in the process it runs in can travel instead, and travel on: the
    scheduler unpickles a graph and pickles its tasks again, without this module.
    """
    kind = functools._lru_cache_wrapper  # noqa: SLF001 - the class has no other name
    before = copyreg.dispatch_table.get(kind)
    plain: dict[int, Callable[..., object]] = {}

    def reduced(function: Any) -> Any:
        if function.__module__ != module_name:
            return before(function) if before else function.__qualname__
        if id(function) not in plain:
            plain[id(function)] = _plain_cached(function)
        # Copying a function gives the function; workers have `copy`, and not this module.
        return copy.copy, (plain[id(function)],)

    copyreg.pickle(kind, reduced)
    try:
        yield
    finally:
        if before is None:
            del copyreg.dispatch_table[kind]
        else:
            copyreg.dispatch_table[kind] = before


def _plain_cached(function: Any) -> Callable[..., Any]:
    wrapped, limits = function.__wrapped__, function.cache_parameters()
    token = uuid.uuid4().hex

    def cached(*args: Any, **kwargs: Any) -> Any:
        import functools

        caches: dict[str, Any] = functools.__dict__.setdefault("_by_token", {})
        if token not in caches:
            caches[token] = functools.lru_cache(**limits)(wrapped)
        return caches[token](*args, **kwargs)

    # As if the DAG file had defined it: nobody can import it from there, so that it is
    # pickled by value everywhere.
    cached.__module__, cached.__qualname__ = function.__module__, function.__qualname__
    cached.__name__, cached.__doc__ = function.__name__, function.__doc__
    return cached


class _StandIn(types.ModuleType):
    """A module without its own functions and classes; see the top of the file."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__, module.__doc__)
        for name in ("__file__", "__loader__", "__package__", "__spec__"):
            setattr(self, name, getattr(module, name, None))
        object.__setattr__(self, "_module", module)

    # dataclasses and typing resolve names through the dictionary of the module that a
    # class says it comes from: they must find everything.
    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return object.__getattribute__(self, "_module").__dict__  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        value = getattr(object.__getattribute__(self, "_module"), name)
        if getattr(value, "__module__", None) == self.__name__:
            raise AttributeError(
                f"{self.__name__}.{name} is hidden while a Dask task runs, so that it "
                "is pickled by value"
                f": they cannot import {self.__name__}"
            )
        return value
