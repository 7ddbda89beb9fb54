"""The driver's environment: its own modules and their parts, machine and cluster.

A hash of a whole module says that something in it has changed; that of a part says what: a
function with its defaults and decorators, a method, a constant.  For the hashes, only a
module's compiled code is read, so that nothing is imported, called or parsed.

The source text is recorded where `blackbox.capture.source` is on.  It passes the
recorder's redaction; here it is only bounded.

This reads files, so it runs in a thread of its own (`driver.own_code`).
"""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import hashlib
import inspect
import os
import platform
import re
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..bytecode import NO_CODE, code_hash, instruction_bytes
from ..files import working_directory
from ..own_modules import FileVersion, compiled, own_modules
from ..redaction import is_secret_name
from ..user_frames import is_foreign
from .cells import parsed
from .ordered_ends import pods_of, units_of

_MOST_PARTS = 1_500
_MOST_KEPT = 800  # files, whose parts other recordings of this process ask for
_MOST_SOURCE = 200_000  # characters, of all modules that are reported at once
_SECONDS = 0.3  # of this thread's processor time, for parts
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")
_MOST_VARIABLES = 100
_MOST_UNITS = 1_000
_IMAGES = ("image", "_image", "docker_image", "container_image")


def code_facts(known: set[str], *, source: bool = False) -> dict[str, dict[str, str]]:
    """Return what code of the user's own is loaded: `modules` and their `parts`.

    Args:
        known: Modules that were reported before; grows by those that are reported now.
        source: With the text of their parts, as `sources`.

    Returns:
        Of modules, a hash by name; of their parts, as far as there are not too many, file,
        line and hash by module and name: `{"shop:Tax.added": "shop.py:27 1f00ba75"}`; and the
        environment variables that the code names, `environment`.
    """
    found: dict[str, str] = {}
    parts: dict[str, str] = {}
    sources: dict[str, str] = {}
    environment: dict[str, str] = {}
    deadline = time.thread_time() + _SECONDS
    for each in own_modules(known):
        found[each.name] = each.mark
        for variable, value in _environment_of(each.variables):
            if len(environment) < _MOST_VARIABLES:
                environment[variable] = value
        if len(parts) < _MOST_PARTS and time.thread_time() < deadline:
            place = os.path.basename(each.file)
            with contextlib.suppress(OSError):
                for part, (line, digest) in _parts_in(each.file, each.version).items():
                    parts[f"{each.name}:{part}"] = f"{place}:{line} {digest}"
        if source:
            _add_sources(sources, each.name, each.file)
    return {
        "modules": found,
        "parts": parts,
        "environment": environment,
        **({"sources": sources} if source else {}),
    }


@functools.lru_cache(maxsize=_MOST_KEPT)
def _parts_in(file: str, version: FileVersion) -> dict[str, tuple[int, str]]:
    code = compiled(file, version)
    return {} if code is None else parts_of(code)


def _environment_of(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield those of these environment variables that are set, but secrets.

    With its value if that is a number; of anything else a digest, which shows only that it has
    changed.
    """
    for name in names:
        if name in os.environ and not is_secret_name(name):
            value = os.environ[name]
            plain = _NUMBER.fullmatch(value) is not None
            digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
            yield name, value if plain else f"digest {digest[:_DIGITS]}"


def _add_sources(sources: dict[str, str], module: str, file: str) -> None:
    """Add the text of a module's parts, as long as there is not too much of it."""
    taken = sum(map(len, sources.values()))
    try:
        reported = sources_of(Path(file).read_text("utf-8"))
    except (OSError, ValueError):
        return
    for part, text in reported.items():
        taken += len(text)
        if taken <= _MOST_SOURCE:
            sources[f"{module}:{part}"] = text


def function_of(called: Callable[..., object]) -> Callable[..., object]:
    """Return the function that a call runs: of a partial, a decorated function, an object."""
    inner: Any = inspect.unwrap(called)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(inner.func)
    call = type(inner).__call__
    of_object = not hasattr(inner, "__code__") and hasattr(call, "__code__")
    function: Callable[..., object] = call if of_object else inner
    return function


def folder_of_code(function: Callable[..., object] | None = None) -> str | None:
    """Return where the job's own code lies: its function's file, its script, or here.

    A host's command, which lies among its environment's programs, is nobody's script.
    """
    inner = None if function is None else function_of(function)
    code = getattr(inner, "__code__", None)
    script = sys.argv[0] if sys.argv else ""
    programs = {str(Path(each) / "bin") for each in (sys.prefix, sys.base_prefix)}
    for file in (getattr(code, "co_filename", ""), script):
        if file and Path(file).is_file() and not is_foreign(file):
            folder = Path(file).resolve().parent
            if str(Path(file).absolute().parent) not in programs:
                return str(folder)
    return working_directory()


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
        "kind": _kind_of(type(cluster)),
        "image": next((i for i in images if isinstance(i, str) and i), None),
        **_name_and_page(type(cluster), held),
    }
    if (found := gateway_cluster(cluster)) is not None:
        facts |= {"gateway": found[0].address, "name": found[1]}
    if isinstance(held.get("workers"), dict):
        units, folder = units_of(cluster)
        if units:
            some = dict(list(units.items())[:_MOST_UNITS])
            facts |= {"units": some, "folder": folder}
    elif (pods := pods_of(cluster)) is not None:
        facts["units"] = pods
    return facts


