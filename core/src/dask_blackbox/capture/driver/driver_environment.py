"""The driver's environment: its own modules, machine and cluster.

This reads files, so it runs in a thread of its own (`driver.own_code`).
"""

from __future__ import annotations

import inspect
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ..bytecode import code_hash, signed
from ..own_modules import FOREIGN, own_modules
from .module_parts import parts_of, sources_of

_MOST_PARTS = 1_500
_MOST_SOURCE = 200_000  # characters, of all modules that are reported at once
_SECONDS = 0.3  # of this thread's processor time, for parts
_IMAGES = ("image", "_image", "docker_image", "container_image")


def code_facts(known: set[str], *, source: bool = False) -> dict[str, dict[str, str]]:
    """Return what code of the user's own is loaded: `modules` and their `parts`.

    Args:
        known: Modules that were reported before; grows by those that are reported now.
        source: With the text of their parts, as `sources`.

    Returns:
        Of modules, a hash by name; of their parts, as far as there are not too many, file,
        line and hash by module and name: `{"shop:Tax.added": "shop.py:27 1f00ba75"}`.
    """
    found: dict[str, str] = {}
    parts: dict[str, str] = {}
    sources: dict[str, str] = {}
    deadline = time.thread_time() + _SECONDS
    for name, file, code in own_modules(known):
        found[name] = signed(code_hash(code))
        if len(parts) < _MOST_PARTS and time.thread_time() < deadline:
            place = os.path.basename(file)
            for part, (line, digest) in parts_of(code).items():
                parts[f"{name}:{part}"] = f"{place}:{line} {digest}"
        if source:
            _add_sources(sources, name, file)
    return {
        "modules": found,
        "parts": parts,
        **({"sources": sources} if source else {}),
    }


def _add_sources(sources: dict[str, str], module: str, file: str) -> None:
    """Add the text of a module's parts, as long as there is not too much of it."""
    taken = sum(map(len, sources.values()))
    try:
        reported = sources_of(Path(file).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return
    for part, text in reported.items():
        taken += len(text)
        if taken <= _MOST_SOURCE:
            sources[f"{module}:{part}"] = text


def folder_of_code(function: Callable[..., object] | None = None) -> str:
    """Return where the job's own code lies: its function's file, its script, or here.

    A host's command, which lies among its environment's programs, is nobody's script.
    """
    inner = None if function is None else inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    script = sys.argv[0] if sys.argv else ""
    programs = {str(Path(each) / "bin") for each in (sys.prefix, sys.base_prefix)}
    for file in (getattr(code, "co_filename", ""), script):
        if file and Path(file).is_file() and not any(p in file for p in FOREIGN):
            folder = Path(file).resolve().parent
            if str(Path(file).absolute().parent) not in programs:
                return str(folder)
    return str(Path.cwd())


def machine_facts() -> dict[str, object]:
    """Return what kind of machine this is: nothing that names this very one."""
    memory = None
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        pass
    return {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "memory": None if memory is None else f"{memory / 2**30:.1f} GiB",
    }


def scheduler_id(client: object) -> str:
    """Return the id of a client's scheduler, which is independent of its address; or ""."""
    known = getattr(client, "_scheduler_identity", None) or {}
    return str(known.get("id") or "")


def cluster_facts(client: object) -> dict[str, object]:
    """Return of what kind the cluster of a client is, and its image where it has one."""
    cluster = getattr(client, "cluster", None)
    return {} if cluster is None else facts_of_cluster(cluster)


def facts_of_cluster(cluster: object) -> dict[str, object]:
    """Return of what kind a cluster is, and its image where it has one."""
    # Not by `getattr`: a property may ask a remote service.
    held = getattr(cluster, "__dict__", {})
    images = [held.get(name) for name in _IMAGES]
    facts: dict[str, object] = {
        "kind": type(cluster).__name__,
        "image": next((i for i in images if isinstance(i, str) and i), None),
    }
    gateway = getattr(held.get("gateway"), "address", None)
    if isinstance(gateway, str) and gateway.startswith(("http://", "https://")):
        facts["gateway"] = gateway
    return facts
