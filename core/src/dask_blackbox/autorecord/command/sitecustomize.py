"""Runs at the start of each Python process of a command under `dask blackbox run`.

It must cost nothing and break nothing: it hands on to the `sitecustomize` that it hides,
and imports nothing of ours before an exception ends the process, or it starts a program.
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
        # A message means exit code 1, and no hook learns of it.  Of a code, only a process
        # that has made a Dask client reports.
        command_process = sys.modules.get(
            "dask_blackbox.autorecord.command.command_process"
        )
        failed = isinstance(status, int) and bool(status)
        if failed and command_process is not None:
            command_process.report_code(int(status), sys._getframe(1))  # noqa: SLF001 - as below
        elif status is not None and not isinstance(status, int):
            try:
                from dask_blackbox.autorecord.command.command_process import report_exit

                report_exit(status, sys._getframe(1))  # noqa: SLF001 - no better way
            except Exception:
                pass
        leave(status)

    sys.exit = reported_exit
    _watch_immediate_exits()


def _watch_immediate_exits() -> None:
    """Report an `os._exit` of the job's own, which no exit handler learns of."""
    inner = os._exit

    def reported_exit(status: int) -> NoReturn:
        command_process = sys.modules.get(
            "dask_blackbox.autorecord.command.command_process"
        )
        if command_process is not None and status:
            command_process.report_immediate_exit(status, sys._getframe(1))  # noqa: SLF001 - as above
        inner(status)

    os._exit = reported_exit


def _send_the_last_lines() -> None:
    """Close the recorder's connection after all other exit handlers of the process.

    Handlers run in the reverse order of their registration: Dask closes its clusters before.
    """
    import atexit

    def leave() -> None:
        if getattr(sys, "last_value", None) is not None:
            try:
                from dask_blackbox.autorecord.command import command_process

                command_process.report_uncaught()
            except Exception:
                pass
        name = "dask_blackbox.autorecord.command.command_process"
        if name in sys.modules:
            sys.modules[name].leave()

    atexit.register(leave)


def _is_of_others(record: Any) -> bool:
    return "dask_blackbox_preload" not in record.getMessage()


def _hide_lines_on_our_preload() -> None:
    """Filter Dask's log lines about our preload before it is imported."""
    try:
        import logging

        for name in ("distributed.preloading", "distributed.utils"):
            logging.getLogger(name).addFilter(_is_of_others)
    except Exception:
        pass


