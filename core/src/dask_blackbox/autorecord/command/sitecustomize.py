"""Runs at the start of each Python process of a command under `dask blackbox run`.

It must cost nothing and break nothing: it hands on to the `sitecustomize` that it hides,
and imports nothing of ours before an exception ends the process.
Nor does it import `typing`, or other modules that Python itself starts without.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PROCESSES = "DASK_BLACKBOX_PROCESSES"
"""Ids of the command's Python processes from the first to this one, which inherit it."""


def _hand_on() -> None:
    import importlib.machinery

    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        import importlib.util

        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _watch() -> None:
    inner = sys.excepthook

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        try:
            from dask_blackbox.autorecord.command.command_process import report

            report(error)
        except Exception:
            pass
        inner(kind, error, trace)

    sys.excepthook = excepthook
    leave = sys.exit

    def reported_exit(status: Any = None, /) -> NoReturn:
        # A message means exit code 1, and no hook hears of it.  Of a code, only a process
        # that has made a Dask client tells.
        command_process = sys.modules.get(
            "dask_blackbox.autorecord.command.command_process"
        )
        if isinstance(status, int) and status and command_process is not None:
            command_process.report_code(int(status), sys._getframe(1))  # noqa: SLF001 - as below
        elif status is not None and not isinstance(status, int):
            try:
                from dask_blackbox.autorecord.command.command_process import report_exit

                report_exit(status, sys._getframe(1))  # noqa: SLF001 - no better way
            except Exception:
                pass
        leave(status)

    sys.exit = reported_exit


def _send_the_last_lines() -> None:
    """Have the recorder's connection closed after all that others do as the process exits.

    Handlers run in the reverse order of their registration: Dask closes its clusters before.
    """
    import atexit

    def leave() -> None:
        name = "dask_blackbox.autorecord.command.command_process"
        if name in sys.modules:
            sys.modules[name].leave()

    atexit.register(leave)


def _is_of_others(record: Any) -> bool:
    return "dask_blackbox_preload" not in record.getMessage()


def _hide_lines_on_our_preload() -> None:
    """Leave out what Dask logs on our preload before that is imported."""
    try:
        import logging

        for name in ("distributed.preloading", "distributed.utils"):
            logging.getLogger(name).addFilter(_is_of_others)
    except Exception:
        pass


class _WhenDaskIsImported:
    """Asked at each import: what Dask logs of its preloads, it logs before it loads ours."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "distributed.preloading":
            _hide_lines_on_our_preload()


def _watch_programs() -> None:
    """Note programs that exit with an error, from the first one that this process starts."""
    if any("multiprocessing" in word for word in getattr(sys, "orig_argv", ())):
        # A nanny's worker: of its tasks' programs our plugin there tells, and Python asks
        # an audit hook forty times for each task.
        return
    frame = sys._getframe  # noqa: SLF001 - no better way
    inner = os.system

    def audit(event: str, args: Any) -> None:
        if event == "subprocess.Popen":
            try:
                from dask_blackbox.capture import programs

                programs.started(frame(1))
            except Exception:
                pass

    def system(command: Any) -> int:
        status = inner(command)
        if status:
            try:
                from dask_blackbox.capture import programs

                programs.shell_exited(command, status, frame(1))
            except Exception:
                pass
        return status

    os.system = system
    sys.addaudithook(audit)


def _watch_tests() -> None:
    """Have pytest load our plugin, where this very process is a run of pytest."""
    words = [os.path.basename(word) for word in getattr(sys, "orig_argv", ())[:4]]
    if not any(word in ("pytest", "py.test", "pytest.exe") for word in words):
        return
    named = os.environ.get("PYTEST_PLUGINS")
    # The plugin takes its name out again, before anything inherits it.
    plugins = [*([named] if named else []), "dask_blackbox_pytest"]
    os.environ["PYTEST_PLUGINS"] = ",".join(plugins)


if os.environ.get("DASK_BLACKBOX_CONTROL"):
    _above = os.environ.get(_PROCESSES, "")
    os.environ[_PROCESSES] = ("%s %d" % (_above, os.getpid())).strip()
    _watch()
    _send_the_last_lines()
    _watch_programs()
    sys.meta_path.insert(0, _WhenDaskIsImported)
    _watch_tests()
try:
    _hand_on()
except Exception as error:  # as site.py does for the one that we hide
    sys.stderr.write("Error in sitecustomize; set PYTHONVERBOSE for traceback:\n")
    sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