def _kind_of(kind: type) -> str:
    """Return the name of a class of cluster objects, with its library where that is needed."""
    library = kind.__module__.partition(".")[0]
    alone = kind.__name__ == "Cluster" and library != "distributed"
    return f"{library}.Cluster" if alone else kind.__name__


def _name_and_page(kind: type, held: dict[str, Any]) -> dict[str, str]:
    """Return what a cluster's manager calls it, and its page there, as its object holds them."""
    library = kind.__module__.partition(".")[0]
    found: dict[str, object] = {}
    if library == "coiled":
        found["name"] = held.get("cluster_id")
        server = getattr(held.get("cloud"), "server", None)
        if found["name"] and isinstance(server, str):
            found["page"] = f"{server}/clusters/{found['name']}"
    elif library == "dask_yarn":
        found["name"] = getattr(held.get("application_client"), "id", None)
    elif library == "dask_databricks":
        found["name"] = (held.get("_cluster_info") or {}).get("name")
    elif library == "dask_cloudprovider":
        found["name"] = held.get("cluster_arn") or held.get("uuid")
    return {name: str(value) for name, value in found.items() if value}


def gateway_cluster(cluster: object) -> tuple[Any, str] | None:
    """Return the gateway that a cluster belongs to, and its name there; None: to none.

    Args:
        cluster: A `dask_gateway.GatewayCluster`, or another cluster object, or None.
    """
    held = getattr(cluster, "__dict__", {})
    gateway, name = held.get("gateway"), held.get("name")
    address = getattr(gateway, "address", None)
    if not isinstance(address, str) or not isinstance(name, str):
        return None
    return (gateway, name) if address.startswith(("http://", "https://")) else None


_OPTIMISED = 0x1  # as in `bytecode`: a function's flag
_DEEPEST = 3  # of classes in classes
_DIGITS = 8
_NOT_SAID = NO_CODE | {"__module__", "__qualname__"}
_ENDS = ("STORE_NAME", "STORE_GLOBAL", "POP_TOP")


def parts_of(code: types.CodeType) -> dict[str, tuple[int, str]]:
    """Return the line and a hash of each name that a module defines.

    Args:
        code: Of the module's body.

    Returns:
        `Tax.added` for a method.  Of a name that is set more than once, the last line and
        a hash of all; what is set nowhere (calls, loops) counts to the name after it.
    """
    found: dict[str, tuple[int, str]] = {}
    for name, line, text in _body(code, "", 0):
        before = found[name][1] if name in found else ""
        digest = hashlib.sha256(before.encode() + text).hexdigest()
        found[name] = (line, digest[:_DIGITS])
    return found


def _body(code: types.CodeType, inside: str, depth: int) -> Any:
    """Yield name, line and text of each part of a body: of a module, or of a class."""
    text: list[bytes] = []
    line = 0
    classes: list[types.CodeType] = []
    for each in dis.get_instructions(code):
        held = each.argval
        if type(held) is types.CodeType:
            line = held.co_firstlineno
            if not held.co_flags & _OPTIMISED and depth < _DEEPEST:
                classes.append(held)  # reported by its members
                continue
            text.append(code_hash(held).encode())
        elif each.opname not in _ENDS:
            text.append(instruction_bytes(each))
        elif each.opname == "POP_TOP":
            text.append(b";")
        else:
            if held not in _NOT_SAID:
                yield f"{inside}{held}", line or _line_of(each), b"".join(text)
                for body in classes:
                    yield from _body(body, f"{inside}{held}.", depth + 1)
            text, line, classes = [], 0, []


def _line_of(instruction: object) -> int:
    # (Since Python 3.11; those before tell only of the first instruction of a line.)
    positions = getattr(instruction, "positions", None)
    return getattr(positions, "lineno", None) or 0


_LONGEST = 4_000  # characters of one of them
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sources_of(text: str) -> dict[str, str]:
    """Return the source of each function, method and constant, named as in `parts_of`.

    Args:
        text: Of the module.

    Raises:
        ValueError: It is no Python.
    """
    found: dict[str, str] = {}
    lines = text.splitlines()
    for name, node in _named(parsed(text).body, "", 0):
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        source = "\n".join(lines[first - 1 : node.end_lineno])
        # Of a name that is set more than once, all of it counts.
        found[name] = "\n".join(filter(None, (found.get(name), source)))[:_LONGEST]
    return found


def _named(body: list[Any], inside: str, depth: int) -> Any:
    """Yield name and node of what a body defines; conditions and `try` count as its body."""
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield f"{inside}{node.name}", node
        elif isinstance(node, ast.ClassDef) and depth < _DEEPEST:
            yield from _named(node.body, f"{inside}{node.name}.", depth + 1)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for each in targets:
                if isinstance(each, ast.Name):
                    yield f"{inside}{each.id}", node
        else:
            for held in ("body", "orelse", "finalbody"):
                yield from _named(getattr(node, held, []), inside, depth)
            for handler in getattr(node, "handlers", []):
                yield from _named(handler.body, inside, depth)
