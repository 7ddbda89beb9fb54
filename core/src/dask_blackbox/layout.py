"""Where things lie in a store: the names of blobs, and how a run is addressed.

    runs/job=<job>/run=<run>/attempt=<n>/
        run.json                 identity; written before the run's first task
        heartbeat.json           rewritten while the recorder lives
        segments/<recorder>-<number>.seg
        tables/<table>.parquet   when the run has ended
        bundles/<number>.bundle    failed tasks with their inputs, where asked for
        card.json  report.html  performance_report.html
        complete.json            last of all: what the recording holds, and what it lacks
    index/all/<newest first>~<job>~<run>~<attempt>~<state>
    index/jobs/<job>/<newest first>~<run>~<attempt>~<state>
    sketches/<job>/<newest first>~<run>~<attempt>~<state>~<d i p m v f>
    notes/<job>/<newest first>~<run>~<attempt>~<f b t>.json

The index holds empty markers, so that the newest runs are one cheap listing.  Sketches
remain when the recording of a run is deleted; their names hold the most used facts about
what they hold, so that a job's history is one listing as well.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Sequence
from typing import NamedTuple, Protocol
from urllib.parse import quote

from dask_blackbox.patterns import bounded

_FOLDER = bounded(r"runs/job=([^/]+)/run=([^/]+)/attempt=(\d+)")
_UNSAFE = bounded(r"[^A-Za-z0-9._-]+")
_END_OF_TIME_MS = 10**14 - 1

STOPPED_BY_HOST = "stopped-by-host"
"""The rule of runs that their host or a person ended: no failure of their job."""


def safe(word: str, *, longest: int = 96) -> str:
    """Return `word` as one part of a blob's name: readable and unique.

    What had to be changed is marked by a short hash of the original, so that
    `a/b` and `a:b` differ.
    """
    plain = _UNSAFE.sub("_", word).strip(".") or "_"
    if plain == word and len(plain) <= longest:
        return plain
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[: longest - 9]}-{digest}"


class NamedRun(Protocol):
    """What names a run, as its host does."""

    @property
    def job(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...


class RunAddress(NamedTuple):
    """Which recording: the safe forms of job and run, and the attempt."""

    job: str
    run: str
    attempt: int

    @classmethod
    def of(cls, job: str, run_id: str, attempt: int) -> RunAddress:
        """Return the address of the attempt `attempt` of the run `run_id` of `job`."""
        return cls(safe(job), safe(run_id), attempt)

    @classmethod
    def of_run(cls, run: NamedRun) -> RunAddress:
        """Return the address of what a manifest, a card or a sketch is about."""
        return cls.of(run.job, run.run_id, run.attempt)

    @classmethod
    def at(cls, folder: str) -> RunAddress | None:
        """Return the address of the recording in a folder of a store; None: it is none."""
        found = _FOLDER.match(folder)
        return cls(found[1], found[2], int(found[3])) if found else None

    @property
    def name(self) -> str:
        """The name of this recording in commands: `JOB/RUN/ATTEMPT`."""
        return "/".join(map(str, self))

    @property
    def folder(self) -> str:
        """The folder of this recording in the store, ending in `/`."""
        return f"runs/job={self.job}/run={self.run}/attempt={self.attempt}/"


def viewer_links(viewer: str, address: RunAddress) -> dict[str, str]:
    """Return where a recording's pages open in a viewer (`dask blackbox serve`)."""
    job, run = quote(address.job, safe=""), quote(address.run, safe="")
    here = f"{viewer.rstrip('/')}/runs/{job}/{run}/{address.attempt}"
    return {
        "report": f"{here}/report.html",
        "performance_report": f"{here}/performance_report.html",
        "card": here,
    }


