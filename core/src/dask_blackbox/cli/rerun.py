"""Running a kept task again, in a process of its own.  Here, and only here, it is unpickled.

`python rerun.py describe` prints what this interpreter has; `python rerun.py run FOLDER`
runs what the folder holds.  Needs Dask but not this package, so that any environment will
do; `dask blackbox replay` has checked the store and asked before it starts us.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import pdb  # noqa: T100 - it is what --pdb asks for
import pickle
import platform
import sys
import traceback
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any


class LeftOut:
    """A placeholder for what was left out of the bundle."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"<left out: {self.label}>"


class Unpickler(pickle.Unpickler):
    """Replaces the persistent ids of what was taken out."""

    def persistent_load(self, pid: Any) -> object:
        if isinstance(pid, tuple):
            return pid[1]
        kind, _, rest = pid.partition(":")
        return rest if kind == "text" else LeftOut(rest)


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        return Unpickler(file).load()


def _call(task: Any, values: dict[object, object]) -> object:
    if not isinstance(task, tuple):
        return task(values)
    function, args, kwargs = task  # as Dask had it before 2024.9
    return function(*_filled(args, values), **_filled(kwargs, values))


def _filled(part: Any, values: dict[object, object]) -> Any:
    """Return arguments with results in place of their keys."""
    try:
        if isinstance(part, (str, bytes, tuple)) and part in values:
            return values[part]
    except TypeError:
        pass
    if type(part) in (tuple, list, set, frozenset):
        return type(part)([_filled(each, values) for each in part])
    if type(part) is dict:
        return {key: _filled(value, values) for key, value in part.items()}
    return part


def _run(folder: Path) -> tuple[dict[str, object], TracebackType | None]:
    """Run the task; return its outcome, and the traceback of its exception."""
    plan = json.loads((folder / "plan.json").read_text("utf-8"))
    try:
        whole = _load(folder / "task")
        values = {
            key: _load(folder / f"input-{i}")
            if i in plan["inputs"]
            else LeftOut(plan["left_out"].get(str(i), str(key)))
            for i, key in enumerate(whole["inputs"])
        }
    except BaseException as error:  # noqa: BLE001 - whatever a pickle raises
        return {"outcome": "unreadable", **_reported(error)}, None
    try:
        result = _call(whole["task"], values)
        if inspect.iscoroutine(result):
            result = asyncio.run(result)
    except BaseException as error:  # noqa: BLE001 - it is what we are here for
        frames = error.__traceback__
        while frames is not None and frames.tb_next is not None and _is_ours(frames):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        return {"outcome": "raised", **_reported(error)}, frames
    return {"outcome": "returned", "type": type(result).__qualname__}, None


def _is_ours(frames: TracebackType) -> bool:
    path = frames.tb_frame.f_code.co_filename
    return path == __file__ or Path(path).parts[-2:] == ("dask", "_task_spec.py")


def _reported(error: BaseException) -> dict[str, str]:
    kind = type(error)
    builtin = kind.__module__ == "builtins"
    name = kind.__qualname__ if builtin else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception as problem:  # noqa: BLE001
        message = f"<its text cannot be rendered: {type(problem).__name__}>"
    return {"exception": name, "message": message}


def _describe() -> dict[str, object]:
    packages: dict[str, str] = {}
    for each in metadata.distributions():
        name = each.metadata["Name"]
        if name:
            packages.setdefault(name.lower().replace("_", "-"), each.version)
    return {"python": platform.python_version(), "packages": packages}


def main() -> None:
    """Run the command of the process's arguments."""
    if sys.argv[1] == "describe":
        json.dump(_describe(), sys.stdout)
        return
    sys.path[0] = ""  # modules beside the user, and none beside this one
    folder, debug = Path(sys.argv[2]), "--pdb" in sys.argv
    outcome, frames = _run(folder)
    (folder / "outcome.json").write_text(json.dumps(outcome), "utf-8")
    if debug and frames is not None:
        pdb.post_mortem(frames)


if __name__ == "__main__":
    main()