class _AtImports:
    """An import hook: called for each module that is not loaded yet."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        if name == "distributed.preloading":
            _hide_lines_on_our_preload()
        if name not in _AFTER_LOADING:
            return None
        others = [finder for finder in sys.meta_path if finder is not cls]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((each for each in found if each is not None), None)
        if spec is not None:
            _after_loading(spec.loader, _AFTER_LOADING[name])
        return spec


def _after_loading(loader: Any, change: Any) -> None:
    """Change a module once a loader has loaded it."""
    inner = loader.exec_module

    def exec_module(module: Any) -> None:
        inner(module)
        change(module)

    loader.exec_module = exec_module


def _keep_configured_path(nanny: Any) -> None:
    """Let workers have the `PYTHONPATH` of Dask's configuration, as without a recording.

    Dask prefers a variable that is set, and this one is set only by us where the user has none.
    """
    inner = getattr(nanny, "_get_env_variables", None)
    if inner is None:
        return

    def variables(config_key: str) -> Any:
        found = inner(config_key)
        try:
            here = os.path.dirname(os.path.abspath(__file__))
            configured = nanny.dask.config.get(config_key).get("PYTHONPATH")
            if configured is not None and found.get("PYTHONPATH") == here:
                found["PYTHONPATH"] = os.pathsep.join([here, str(configured)])
        except Exception:
            pass
        return found

    nanny._get_env_variables = variables  # noqa: SLF001 - no better way


def _watch_starts(subprocess: Any) -> None:
    """Note programs that exit with an error, from the first one that this process starts."""
    inner, frame = subprocess.Popen.__init__, sys._getframe  # noqa: SLF001 - no better way

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        try:
            inner(self, *args, **kwargs)
        except BaseException as error:
            if error.__traceback__ is not None:  # without our own frame
                error.__traceback__ = error.__traceback__.tb_next
            raise
        try:
            from dask_blackbox.capture import programs

            programs.started_by(self, frame(1))
            if _is_of_dask(self.args):
                # It may end workers that it has started, and have no client itself.
                from dask_blackbox.autorecord.command import command_process

                command_process.listen()
        except Exception:
            pass

    __init__.__wrapped__ = inner  # type: ignore[attr-defined]
    subprocess.Popen.__init__ = __init__


def _listen_before_client(_: Any) -> None:
    """Listen to cluster objects whose scheduler may never start: there is no client then."""
    try:
        from dask_blackbox.autorecord.command import command_process

        command_process.listen()
    except Exception:
        pass


def _listen_to_ray(_: Any) -> None:
    """Listen to a driver that has Ray run Dask's tasks; Ray's workers import the same."""
    if "default_worker" in " ".join(getattr(sys, "orig_argv", ())):
        return
    try:
        from dask_blackbox.autorecord.command import command_process

        command_process.listen_to_ray()
    except Exception:
        pass


def _watch_the_main_thread(_: Any) -> None:
    """Report where the driver is before it has a client: it may wait for something else."""
    words = " ".join(getattr(sys, "orig_argv", ()))
    if "multiprocessing" in words or _is_of_dask(sys.argv):
        return  # a worker's process, or a scheduler's
    import threading

    if threading.current_thread() is threading.main_thread():
        _EarlyWatch(threading.get_ident()).begin()


class _EarlyWatch:
    """Waits until a script has run for a while, and then begins to watch its main thread.

    No thread of it lives while the script forks: Python warns of a fork beside threads.
    """

    def __init__(self, main: int) -> None:
        self._main = main
        self._thread: Any = None
        os.register_at_fork(before=self._pause, after_in_parent=self.begin)

    def begin(self) -> None:
        import threading

        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="dask-blackbox-early", daemon=True
        )
        try:
            self._thread.start()
        except RuntimeError:  # no more threads, or the interpreter exits
            self._thread = None

    def _run(self) -> None:
        if self._stopped.wait(_EARLY):
            return
        try:
            from dask_blackbox.autorecord.command import command_process

            command_process.watch_before_client(self._main)
        except Exception:
            pass

    def _pause(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(1.0)
        name = "dask_blackbox.autorecord.command.command_process"
        if name in sys.modules:
            sys.modules[name].pause_before_client()


_EARLY = 5.0
"""Seconds after the import of Dask's client after which a driver is watched."""

_AFTER_LOADING = {
    "dask_kubernetes.operator.kubecluster.kubecluster": _listen_before_client,
    "distributed.client": _watch_the_main_thread,
    "subprocess": _watch_starts,
    "distributed.nanny": _keep_configured_path,
    "ray.util.dask.scheduler": _listen_to_ray,
}


def _is_of_dask(args: Any) -> bool:
    """Return whether a command starts a scheduler or workers."""
    words = args.split() if isinstance(args, str) else [str(each) for each in args]
    names = [os.path.basename(word) for word in words]
    if "dask-worker" in names or "dask-scheduler" in names:
        return True
    of_dask = "dask" in names or "distributed.cli" in " ".join(names)
    return of_dask and any("worker" in each or "scheduler" in each for each in names)


def _watch_programs() -> None:
    """Note programs that exit with an error.

    Not by an audit hook: Python would ask it forty times for each task that a scheduler in
    this process handles.
    """
    frame = sys._getframe  # noqa: SLF001 - no better way
    inner = os.system

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
    sys.meta_path.insert(0, _AtImports)
    if "subprocess" in sys.modules:
        _watch_starts(sys.modules["subprocess"])


def _watch_tests() -> None:
    """Let pytest load our plugin if this process runs pytest."""
    words = [os.path.basename(word) for word in getattr(sys, "orig_argv", ())[:4]]
    if not any(word in ("pytest", "py.test", "pytest.exe") for word in words):
        return
    named = os.environ.get("PYTEST_PLUGINS")
    # The plugin takes its name out again, before anything inherits it.
    plugins = [*([named] if named else []), "dask_blackbox_pytest"]
    os.environ["PYTEST_PLUGINS"] = ",".join(plugins)


if os.environ.get("DASK_BLACKBOX_CONTROL"):
    try:
        _above = os.environ.get(_PROCESSES, "")
        os.environ[_PROCESSES] = ("%s %d" % (_above, os.getpid())).strip()
        _watch()
        _send_the_last_lines()
        _watch_programs()
        _watch_tests()
    except Exception as error:
        sys.stderr.write("dask-blackbox does not watch this process: %r\n" % error)
try:
    _hand_on()
except Exception as error:  # as site.py does for the one that we hide
    sys.stderr.write("Error in sitecustomize; set PYTHONVERBOSE for traceback:\n")
    sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
