"""The statistical profiles of a run as a speedscope file: all of it, then each prefix."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dask_blackbox.errors import RecordingError
from dask_blackbox.formatting import plain
from dask_blackbox.report.profile_tree import (
    INTERVAL,
    FrameDescription,
    ProfileNode,
    merged_profile,
    place_of,
    profiled_prefixes,
)
from dask_blackbox.run_tables import RunTables

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _Stacks:
    """Stacks with their weights, and the frames that they are numbers of."""

    def __init__(self) -> None:
        self.frames: list[dict[str, object]] = []
        self._numbers: dict[tuple[str, str, int], int] = {}

    def number(self, description: FrameDescription) -> int:
        name, file, line, _ = place_of(description)
        at = (name, file, line)
        if at not in self._numbers:
            self._numbers[at] = len(self.frames)
            frame: dict[str, object] = {"name": name or "?"}
            if file:
                frame |= {"file": file, "line": max(line, 1)}
            self.frames.append(frame)
        return self._numbers[at]

    def profile(self, name: str, tree: ProfileNode) -> dict[str, object]:
        samples: list[list[int]] = []
        weights: list[float] = []
        below: list[tuple[ProfileNode, list[int]]] = [
            (child, []) for child in tree["children"].values()
        ]
        while below:
            node, stack = below.pop()
            stack = [*stack, self.number(node["description"])]
            children = node["children"].values()
            own = node["count"] - sum(child["count"] for child in children)
            if own > 0:
                samples.append(stack)
                weights.append(own * INTERVAL)
            below.extend((child, stack) for child in children)
        return {
            "type": "sampled",
            "name": plain(name),
            "unit": "seconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": samples,
            "weights": weights,
        }


def _speedscope_file(run: RunTables) -> dict[str, object]:
    """Return the content of the file.

    Raises:
        RecordingError: if no profile was recorded.
    """
    whole = merged_profile(run)
    if whole is None:
        raise RecordingError(
            "this recording contains no profile: no task ran long enough for a sample, "
            "or blackbox.profile-interval is 0"
        )
    stacks = _Stacks()
    profiles = [stacks.profile("all tasks", whole)]
    for prefix in profiled_prefixes(run):
        tree = merged_profile(run, prefix=prefix)
        if tree is not None:
            profiles.append(stacks.profile(prefix, tree))
    manifest = run.manifest
    return {
        "$schema": _SCHEMA,
        "name": plain(f"{manifest.job} {manifest.run_id}"),
        "exporter": f"dask-blackbox {manifest.blackbox}",
        "activeProfileIndex": 0,
        "shared": {"frames": stacks.frames},
        "profiles": profiles,
    }


def write(run: RunTables, form: str, to: Path) -> list[Path]:
    """Write the file."""
    to.write_bytes(msgspec.json.encode(_speedscope_file(run)))
    return [to]
