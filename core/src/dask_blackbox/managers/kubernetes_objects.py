"""What the Kubernetes API says of pods and events, as far as a run needs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec


class _Object(msgspec.Struct, rename="camel", frozen=True):
    """An object of the API; all of its fields may be missing."""


class Owner(_Object, frozen=True):
    """What a pod belongs to."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class Metadata(_Object, frozen=True):
    """What every object has."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    owner_references: list[Owner] | None = None


class Terminated(_Object, frozen=True):
    """How a container ended."""

    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class Waiting(_Object, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class ContainerState(_Object, frozen=True):
    """The state of a container; one of them is set."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(_Object, frozen=True):
    """The state of a container now and before its last restart."""

    name: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    restart_count: int = 0


class Condition(_Object, frozen=True):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class PodStatus(_Object, frozen=True):
    """The state of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: datetime | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Resources(_Object, frozen=True):
    """What a container may use, and what it asks for."""

    limits: dict[str, str | int | float] | None = None
    requests: dict[str, str | int | float] | None = None


class Variable(_Object, frozen=True):
    """An environment variable of a container; its value may be elsewhere."""

    name: str = ""
    value: str = ""


class Container(_Object, frozen=True):
    """A container of a pod, as it was ordered."""

    name: str = ""
    image: str = ""
    env: list[Variable] | None = None
    resources: Resources = Resources()


class PodSpec(_Object, frozen=True):
    """A pod, as it was ordered."""

    node_name: str = ""
    active_deadline_seconds: int | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None


class Pod(_Object, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def label(self) -> dict[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def worker(self) -> str:
        """What the operator calls its worker; empty: nothing says it."""
        variables = (v for c in self.spec.containers or () for v in c.env or ())
        return next((v.value for v in variables if v.name == "DASK_WORKER_NAME"), "")

    def container(self, names: Sequence[str] = ("worker", "scheduler")) -> Container:
        """Return the container in which Dask runs: others may be beside it."""
        containers = self.spec.containers or [Container()]
        named = [c for c in containers if c.name.removeprefix("dask-") in names]
        return (named or containers)[0]


class Reference(_Object, frozen=True):
    """What an event is about."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class Happening(_Object, frozen=True):
    """An event of the API."""

    involved_object: Reference = Reference()
    reason: str = ""
    message: str = ""
    type: str = ""
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def at(self) -> float:
        """When it happened last, epoch seconds."""
        return seconds_of(self.last_timestamp or self.event_time) or 0.0


class Continued(_Object, frozen=True):
    """Where a list goes on."""

    next: str = msgspec.field(default="", name="continue")


class Listing(_Object, frozen=True):
    """A page of a list of objects."""

    metadata: Continued = Continued()
    items: list[msgspec.Raw] | None = None


# Made at import: see docs/decisions/0014-decoders-at-import.md.
decode_pod = msgspec.json.Decoder(Pod).decode
decode_event = msgspec.json.Decoder(Happening).decode
decode_listing = msgspec.json.Decoder(Listing).decode

_T = TypeVar("_T", bound=_Object)


def items_of(listing: Listing, decode: Callable[[bytes], _T]) -> list[_T]:
    """Return the objects of a page, without those that cannot be read."""
    found = []
    for each in listing.items or ():
        try:
            found.append(decode(bytes(each)))
        except msgspec.MsgspecError:
            continue
    return found


def seconds_of(moment: datetime | None) -> float | None:
    """Return epoch seconds."""
    return None if moment is None else moment.timestamp()


_QUANTITY = re.compile(
    r"(\d{1,30}(?:\.\d{0,30})?)(?:[eE]([+-]?\d{1,3})|([numkKMGTPE]i?))?"
)
_POWERS = {
    "n": -3,
    "u": -2,
    "m": -1,
    "": 0,
    "k": 1,
    "M": 2,
    "G": 3,
    "T": 4,
    "P": 5,
    "E": 6,
}


def bytes_of(quantity: Any) -> int | None:
    """Return a quantity of memory (`512Mi`, `1G`, `1e9`) in bytes; None: it is none."""
    found = _QUANTITY.fullmatch(str(quantity).strip())
    if found is None:
        return None
    unit = found[3] or ""
    base = 1024.0 if unit.endswith("i") else 1000.0
    power = _POWERS.get(unit.removesuffix("i") if unit != "Ki" else "k", 0)
    return int(float(found[1]) * base**power * 10.0 ** int(found[2] or 0))