class JobPatterns(NamedTuple):
    """Patterns of the names of a job's blobs, or of all jobs': `*` any text, `?` one letter.

    Attributes:
        runs: Recordings.
        manifests: Their `run.json`.
        bundles: Failed tasks with their inputs.
        of_one_run: Prefixes that name a job and a run.
        all_marks: Markers in the index of all runs.
        job_marks: Markers in the index of the job.
        sketches: Sketches.
        notes: Notes on runs.
    """

    runs: str
    manifests: str
    bundles: str
    of_one_run: str
    all_marks: str
    job_marks: str
    sketches: str
    notes: str

    @classmethod
    def of(cls, job: str | None) -> JobPatterns:
        """Return the patterns of a job; None: of all jobs."""
        name = "*" if job is None else safe(job)
        runs = f"runs/job={name}/"
        return cls(
            runs=f"{runs}*",
            manifests=f"{runs}run=*/attempt=*/run.json",
            bundles=f"{runs}run=*/attempt=*/bundles/*",
            of_one_run=f"{runs}run=*/*",
            # As many letters as a time has: a run of another job may be named like this one.
            all_marks=f"index/all/{'?' * 14}~{name}~*",
            job_marks=f"index/jobs/{name}/*",
            sketches=f"sketches/{name}/*",
            notes=f"notes/{name}/*",
        )


class IndexEntry(NamedTuple):
    """One marker of the index: a recording, when it began, and a state it reached."""

    address: RunAddress
    started_ms: int
    state: str


def index_names(address: RunAddress, started: float, state: str) -> tuple[str, str]:
    """Return the names of the two markers of `address` in `state`.

    Args:
        started: Epoch seconds.
        state: A word of `RunState`.
    """
    turned = f"{_END_OF_TIME_MS - round(started * 1000):014d}"
    job, run, attempt = address
    return (
        f"index/all/{turned}~{job}~{run}~{attempt}~{state}",
        f"index/jobs/{job}/{turned}~{run}~{attempt}~{state}",
    )


def read_index_name(name: str) -> IndexEntry | None:
    """Return the facts in a marker's name, or None if it is not one."""
    parts = name.split("/")
    fields = parts[-1].split("~")
    if parts[0] != "index" or len(parts) < 3:  # noqa: PLR2004
        return None
    if parts[1] == "jobs":
        fields.insert(1, parts[2])
    try:
        turned, job, run, attempt, state = fields
        started_ms = _END_OF_TIME_MS - int(turned)
        return IndexEntry(RunAddress(job, run, int(attempt)), started_ms, state)
    except ValueError:
        return None


class SketchName(NamedTuple):
    """The facts of a run that the name of its sketch holds.

    Attributes:
        name: Of the blob.
        address: The recording that it is of.
        started_ms: Epoch milliseconds.
        state: How it ended.
        duration: Seconds.
        input_bytes: What it read.
        partitions: In how many pieces.
        peak_memory: Bytes, of the worker that had the most.
        verdict: Slug of the rule that explains its failure.
        fingerprint: Beginning of the failure's fingerprint.
        thread_seconds: Seconds that threads of workers were there.
        memory_gib_seconds: GiB of workers' memory limits, times seconds.
        unusual: Slugs of rules that found something though it succeeded.
    """

    name: str
    address: RunAddress
    started_ms: int
    state: str
    duration: float | None = None
    input_bytes: int | None = None
    partitions: int | None = None
    peak_memory: int | None = None
    verdict: str | None = None
    fingerprint: str | None = None
    thread_seconds: int | None = None
    memory_gib_seconds: int | None = None
    unusual: tuple[str, ...] = ()

    @property
    def stopped(self) -> bool:
        """Whether its host or a person ended it, which is no failure of its job."""
        return self.verdict == STOPPED_BY_HOST


def audit_name(at: float) -> str:
    """Return a name that no other line of the audit has, in the order of time.

    Args:
        at: Epoch seconds.
    """
    moment = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(at))
    return f"audit/{moment}-{uuid.uuid4().hex[:12]}.jsonl"


def sketch_folder(job: str) -> str:
    """Return where the sketches of a job lie."""
    return f"sketches/{safe(job)}/"


