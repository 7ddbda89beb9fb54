"""`dask blackbox doctor`: what is wrong with store, settings and cluster, and what to do."""

from __future__ import annotations

import json
import os
import shutil
import socket
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from dask_blackbox.cli.options import Verb, screen, store_option, versions
from dask_blackbox.errors import BlackboxError, BlobNotFoundError, StoreError
from dask_blackbox.formatting import counted, duration

if TYPE_CHECKING:
    from dask_blackbox.store import Store
    from dask_blackbox.store.local import LocalStore


_SIGNS = {"ok": ("✔", "green"), "warning": ("!", "yellow"), "wrong": ("✖", "red")}


@click.command(
    cls=Verb,
    examples=[
        "doctor",
        "doctor --store ./runs",
        "doctor --scheduler tcp://127.0.0.1:8786",
        "doctor --recorders",
        "doctor --json",
    ],
)
@store_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Also check this cluster: whether it can be recorded, and its clock.",
)
@click.option(
    "--recorders",
    is_flag=True,
    help="Only check this machine's recorders and spool, and exit with 1 on a warning, too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def doctor(
    *, store_url: str | None, scheduler: str | None, recorders: bool, as_json: bool
) -> None:
    """Check versions, settings, store, credentials, permissions, clock and cluster.

    Each line shows a check and its result; a problem is followed by an arrow and its fix.
    In the store, it writes a small blob, reads it, lists and deletes it. Exits with 1 if
    there is a problem; a warning (!) does not count.

    For monitoring: with --recorders, it exits with 1 if a recording waits in this machine's
    spool, or if a recorder continues without its driver.
    """
    shown_on = screen()
    wrong = False
    found = _of_this_machine() if recorders else checks(store_url, scheduler)
    for each in found:
        wrong = wrong or each.state == "wrong" or (recorders and each.state != "ok")
        if as_json:
            click.echo(json.dumps(each._asdict(), ensure_ascii=False))
            continue
        sign, colour = _SIGNS[each.state]
        head = f"{sign} {each.what:<12}"
        click.echo(
            f"{click.style(head, fg=colour) if shown_on.colour else head} {each.result}"
        )
        if each.do:
            click.echo(f"  {'':<12} → {each.do}")
    if wrong:
        raise SystemExit(1)


_OLDEST = {"distributed": (2025, 1), "dask": (2025, 1)}
_SKEW_ODD, _SKEW_REFUSED = 2.0, 15 * 60.0
"""Seconds by which clocks differ: where times of a report are off, and where S3 refuses."""
_LITTLE = 2**30
_SOCKET_PATH = 100
"""Bytes that the path of a Unix socket may have, with some to spare for its name."""


class Check(NamedTuple):
    """The result of one check.

    Attributes:
        what: Its subject.
        state: `wrong`: runs are not recorded, or not in full; `warning`: worth a look.
        result: In a few words.
        do: What to do about it.
    """

    what: str
    state: Literal["ok", "warning", "wrong"]
    result: str
    do: str = ""


def checks(store_url: str | None, scheduler: str | None) -> Iterator[Check]:
    """Yield the checks, each as soon as its result is known."""
    yield from _versions()
    yield from _settings()
    yield _identity()
    yield from _of_this_machine()
    yield from _store(store_url)
    if scheduler is not None:
        yield from _cluster(scheduler)


def _of_this_machine() -> Iterator[Check]:
    yield from _recorders()
    yield from _spool()


def _identity() -> Check:
    """Say who names the runs that begin here."""
    from dask_blackbox.identity import identity_from_environment

    found = identity_from_environment(argv=())
    kind = found.host["kind"]
    if "job_from" not in found.host:
        text = f"{kind}: job {found.job!r}, attempt {found.attempt}"
        return Check("identity", "ok", text)
    known = "no known scheduler" if kind in ("shell", "notebook") else kind
    text = f"{known}: a run is named after its script"
    if "unknown_scheduler" in found.host:
        do = "set blackbox.job and blackbox.run-id, or add the scheduler"
        return Check("identity", "warning", f"{text}; CI is set", do)
    return Check("identity", "ok", f"{text}, or by blackbox.job")


def _recorders() -> Iterator[Check]:
    """Look for recorders that continue without the process that started them."""
    left = [*_recorders_without_driver()]
    for pid, cpu in left:
        yield Check(
            "recorders",
            "warning",
            f"recorder {pid} continues without its driver; it has used "
            f"{duration(cpu)} of CPU time",
            f"wait for it, or `kill {pid}`: its recording remains in the spool",
        )
    if not left:
        yield Check("recorders", "ok", "every recorder has its driver")


_RECORDER = "dask_blackbox.recorder"
_PARENT, _CPU = 1, slice(11, 13)  # user and system time in what follows the name


