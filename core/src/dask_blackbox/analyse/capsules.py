"""Failed tasks that were kept with their inputs, and those that could not be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dask_blackbox.analyse.words import counted, short, size
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.run import RunTables

__all__ = ["capsule_links", "capsules_of", "lost_capsules", "with_capsule"]

_REDACTED = "redacted"


def capsules_of(run: RunTables) -> list[dict[str, Any]]:
    """Return what is known of the capsules that the recording holds, oldest first."""
    kept = run.details("capsule-kept")
    gone = {each.get("instead_of") for each in kept}
    return [each for each in kept if each["number"] not in gone]


def with_capsule(run: RunTables, finding: Finding | None) -> Finding | None:
    """Return a finding that names the capsule of the task that it is about."""
    if finding is None or finding.severity != "failure":
        return finding
    subject = finding.subject
    kept = [
        each
        for each in capsules_of(run)
        if each["subject"] == subject.key or each["prefix"] == subject.prefix
    ]
    if not kept:
        return finding
    found = max(kept, key=lambda each: each["subject"] == subject.key)
    evidence = [*finding.evidence]
    evidence.insert(1, _evidence(run, found))
    return msgspec.structs.replace(finding, evidence=tuple(evidence))


def _evidence(run: RunTables, found: dict[str, Any]) -> Evidence:
    manifest = run.manifest
    name = f"{manifest.job}/{manifest.run_id}/{manifest.attempt}"
    command = f"dask blackbox replay {name} --key {found['subject']!r}"
    left_out = len(found["left_out"])
    without = f", {counted(left_out, 'input')} left out" if left_out else ""
    return Evidence(
        text=(
            f"{short(found['subject'], 80)} is kept with "
            f"{counted(found['inputs'], 'input')} ({size(found['size'])}{without}): "
            f"run it again with `dask blackbox replay {name}`"
        ),
        source="events",
        at=found["at"].timestamp(),
        see=command,
    )


def capsule_links(run: RunTables, links: Mapping[str, str] | None) -> dict[str, str]:
    """Return where the newest capsule lies, if there is one."""
    kept, folder = capsules_of(run), (links or {}).get("recording")
    if not kept or not folder:
        return {}
    return {"capsule": f"{folder.rstrip('/')}/capsules/{kept[-1]['number']}.capsule"}


def lost_capsules(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield what is missing of the capsules: source and sentence."""
    kept = capsules_of(run)
    there = {each["subject"] for each in kept}
    for each in run.details("capsule-lost"):
        if each["subject"] not in there:
            key, why = short(each["subject"], 80), short(each["error"], 200)
            yield "capsules", f"'{key}' could not be kept with its inputs: {why}"
    for each in kept:
        for out in each["left_out"]:
            if not out["why"].startswith(_REDACTED):
                yield "capsules", _left_out(each["subject"], out)


def _left_out(key: str, out: dict[str, Any]) -> str:
    large = f", {size(out['nbytes'])}" if out.get("nbytes") else ""
    what = f"{short(out['name'], 80)} ({out.get('type', 'unknown type')}{large})"
    return f"input {what} of '{short(key, 80)}' was left out: {short(out['why'], 160)}"
