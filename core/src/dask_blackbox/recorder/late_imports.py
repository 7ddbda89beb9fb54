"""Modules that a recorder loads after it has checked the store.

Modules for the end of a recording (tables, rules, reports) are loaded at the end: runs take
hours, and these modules take half of a recorder's memory.  What loading has freed again goes back
to the system.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed.security import Security

    from dask_blackbox.recorder.pulling import Puller


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Disable garbage collection during imports: it would take a tenth of their time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def return_freed_memory() -> None:
    """Return freed memory to the system, where the C library (glibc) would keep it.

    It is a tenth of a recorder's memory: boto3 reads descriptions of services of 12 MB.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def import_little_of_distributed() -> None:
    """Make imports of modules of distributed load these, and not the whole package.

    A recorder only connects to a scheduler.  Client, scheduler, worker and nanny, which the
    package itself imports, would be 15 MB of its memory.  Who asks the package for a name
    that is no module of it gets the whole package.  Call it in a process of our own, before
    distributed is imported.
    """
    spec = importlib.util.find_spec("distributed")
    if "distributed" in sys.modules or spec is None or spec.loader is None:
        return
    package = importlib.util.module_from_spec(spec)
    execute = spec.loader.exec_module

    def attribute(name: str) -> object:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"distributed.{name}")
        package.__dict__.pop("__getattr__", None)
        execute(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = attribute
    sys.modules["distributed"] = package


def puller() -> type[Puller]:
    """Return the class that pulls; importing what it needs of distributed takes a second."""
    with without_collections():
        importlib.import_module("distributed.config")  # Dask's defaults
        from dask_blackbox.recorder.pulling import Puller

    return Puller


def security() -> type[Security]:
    """Return Dask's `Security`, which reads defaults that `distributed` itself would load."""
    importlib.import_module("distributed.config")
    from distributed.security import Security

    return Security


def finaliser() -> Callable[..., None]:
    """Return the function that finalises, with the modules loaded that make the card."""
    with without_collections():
        from dask_blackbox.recorder.finalise import finalise
    return finalise


def pages(*, performance: bool, tasks: bool) -> None:
    """Load the modules that make the pages.

    Args:
        performance: Whether the performance report is made, which needs Bokeh.
        tasks: Whether there may be tasks, of which a picture is drawn.
    """
    from dask_blackbox import report

    with without_collections(), contextlib.suppress(Exception):
        _ = report.html, report.on_demand_html
        if tasks:
            report.load_image_library()
        if performance:
            _ = report.performance_html
