"""This process and its host: Python, system, image, settings, packages, ancestors, load, and
changes of its state.

Containers receive images, tags and commits in environment variables with many names; only
variables whose names indicate one of these are read.

A scheduler or worker that descends from the driver's process belongs to its script: if it
ends together with the script, that is not a failure.

A task that changes the state of its process (a default timeout, a limit, the locale) changes it
for everything that runs there later.  Of environment variables, only names are recorded.
"""

from __future__ import annotations

import locale
import os
import platform
import re
import socket
import sys
import time
import warnings
from functools import lru_cache
from importlib import metadata
from typing import Any, Iterator, Mapping

_MOST = 800  # settings
_LONGEST = 160
_FIELD = re.compile(r"(?im)^(name|version):[ \t]*(\S+)")


def installed() -> Iterator[tuple[str, str]]:
    """Yield names and versions of the installed packages; one may be found several times.

    `each.metadata` would parse their whole descriptions, which takes a tenth of a second
    for a hundred packages.
    """
    for each in metadata.distributions():
        texts = map(each.read_text, ("METADATA", "PKG-INFO", ""))
        head = next(filter(None, texts), "").partition("\n\n")[0]
        fields = {name.lower(): value for name, value in _FIELD.findall(head)}
        if "name" in fields and "version" in fields:
            yield fields["name"], fields["version"]


@lru_cache(maxsize=1)
def environment() -> dict[str, object]:
    """Return Python, system and packages by name.  Reads the disk: not on an event loop."""
    packages: dict[str, str] = {}
    for name, version in installed():
        # The first one on the path is the one that is imported.
        packages.setdefault(name.lower().replace("_", "-"), version)
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "packages": dict(sorted(packages.items())),
    }


def settings_and_image() -> dict[str, dict[str, str]]:
    """Return Dask's settings in this process by their whole names, and its image."""
    from dask import config

    settings: dict[str, str] = {}
    _flatten(config.config, "", settings)
    return {"settings": settings, "image": image_variables()}


def _flatten(value: object, name: str, into: dict[str, str]) -> None:
    if isinstance(value, dict) and value:
        for key, each in list(value.items()):
            _flatten(each, f"{name}.{key}" if name else str(key), into)
    elif len(into) < _MOST:
        into[name] = str(value)[:_LONGEST]


_NAMES = re.compile(
    r"(?:^|_)(?:IMAGE|IMAGE_(?:NAME|TAG|ID|VERSION|DIGEST)|(?:DOCKER|CONTAINER|RELEASE|BUILD)"
    r"_(?:TAG|VERSION|ID)|GIT_(?:SHA|COMMIT|REVISION)|COMMIT_SHA)$"
)
_MOST_VARIABLES = 12
_LONGEST_VARIABLE = 200