def _recorders_without_driver() -> Iterator[tuple[int, float]]:
    """Yield process ids and seconds of CPU time; none where the system does not list processes."""
    from dask_blackbox.capture.process import stat_fields

    ticks, found = os.sysconf("SC_CLK_TCK"), dict[int, tuple[int, float]]()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            command = (each / "cmdline").read_bytes().decode(errors="replace")
            owner = each.stat().st_uid
        except OSError:  # it has just ended
            continue
        # A recorder that is a fork has its name in one piece.
        words = command.replace("\0", " ").split()
        if _RECORDER not in words or owner != os.getuid():
            continue
        driver = words[words.index(_RECORDER) + 1 :][:1]
        fields = stat_fields(each.name)
        if fields and driver and driver[0].isdigit() and not stat_fields(driver[0]):
            cpu = sum(map(int, fields[_CPU])) / ticks
            found[int(each.name)] = (int(fields[_PARENT]), cpu)
    for pid, (parent, cpu) in found.items():
        if parent not in found:  # else it is the fork in which that one finalises
            yield pid, cpu


def _versions() -> Iterator[Check]:
    found = versions()
    text = ", ".join(f"{name} {number}" for name, number in found.items())
    ours = {found[name] for name in found if name.endswith("dask-blackbox")}
    if len(ours) > 1:
        yield Check(
            "versions",
            "wrong",
            text,
            "install the same version of all dask-blackbox distributions",
        )
        return
    for name, oldest in _OLDEST.items():
        number = tuple(int(part) for part in found[name].split(".")[:2])
        if number < oldest:
            need = ".".join(map(str, oldest))
            yield Check("versions", "wrong", text, f"pip install '{name}>={need}'")
            return
    yield Check("versions", "ok", text)


def _settings() -> Iterator[Check]:
    from dask_blackbox.settings import misspelt_settings

    wrong = misspelt_settings()
    for each in wrong:
        yield Check("settings", "wrong", f"there is no setting {each.name}", each.do)
    if not wrong:
        yield Check("settings", "ok", "every setting under `blackbox` is known")


def _spool() -> Iterator[Check]:
    from dask_blackbox.recorder.spool_folder import chosen_spool, spooled_in

    spool = chosen_spool()
    there = next(each for each in (spool, *spool.parents) if each.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield Check(
            "spool",
            "wrong",
            f"{there} cannot be written",
            "set blackbox.spool to a folder that can",
        )
        return
    if hasattr(socket, "AF_UNIX") and len(os.fsencode(spool)) > _SOCKET_PATH:
        yield Check(
            "spool",
            "warning",
            f"{spool} is too long as the path of a socket",
            "set blackbox.spool to a shorter one",
        )
    free = shutil.disk_usage(there).free
    ready = spooled_in(spool).ready
    waiting = len(ready)
    for each in ready:
        if each.attempts:
            name = f"{each.manifest.job}/{each.manifest.run_id}"
            tried = counted(each.attempts, "attempt")
            yield Check("spool", "warning", f"{tried} to finish {name} ended early",
                        f"look at its data in {each.folder}")  # fmt: skip
    if waiting:
        n = f"{waiting} recording{'s' if waiting > 1 else ''}"
        yield Check("spool", "warning", f"{n} in {spool} did not reach the store",
                    "dask blackbox sync")  # fmt: skip
    elif free < _LITTLE:
        yield Check("spool", "warning", f"{free / 2**20:.0f} MiB are free at {there}",
                    "free some, or set blackbox.spool to another disk")  # fmt: skip
    else:
        yield Check("spool", "ok", f"{spool}, {free / 2**30:.1f} GiB free")


def _store(url: str | None) -> Iterator[Check]:
    from dask_blackbox.store import open_store
    from dask_blackbox.store.local import LocalStore
    from dask_blackbox.store.url import is_lost_with_container

    try:
        store = open_store(url)
    except BlackboxError as error:
        yield Check("store", "wrong", str(error))
        return
    yield Check("store", "ok", f"{store.url} ({_where_from(url)})")
    folder = getattr(store, "folder", None)
    if folder is not None and is_lost_with_container(folder):
        yield Check(
            "store",
            "warning",
            f"{folder} is inside this container and is lost with it",
            "mount a volume there, or set blackbox.store.url to s3://bucket/prefix",
        )
    credentials = getattr(store, "credentials", None)
    if credentials is not None:
        yield from _credentials(credentials)
    yield from _permissions(store)
    yield from _clock(store)
    if isinstance(store, LocalStore):
        yield from _privacy(store)


def _where_from(url: str | None) -> str:
    from dask_blackbox.settings import setting

    if url is not None:
        return "given by --store"
    if setting("store.url") is None:
        return "the default: blackbox.store.url is not set"
    if "DASK_BLACKBOX__STORE__URL" in os.environ:
        return "from DASK_BLACKBOX__STORE__URL"
    return "from the setting blackbox.store.url"


def _credentials(find: Callable[[], str | None]) -> Iterator[Check]:
    try:
        found = find()
    except StoreError as error:
        yield Check("credentials", "wrong", str(error))
        return
    if found is None:
        yield Check(
            "credentials",
            "wrong",
            "boto3 finds none",
            "set a role, a profile (blackbox.store.profile) or AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY",
        )
    else:
        yield Check("credentials", "ok", f"found by boto3: {found}")


def _permissions(store: Store) -> Iterator[Check]:
    """Try each operation that recording, reading and deleting need."""
    name, blob = f"check-{uuid.uuid4().hex[:12]}", b"dask blackbox doctor"
    tries: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("write", "s3:PutObject", lambda: store.put(name, blob)),
        ("read", "s3:GetObject", lambda: _same(store.get(name), blob)),
        ("list", "s3:ListBucket", lambda: list(store.names("index/", limit=1))),
        ("delete", "s3:DeleteObject", lambda: _check_deleted(store, name)),
    )
    for what, action, attempt in tries:
        try:
            attempt()
        except StoreError as error:
            needed = what in ("write", "read", "list")
            allow = f"allow {action} there" if store.url.startswith("s3:") else ""
            yield Check(what, "wrong" if needed else "warning", str(error), allow)
            if what == "write":
                return
        else:
            yield Check(what, "ok", f"blobs in {store.url} can be {_DONE[what]}")


