"""A run in a few kilobytes: what is kept of it forever, and what later runs are compared with.

A sketch outlives its recording, so it holds what a comparison needs and nothing else:
counts, quantiles, hashes, versions.  It is gzipped JSON, at most `LARGEST` bytes.
"""

from __future__ import annotations

import gzip
import zlib

import msgspec

from dask_blackbox.decoding import checked
from dask_blackbox.errors import FutureFormatError, MalformedRecordingError

SKETCH_FORMAT = 1
"""Version of the sketch; a reader takes older ones, and refuses newer ones."""

LARGEST = 50_000
"""Bytes that a stored sketch may have at most."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""What the tuples of a `PrefixSketch` hold."""

REST = "…"
"""Name of the prefix sketch of all prefixes beyond the largest."""

_UNPACKED = 4 * 2**20  # beyond it, it is an attack


class PrefixSketch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tasks of one prefix.

    Attributes:
        name: The prefix, without what differs in each run.
        tasks: Executions that finished.
        failed: Executions that did not.
        planned: Tasks in the graphs that reached the scheduler.
        roots: How many of those had no inputs.
        seconds: Quantiles of the seconds that one computed.
        nbytes: Quantiles of the bytes of its result.
        memory: Quantiles of a worker's memory while such a task ran.
        compute: Seconds that all of them computed.
        result: Bytes of all results.
        cpu: Seconds that all of them had a core, which neighbours do not change; None: that
            is not known.
        code: Hash of the functions that they run.
        functions: What of the user's own these are, as `module:name`.
        libraries: Top-level modules of the other functions that they call.
        code_without_values: Hash of the functions without the values that they were given; None: unknown.
        values: These values by `module:function:name`: numbers, digests of anything else.
        files: Files that they opened to read, each counted once; None: not recorded.
        read: Bytes of these files, of which the libraries' own are not seen.
    """

    name: str
    tasks: int = 0
    failed: int = 0
    planned: int = 0
    roots: int = 0
    seconds: tuple[float, ...] = ()
    nbytes: tuple[float, ...] = ()
    memory: tuple[float, ...] = ()
    compute: float = 0.0
    result: float = 0.0
    cpu: float | None = None
    code: str | None = None
    functions: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    code_without_values: str | None = None
    values: dict[str, str] = {}
    files: int | None = None
    read: int | None = None


class Inputs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the run read, according to its graphs.

    Attributes:
        partitions: Tasks without inputs of their own; None: not known.
        nbytes: Bytes of their results; None: not known.
        files: Files that any tasks had opened to read when it ended; None: none, or not known.
        read: Bytes of these files.
    """

    partitions: int | None = None
    nbytes: int | None = None
    files: int | None = None
    read: int | None = None

    @property
    def total(self) -> int | None:
        """Bytes of results and files together, for comparison with runs of the same kind."""
        return (self.nbytes or 0) + (self.read or 0) or None

    @property
    def kind(self) -> tuple[bool, bool]:
        """Whether results, and whether files, are part of the total."""
        return bool(self.nbytes), bool(self.read)


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a failure has in common with others of the same kind.

    Attributes:
        id: Twelve hexadecimal digits; alike for alike failures.
        basis: What it is made of, in words.
    """

    id: str
    basis: str


class Sketch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of a run.

    Attributes:
        format: Version.
        blackbox: Version of dask-blackbox that wrote it.
        recording: Id of the recording that it is of.
        job: Job name; runs of one job are compared.
        run_id: Run id. Default: derived from host and start time.
        attempt: Which try of that run.
        state: How it ended.
        started: Epoch seconds.
        duration: Seconds.
        verdict: The rule that explains a failure; None where nothing failed.
        title: What that rule said, in a line.
        fingerprint: Of the failure.
        unusual: The rules of `finding.UNUSUAL` that found something in a run that succeeded.
        numbers: The card's measures.
        inputs: What it read.
        graphs: Graphs that reached the scheduler.
        prefixes: The prefixes that cost most, and the `REST` as one.
        facts: What a change is looked for in: values by kind of fact and by name.  Kinds
            are those of `finding.Change`; those of a role have it after a slash
            (`package/workers`).
        unknown: Kinds of facts that the recording has no facts about.
        parts: What the job's own modules are made of: file, line and hash by `module:name`.
        sources: The text of some of these parts, where it was recorded.
    """

    format: int = SKETCH_FORMAT
    blackbox: str = ""
    recording: str = ""
    job: str
    run_id: str
    attempt: int = 1
    state: str
    started: float
    duration: float | None = None
    verdict: str | None = None
    title: str | None = None
    fingerprint: Fingerprint | None = None
    unusual: tuple[str, ...] = ()
    numbers: dict[str, float] = {}
    inputs: Inputs = Inputs()
    graphs: int = 0
    prefixes: tuple[PrefixSketch, ...] = ()
    facts: dict[str, dict[str, str]] = {}
    unknown: tuple[str, ...] = ()
    parts: dict[str, str] = {}
    sources: dict[str, str] = {}

    @property
    def good(self) -> bool:
        """Whether it ended well."""
        return self.state == "succeeded"

    def measure(self, name: str) -> float | None:
        """Return one of the card's measures, or None."""
        return self.numbers.get(name)


class _Format(msgspec.Struct):
    format: int = 0


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_decode = checked(msgspec.json.Decoder(Sketch).decode)
_decode_format = checked(msgspec.json.Decoder(_Format).decode)


def packed(sketch: Sketch) -> bytes:
    """Return a sketch as it is stored; the same bytes for the same sketch.

    One that would be larger than `LARGEST` loses its sources, its parts, its cheapest prefixes, then facts.
    """
    while True:
        blob = gzip.compress(msgspec.json.encode(sketch), 6, mtime=0)
        if len(blob) <= LARGEST:
            return blob
        sketch = _smaller(sketch)


def _smaller(sketch: Sketch) -> Sketch:
    if sketch.sources:
        return msgspec.structs.replace(sketch, sources={})
    if sketch.parts:
        return msgspec.structs.replace(sketch, parts={})
    if len(sketch.prefixes) > 1:
        kept = sketch.prefixes[: len(sketch.prefixes) // 2]
        return msgspec.structs.replace(sketch, prefixes=kept)
    if sketch.facts:
        largest = max(sketch.facts, key=lambda kind: len(str(sketch.facts[kind])))
        facts = {k: v for k, v in sketch.facts.items() if k != largest}
        unknown = (*sketch.unknown, largest)
        return msgspec.structs.replace(sketch, facts=facts, unknown=unknown)
    return Sketch(
        job=sketch.job[:200],
        run_id=sketch.run_id[:200],
        state=sketch.state,
        started=sketch.started,
    )


def read_sketch(blob: bytes) -> Sketch:
    """Return a stored sketch.

    Raises:
        MalformedRecordingError: if these bytes are none.
        FutureFormatError: if a newer version wrote it.
    """
    try:
        inflating = zlib.decompressobj(wbits=31)
        text = inflating.decompress(blob, _UNPACKED)
        if inflating.unconsumed_tail or not inflating.eof:
            raise MalformedRecordingError("it is truncated or too large")  # noqa: TRY301
        found = _decode_format(text).format
        if found > SKETCH_FORMAT:
            raise FutureFormatError(found=found, known=SKETCH_FORMAT)
        return _decode(text)
    except (zlib.error, MalformedRecordingError) as error:
        raise MalformedRecordingError(
            f"this is not a sketch of a run ({error}); it is skipped"
        ) from error
