"""Runs at the start of each Python process of a command under `dask blackbox run`.

It must cost nothing and break nothing: it hands on to the `sitecustomize` that it hides,
and imports nothing of ours before an exception ends the process.
"""

import os
import sys
from typing import Any, NoReturn


def _hand_on() -> None:
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _watch() -> None:
    inner = sys.excepthook

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        try:
            from dask_blackbox.bootstrap.guest import report

            report(error)
        except Exception:
            pass
        inner(kind, error, trace)

    sys.excepthook = excepthook
    leave = sys.exit

    def told_exit(status: Any = None, /) -> NoReturn:
        # A message means exit code 1, and no hook hears of it.
        if status is not None and not isinstance(status, int):
            try:
                from dask_blackbox.bootstrap.guest import report_exit

                report_exit(status, sys._getframe(1))  # noqa: SLF001 - no better way
            except Exception:
                pass
        leave(status)

    sys.exit = told_exit


if os.environ.get("DASK_BLACKBOX_CONTROL"):
    _watch()
try:
    _hand_on()
except Exception as error:  # as site.py does for the one that we hide
    sys.stderr.write("Error in sitecustomize; set PYTHONVERBOSE for traceback:\n")
    sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