_DONE = {"write": "written", "read": "read", "list": "listed", "delete": "deleted"}


def _same(found: bytes, expected: bytes) -> None:
    if found != expected:
        raise StoreError("the store returns different bytes than were written")


def _check_deleted(store: Store, name: str) -> None:
    store.delete(name)
    try:
        store.get(name)
    except BlobNotFoundError:
        return
    raise StoreError("the store still returns a blob that was deleted")


def _clock(store: Store) -> Iterator[Check]:
    server_time = getattr(store, "server_time", None)
    if server_time is None:
        return
    try:
        before = time.time()
        server_clock = server_time()
        now = (before + time.time()) / 2
    except StoreError:
        return  # it was said above
    if server_clock is not None:
        yield _skew("the store's server", now - server_clock, whole_seconds=True)


def _skew(whose: str, ahead: float, *, whole_seconds: bool = False) -> Check:
    off = max(0.0, abs(ahead) - (1.0 if whole_seconds else 0.0))
    text = f"this machine and {whose} differ by {duration(off)}"
    if off >= _SKEW_REFUSED:
        return Check(
            "clock", "wrong", text, "set the clock (NTP): S3 refuses such requests"
        )
    if off >= _SKEW_ODD:
        return Check(
            "clock",
            "warning",
            text,
            "set the clock (NTP): recorded times would be wrong",
        )
    return Check("clock", "ok", f"this machine and {whose} agree")


def _privacy(store: LocalStore) -> Iterator[Check]:
    folder = store.folder
    if not folder.exists():
        return
    status = folder.stat()
    mode = stat.S_IMODE(status.st_mode)
    if store.shared:
        yield _sharing(folder, mode, status.st_gid)
    elif mode & 0o077:
        yield Check(
            "privacy",
            "warning",
            f"other users can read {folder} (mode {mode:o})",
            f"chmod 700 {folder}; if a team shares it, set blackbox.store.shared",
        )
    else:
        yield Check("privacy", "ok", f"only you can read {folder}")


_TEAM = 0o2770


def _sharing(folder: Path, mode: int, group: int) -> Check:
    """Return whether a folder that a team shares has the group and the mode for it."""
    from dask_blackbox.settings import setting

    named = _group_name(group)
    chosen = setting("store.shared")
    if isinstance(chosen, str) and chosen != named:
        return Check(
            "privacy",
            "wrong",
            f"{folder} has group {named}, not {chosen} (blackbox.store.shared)",
            f"chgrp -R {chosen} {folder}",
        )
    if mode & _TEAM != _TEAM:
        return Check(
            "privacy",
            "wrong",
            f"group {named} cannot share {folder} (mode {mode:o})",
            f"chmod 2770 {folder}",
        )
    if mode & 0o007:
        return Check(
            "privacy",
            "warning",
            f"users outside of group {named} can read {folder} (mode {mode:o})",
            f"chmod 2770 {folder}",
        )
    return Check("privacy", "ok", f"group {named} shares {folder}")


def _group_name(group: int) -> str:
    import grp

    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


def _cluster(address: str) -> Iterator[Check]:
    import distributed

    try:
        with distributed.Client(address, timeout="10s", set_as_default=False) as client:
            versions = client.get_versions()
            before = time.time()
            there = client.run_on_scheduler(time.time)
            now = (before + time.time()) / 2
    except Exception as error:  # noqa: BLE001 - whatever a cluster answers
        yield Check(
            "cluster",
            "wrong",
            f"no Dask scheduler answers at {address}: {str(error) or type(error).__name__}",
            "give its address as tcp://host:8786, and check that this machine can reach it",
        )
        return
    theirs = versions["scheduler"]["packages"]["distributed"]
    number = tuple(int(part) for part in theirs.split(".")[:2])
    text = f"{address}: distributed {theirs}, {len(versions['workers'])} workers"
    if number < _OLDEST["distributed"]:
        yield Check(
            "cluster", "wrong", text, "upgrade the cluster to distributed 2025.1"
        )
    else:
        yield Check("cluster", "ok", text)
    yield _skew("the scheduler", now - there)