def image_variables(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return variables that name an image, a tag or a commit.

    Args:
        environ: The environment; None: this process's.
    """
    every = os.environ if environ is None else environ
    names = sorted(name for name in every if _NAMES.search(name))
    return {
        name: every[name][:_LONGEST_VARIABLE]
        for name in names[:_MOST_VARIABLES]
        if every[name]
    }


UNIT_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "OAR_JOB_ID")
"""Environment variables in which cluster managers name the unit that a process runs in."""
_LONGEST_UNIT, _LONGEST_HOST_NAME = 64, 63


def named_units(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what cluster managers name in an environment: ids by variable.

    A pod is named by its host name, unless that had to be cut.
    """
    named = {
        name: environ[name][:_LONGEST_UNIT]
        for name in UNIT_VARIABLES
        if environ.get(name)
    }
    if environ.get("JOB_ID") and environ.get("SGE_TASK_ID"):
        named["SGE_JOB_ID"] = environ["JOB_ID"][
            :_LONGEST_UNIT
        ]  # others use this name too
    container = environ.get("CONTAINER_ID", "")
    if container.startswith("container_"):  # YARN's; others use this name too
        named["CONTAINER_ID"] = container[:_LONGEST_UNIT]
    pod = environ.get("HOSTNAME", "")
    if environ.get("KUBERNETES_SERVICE_HOST") and 0 < len(pod) < _LONGEST_HOST_NAME:
        named["KUBERNETES_POD"] = pod
    return named


_MOST_ANCESTORS = 12


def ancestry() -> dict[str, object]:
    """Return `pid`, `ancestors` ([[pid, start time]], the parent first) and `boot`.

    `boot` names the running kernel and the space of process ids: where it is the same, process
    ids and clocks of two processes can be compared.  Empty where the system does not say.
    """
    ancestors: list[list[Any]] = []
    pid = parent_of("self")
    while pid > 0 and len(ancestors) < _MOST_ANCESTORS:
        ancestors.append([pid, stat_fields(pid)[19:20]])
        pid = parent_of(pid)
    return {
        "pid": os.getpid(),
        "ancestors": [[pid, (started or [None])[0]] for pid, started in ancestors],
        "boot": _boot(),
    }


def parent_of(pid: int | str) -> int:
    """Return the process id of a process's parent; 0 if it has none or it is unknown."""
    fields = stat_fields(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def stat_fields(pid: object) -> list[str]:
    """Return the fields of a process after its name, as the kernel prints them.

    Empty where the system reports none; the first is its state, the twentieth when it
    started, the fiftieth its exit status.

    Args:
        pid: Its id; `self`, or `self/task/<id>` for a thread of this process.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def host_cpu() -> dict[str, float]:
    """Return the core-seconds that this host has worked, and that were stolen from it.

    Empty where the system does not report them.
    """
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(each) for each in file.readline().split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    except (OSError, ValueError):
        return {}
    busy = user + nice + system + irq + softirq
    return {"host_busy": busy / tick, "host_stolen": steal / tick}


def host_swap() -> dict[str, float]:
    """Return the bytes that this host has moved to and from its swap; empty: not reported."""
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            pages = dict(line.split() for line in file if line.startswith("pswp"))
        moved = int(pages["pswpin"]) + int(pages["pswpout"])
    except (OSError, ValueError, KeyError):
        return {}
    return {"host_swapped": float(moved * _PAGE_SIZE)}


def _boot() -> str | None:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return None


if sys.platform != "win32":
    import resource

_LIMITS = ("AS", "CORE", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "STACK")
_MOST_NAMES = 20
_OF_DASK = ("DASK_",)


_MOST_OPEN, _SHOWN_OPEN = 500, 5
_STREAMS = ("0", "1", "2")


def waiting_of(pid: int) -> dict[str, object]:
    """Return what a process of this host waits for, and the files that it has open.

    Reads the disk: not on an event loop.

    Args:
        pid: Of a process of the same user.

    Returns:
        `kernel`: the kernel's function in which its main thread sleeps, empty while it runs
        and where the kernel keeps it to itself; `files`: five files without those of programs and devices.  Without what the system
        does not report.
    """
    found: dict[str, object] = {}
    try:
        with open(f"/proc/{pid}/wchan", encoding="utf-8") as file:
            found["kernel"] = file.read().strip().strip("0")
        folder = f"/proc/{pid}/fd"
        numbers = [n for n in os.listdir(folder)[:_MOST_OPEN] if n not in _STREAMS]
        names = [os.readlink(f"{folder}/{n}") for n in numbers]
    except OSError:
        return found
    files = [each for each in names if os.path.isabs(each) and _may_hold_data(each)]
    return {**found, "files": files[:_SHOWN_OPEN]}


def _may_hold_data(path: str) -> bool:
    return not path.startswith(("/dev/", "/proc/", "/sys/")) and not path.endswith(
        (".py", ".so", ".pyc", ".dirlock", " (deleted)")
    )


class ProcessState:
    """The state of this process when it was asked for."""

    def __init__(self) -> None:
        self._values = _values()
        self._environment = dict(os.environ)

    def changes(self) -> list[dict[str, str]]:
        """Return the fields of `events.StateChange`s: what has changed since."""
        now = _values()
        found = [
            {"name": name, "before": before, "now": now[name]}
            for name, before in self._values.items()
            if now.get(name, before) != before
        ]
        return found + self._variables()

    def _variables(self) -> list[dict[str, str]]:
        before, now = self._environment, dict(os.environ)
        names = sorted(
            name
            for name in before.keys() | now.keys()
            if before.get(name) != now.get(name) and not name.startswith(_OF_DASK)
        )
        return [
            {
                "name": f"environment variable {name}",
                "before": "set" if name in before else "not set",
                "now": ("another value" if name in before else "set")
                if name in now
                else "not set",
            }
            for name in names[:_MOST_NAMES]
        ]


def _values() -> dict[str, str]:
    timeout = socket.getdefaulttimeout()
    return {
        "default timeout of sockets": "none" if timeout is None else f"{timeout:g} s",
        "recursion limit": str(sys.getrecursionlimit()),
        "locale": locale.setlocale(locale.LC_ALL),
        "time zone": "/".join(time.tzname),
        "warnings raised as errors": _errors(),
        **_limits(),
    }


def _limits() -> dict[str, str]:
    if sys.platform == "win32":
        return {}
    found = {}
    for name in _LIMITS:
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:  # not every system has every limit
            continue
        limit = resource.getrlimit(kind)[0]
        unlimited = limit == resource.RLIM_INFINITY
        found[f"RLIMIT_{name}"] = "unlimited" if unlimited else str(limit)
    return found


def _errors() -> str:
    """Return the categories of warnings that some filter makes errors."""
    names = {str(each[2]) for each in warnings.filters if each[0] == "error"}
    return ", ".join(sorted(re.findall(r"\w+(?='>)", " ".join(names)))) or "none"
