"""What driver and recorder say to each other: JSON lines over pipes and a local socket.

The owner (who started the recorder) talks over the recorder's standard input and output;
its end of file says that the owner is gone.  Guests (other processes of the same command)
talk over a Unix socket.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dask_blackbox.manifest import DriverException, Manifest

__all__ = [
    "LEFT",
    "LONGEST_LINE",
    "Attach",
    "Config",
    "Drain",
    "End",
    "Order",
    "Parcel",
    "Rows",
    "Telling",
    "TellingOf",
    "decode_order",
    "decode_parcel",
    "decode_telling",
    "decode_telling_of",
    "encode",
]


LEFT = "left"
"""State of an end that only the recording can judge: its client has left the scheduler."""

LONGEST_LINE = 64 * 2**20
"""Bytes of a line; who says a longer one is hung up on, so a batch must never come near."""


class Config(msgspec.Struct, kw_only=True, frozen=True):
    """The first line of standard input: what to record, and where to.

    Attributes:
        manifest: Who this is.
        store: URL of the store, or None for the default one.
        store_settings: What `open_store` needs; may hold credentials, so it is never
            written to the spool.
        spool: Folder of this recording on the local disk.
        spool_limit: Bytes that all that waits beside it may take.
        socket: Path of the Unix socket for guests.
        owner: Process id of the owner.
        owner_handle: A file descriptor that stands for its process, where there are such.
        interval: Seconds between two pulls.
        profile_interval: Seconds between two pulls of the statistical profile.
        redact: More patterns to blank out.
        link_expires: Seconds for which links open.
        capsules: How many failed tasks to keep with their inputs; 0: none at all.
        capsule_limit: Bytes that each of them may have.
        muted: Slugs of rules that are not asked.
        thresholds: Numbers of rules that the user set otherwise, by `<slug>.<name>`.
        rules_problem: What is wrong with the settings of the rules, or null.
    """

    manifest: Manifest
    store: str | None
    store_settings: dict[str, Any] = {}
    spool: str
    spool_limit: int = 2 * 2**30
    socket: str
    owner: int
    owner_handle: int | None = None
    interval: float = 0.5
    profile_interval: float = 10.0
    redact: tuple[str, ...] = ()
    link_expires: float = 604_800.0
    capsules: int = 0
    capsule_limit: int = 64 * 2**20
    muted: tuple[str, ...] = ()
    thresholds: dict[str, float] = {}
    rules_problem: str | None = None


class Attach(msgspec.Struct, kw_only=True, frozen=True, tag="attach", tag_field="op"):
    """A scheduler to pull from.

    Attributes:
        address: Of the scheduler, as it says itself.
        seen_as: Its address as the driver knows it: through a forwarded port or a proxy it
            is another, and the one that works from the driver's machine.
        tap: Name of the scheduler plugin and its handlers.
        security: Fields of `distributed.Security` that are set.
        pid: Of the driver that asks.
    """

    address: str
    seen_as: str = ""
    tap: str
    security: dict[str, Any] = {}
    pid: int


class Rows(msgspec.Struct, kw_only=True, frozen=True, tag="rows", tag_field="op"):
    """Rows of a driver."""

    source: str
    seq: int
    at: float
    rows: dict[str, list[list[Any]]]
    dropped: dict[str, int] = {}


class Drain(msgspec.Struct, kw_only=True, frozen=True, tag="drain", tag_field="op"):
    """A scheduler is about to go: pull what it still has, then answer."""

    address: str


class End(msgspec.Struct, kw_only=True, frozen=True, tag="end", tag_field="op"):
    """The run has ended."""

    state: str
    exit_code: int | None = None
    exception: DriverException | None = None


Order = Attach | Rows | Drain | End


class Telling(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What the recorder says.

    Attributes:
        what: `store` (checked: `error` says why not), `drained`, `card` (as known before
            everything is uploaded) or `final`.
        error: What is wrong, for people.
        kind: The class of the error, by name.
        links: URLs by name.
        card: The card as JSON.
    """

    what: str
    error: str | None = None
    kind: str | None = None
    links: dict[str, str] = {}
    card: msgspec.Raw = msgspec.Raw(b"null")


class Parcel(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A line to a process that makes many recordings.

    Attributes:
        run: Id of the recording that it is for.
        config: Opens the recording.
        order: For the recording, as its own line.
    """

    run: str
    config: Config | None = None
    order: msgspec.Raw = msgspec.Raw(b"null")


class TellingOf(msgspec.Struct, kw_only=True, frozen=True):
    """What one of many recordings says."""

    run: str
    telling: Telling


_encoder = msgspec.json.Encoder(enc_hook=str)
_orders = msgspec.json.Decoder(Order)
_tellings = msgspec.json.Decoder(Telling)
_parcels = msgspec.json.Decoder(Parcel)
_tellings_of = msgspec.json.Decoder(TellingOf)


def encode(message: msgspec.Struct) -> bytes:
    """Return a message as one line."""
    return _encoder.encode(message) + b"\n"


def decode_order(line: bytes) -> Order:
    """Read a line of a driver.

    Raises:
        msgspec.MsgspecError: if it is none.
    """
    order: Order = _orders.decode(line)
    return order


def decode_telling(line: bytes) -> Telling:
    """Read a line of the recorder.

    Raises:
        msgspec.MsgspecError: if it is none.
    """
    return _tellings.decode(line)


def decode_parcel(line: bytes) -> Parcel:
    """Read a line to a process that makes many recordings.

    Raises:
        msgspec.MsgspecError: if it is none.
    """
    return _parcels.decode(line)


def decode_telling_of(line: bytes) -> TellingOf:
    """Read a line of a process that makes many recordings.

    Raises:
        msgspec.MsgspecError: if it is none.
    """
    return _tellings_of.decode(line)
