"""Notes on runs: what somebody knows of one, its tags, and which run is the job's baseline.

A note is a blob of its own that nothing rewrites, so that two people can write at once.  Its
name holds what listings need; cards of later failures of the same kind repeat its text.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from dask_blackbox.analyse.earlier_runs import is_alike
from dask_blackbox.errors import BlackboxError, ConfigurationError
from dask_blackbox.job_history import Note
from dask_blackbox.layout import (
    NoteName,
    RunAddress,
    note_folder,
    note_name,
    read_note_name,
)
from dask_blackbox.patterns import bounded
from dask_blackbox.store import Store

__all__ = [
    "baseline_of",
    "named_notes",
    "notes_about",
    "read_note",
    "write_note",
]

logger = logging.getLogger("dask_blackbox")

_LONGEST, _MOST_TAGS = 2_000, 5
_TAG = bounded(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_MOST_NAMES = 1_000
_MOST_READ = 20
_decode = msgspec.json.Decoder(Note).decode


def write_note(
    store: Store,
    address: RunAddress,
    text: str,
    *,
    by: str,
    tags: Iterable[str] = (),
    fingerprint: str | None = None,
    baseline: bool = False,
) -> Note:
    """Write a note on a run and return it, redacted.

    Args:
        text: What to write; 2,000 characters at most.
        by: Who writes it.
        tags: Five at most, of letters, digits, `.`, `_` and `-`.
        fingerprint: Of the run's failure: cards of later ones of its kind show the note.
        baseline: Make the run the baseline of its job.

    Raises:
        ConfigurationError: if it is too long, or a tag has other characters.
        StoreError: if the store does not accept it.
    """
    # They import Dask, which a recorder that reads notes does without.
    from dask_blackbox.capture.redaction import Redaction
    from dask_blackbox.settings import setting_patterns

    tags = tuple(dict.fromkeys(tags))
    if len(text) > _LONGEST:
        raise ConfigurationError(
            f"the note has {len(text):,} characters; {_LONGEST:,} are the most"
        )
    if wrong := [each for each in tags if not _TAG.fullmatch(each)]:
        raise ConfigurationError(
            f"{wrong[0]!r} cannot be a tag: it has up to 40 letters, digits, '.', '_' and "
            "'-', and begins with a letter or digit"
        )
    if len(tags) > _MOST_TAGS:
        raise ConfigurationError(f"a note has {_MOST_TAGS} tags at most")
    redaction = Redaction(setting_patterns("redact"))
    note = Note(
        run=address.name,
        at=time.time(),
        by=redaction.text(by.strip()),
        text=redaction.text(text.strip()),
        tags=tags,
        fingerprint=fingerprint,
    )
    name = note_name(
        address, note.at, fingerprint=fingerprint, baseline=baseline, tags=tags
    )
    store.put(name, msgspec.json.encode(note), content_type="application/json")
    return note


def named_notes(store: Store, job: str) -> Iterator[NoteName]:
    """Yield the facts in the names of the newest thousand notes of a job, the newest first.

    Args:
        job: Its name as the host gave it, or in its safe form.

    Raises:
        StoreError: if the store cannot be listed.
    """
    for name in islice(store.names(note_folder(job)), _MOST_NAMES):
        if (found := read_note_name(name)) is not None:
            yield found


def notes_about(
    store: Store, address: RunAddress, fingerprint: str | None
) -> tuple[Note, ...]:
    """Return the notes on a run, and on failures of the same kind, the newest first.

    Those that cannot be read are left out; so are all but twenty.

    Args:
        fingerprint: Of the run's failure; None: it did not fail.

    Raises:
        StoreError: if the store cannot be listed.
    """
    alike = [
        each
        for each in named_notes(store, address.job)
        if each.address.run == address.run or is_alike(each.fingerprint, fingerprint)
    ]
    read = (read_note(store, each) for each in alike[:_MOST_READ])
    return tuple(each for each in read if each is not None)


def read_note(store: Store, named: NoteName) -> Note | None:
    """Return a note; None if it cannot be read, or is larger than one can be."""
    try:
        note = _decode(store.get(named.name))
    except (BlackboxError, msgspec.DecodeError, UnicodeDecodeError) as error:
        logger.info("%s: %s", named.name, error)
        return None
    parts = [note.text, note.by, note.run, *note.tags]
    if len(note.tags) > _MOST_TAGS or any(len(each) > _LONGEST for each in parts):
        logger.info("%s: it is larger than a note can be", named.name)
        return None
    return note


def baseline_of(store: Store, job: str) -> RunAddress | None:
    """Return the run that the newest note with a baseline makes the job's; None: none does.

    Raises:
        StoreError: if the store cannot be listed.
    """
    found = (each.address for each in named_notes(store, job) if each.baseline)
    return next(found, None)
