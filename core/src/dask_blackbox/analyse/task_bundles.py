"""Failed tasks that were kept with their inputs, and those that could not be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from dask_blackbox.events import BundleLost, BundleStored, LeftOut
from dask_blackbox.finding import Evidence, Finding
from dask_blackbox.formatting import (
    command,
    counted,
    quoted_key,
    run_argument,
    short,
    size,
)
from dask_blackbox.run_tables import RunTables

_REDACTED = "redacted"


def bundles_of(run: RunTables) -> list[BundleStored]:
    """Return what is known of the bundles that the recording holds, oldest first."""
    kept = run.of(BundleStored)
    gone = {each.instead_of for each in kept}
    return [each for each in kept if each.number not in gone]


def with_bundle(run: RunTables, finding: Finding | None) -> Finding | None:
    """Return a finding that names the bundle of the task that it is about."""
    if finding is None or finding.severity != "failure":
        return finding
    subject = finding.subject
    kept = [
        each
        for each in bundles_of(run)
        if each.subject == subject.key or each.prefix == subject.prefix
    ]
    if not kept:
        return finding
    found = max(kept, key=lambda each: each.subject == subject.key)
    evidence = [*finding.evidence]
    evidence.insert(1, _evidence(run, found))
    return msgspec.structs.replace(finding, evidence=tuple(evidence))


def _evidence(run: RunTables, found: BundleStored) -> Evidence:
    manifest = run.manifest
    name = run_argument(run.url, manifest.job, manifest.run_id, manifest.attempt)
    again = command("replay", name, "--key", found.subject)
    left_out = len(found.left_out)
    without = f", {counted(left_out, 'input')} left out" if left_out else ""
    return Evidence(
        text=(
            f"{short(found.subject, 80)} is stored with "
            f"{counted(found.inputs, 'input')} ({size(found.size)}{without}): rerun it "
            f"with `{again}`"
        ),
        source="events",
        at=found.at,
        see=again,
    )


def bundle_links(run: RunTables, links: Mapping[str, str] | None) -> dict[str, str]:
    """Return where the newest bundle lies, if there is one."""
    kept, folder = bundles_of(run), (links or {}).get("recording")
    if not kept or not folder:
        return {}
    return {"bundle": f"{folder.rstrip('/')}/bundles/{kept[-1].number}.bundle"}


def lost_bundles(run: RunTables) -> Iterator[tuple[str, str]]:
    """Yield what is missing of the bundles: source and sentence."""
    kept = bundles_of(run)
    there = {each.subject for each in kept}
    for lost in run.of(BundleLost):
        if lost.subject not in there:
            key, why = short(lost.subject, 80), short(lost.error or "", 200)
            yield "bundles", f"'{key}' could not be stored with its inputs: {why}"
    for each in kept:
        for out in each.left_out:
            if not (out.why or "").startswith(_REDACTED):
                yield "bundles", _left_out(each.subject, out)


def _left_out(key: str, out: LeftOut) -> str:
    large = f", {size(out.nbytes)}" if out.nbytes else ""
    what = f"{short(out.name or '', 80)} ({out.type or 'unknown type'}{large})"
    why = short(out.why or "", 160)
    return f"input {what} of {quoted_key(key)} was left out: {why}"