def sketch_name(
    address: RunAddress,
    started: float,
    state: str,
    *,
    duration: float | None = None,
    input_bytes: int | None = None,
    partitions: int | None = None,
    peak_memory: int | None = None,
    verdict: str | None = None,
    fingerprint: str | None = None,
    thread_seconds: float | None = None,
    memory_gib_seconds: float | None = None,
    unusual: Sequence[str] = (),
) -> str:
    """Return the name of the sketch of a run; see `SketchName`."""
    turned = f"{_END_OF_TIME_MS - round(started * 1000):014d}"
    reported = {
        "d": None if duration is None else round(max(duration, 0) * 1000),
        "i": input_bytes,
        "p": partitions,
        "m": peak_memory,
        "v": None if verdict is None else safe(verdict, longest=40),
        "f": None if fingerprint is None else safe(fingerprint[:8]),
        "t": None if thread_seconds is None else round(thread_seconds),
        "g": None if memory_gib_seconds is None else round(memory_gib_seconds),
        "u": ".".join(safe(each, longest=40) for each in unusual) or None,
    }
    parts = [
        f"{letter}{value}" for letter, value in reported.items() if value is not None
    ]
    job, run, attempt = address
    return f"sketches/{job}/{'~'.join([turned, run, str(attempt), state, *parts])}"


def read_sketch_name(name: str) -> SketchName | None:
    """Return the facts in a sketch's name, or None if it is not one."""
    parts = name.split("/")
    if len(parts) != 3 or parts[0] != "sketches":  # noqa: PLR2004
        return None
    turned, *fields = parts[2].split("~")
    try:
        run, attempt, state, *labels = fields
        reported = {each[0]: each[1:] for each in labels if each}
        return SketchName(
            name=name,
            address=RunAddress(parts[1], run, int(attempt)),
            started_ms=_END_OF_TIME_MS - int(turned),
            state=state,
            duration=int(reported["d"]) / 1000 if "d" in reported else None,
            input_bytes=int(reported["i"]) if "i" in reported else None,
            partitions=int(reported["p"]) if "p" in reported else None,
            peak_memory=int(reported["m"]) if "m" in reported else None,
            verdict=reported.get("v"),
            fingerprint=reported.get("f"),
            thread_seconds=int(reported["t"]) if "t" in reported else None,
            memory_gib_seconds=int(reported["g"]) if "g" in reported else None,
            unusual=tuple(filter(None, reported.get("u", "").split("."))),
        )
    except ValueError:
        return None


class NoteName(NamedTuple):
    """The facts that the name of a note holds.

    Attributes:
        name: Of the blob.
        address: The recording that it is about.
        fingerprint: Beginning of the fingerprint of its failure.
        baseline: Whether it makes that run the baseline of its job.
        tags: Its tags, in their safe forms.
    """

    name: str
    address: RunAddress
    fingerprint: str | None = None
    baseline: bool = False
    tags: tuple[str, ...] = ()


def note_folder(job: str) -> str:
    """Return where the notes on the runs of a job lie."""
    return f"notes/{safe(job)}/"


def note_name(
    address: RunAddress,
    at: float,
    *,
    fingerprint: str | None = None,
    baseline: bool = False,
    tags: tuple[str, ...] = (),
) -> str:
    """Return a name that no other note has; see `NoteName`.

    Args:
        at: When it is written, epoch seconds.
    """
    turned = f"{_END_OF_TIME_MS - round(at * 1000):014d}-{uuid.uuid4().hex[:8]}"
    parts = [] if fingerprint is None else [f"f{safe(fingerprint[:8])}"]
    parts += ["b"] if baseline else []
    parts += [f"t{safe(each, longest=40)}" for each in tags]
    job, run, attempt = address
    return f"notes/{job}/{'~'.join([turned, run, str(attempt), *parts])}.json"


def read_note_name(name: str) -> NoteName | None:
    """Return the facts in a note's name, or None if it is not one."""
    parts = name.removesuffix(".json").split("/")
    if len(parts) != 3 or parts[0] != "notes":  # noqa: PLR2004
        return None
    try:
        _, run, attempt, *labels = parts[2].split("~")
        address = RunAddress(parts[1], run, int(attempt))
    except ValueError:
        return None
    prints = [each[1:] for each in labels if each.startswith("f")]
    return NoteName(
        name=name,
        address=address,
        fingerprint=prints[0] if prints else None,
        baseline="b" in labels,
        tags=tuple(each[1:] for each in labels if each.startswith("t")),
    )
