"""Files of recordings are for their owner, or for the group that shares a store."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conditions import until
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.private_files import make_private_folder, write_private
from dask_blackbox.protocol.messages import Answer
from dask_blackbox.recorder.parent_process import CommandProcesses
from dask_blackbox.recorder.redact import MaskConfirmations
from dask_blackbox.store import open_store

_ROOT = os.getuid() == 0
_NOBODY = 65534
# What the first of them leaves open, the others do not.
_UMASKS = (
    0o000,
    pytest.param(0o022, marks=pytest.mark.nightly),
    pytest.param(0o077, marks=pytest.mark.nightly),
)

_RECORDING = """
import os, sys
os.umask(int(sys.argv[1], 8))
from distributed import Client
from dask_blackbox import recording
with Client(n_workers=1, processes=True, dashboard_address=None) as client:
    with recording(client, store=sys.argv[2], job="j", run_id="r"):
        client.submit(print, "hello").result()
        rings = list(os.walk(os.path.join(os.environ["TMPDIR"])))
        for folder, _, files in rings:
            for name in [".", *files]:
                path = os.path.join(folder, name)
                try:
                    print(oct(os.lstat(path).st_mode), path)
                except OSError:
                    pass
"""

_ALWAYS_ON = """
import os, sys
os.umask(int(sys.argv[1], 8))
import dask
from distributed import Client, LocalCluster
dask.config.set({
    "distributed.scheduler.preload": ["dask_blackbox.preload"],
    "blackbox.store.url": "s3://nowhere/x",
    "blackbox.store.endpoint": "http://127.0.0.1:1",
    "blackbox.store.key": "k", "blackbox.store.secret": "s",
    "blackbox.store.attempts": 1,
})
with LocalCluster(n_workers=1, processes=True, dashboard_address=None) as cluster:
    with Client(cluster) as client:
        client.submit(print, "hello").result()
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a short folder for temporary files: sockets have short names."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def _python(code: str, home: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "TMPDIR": str(home), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _open_to_others(folder: Path) -> list[str]:
    return [
        f"{path} {path.lstat().st_mode:o}"
        for path in (folder, *folder.rglob("*"))
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]


@pytest.mark.parametrize("umask", _UMASKS, ids=oct)
def test_spool_rings_sockets_and_store_are_private_whatever_the_umask(
    home: Path, umask: int
) -> None:
    shown = _python(_RECORDING, home, f"{umask:o}", str(home / "store"))

    ours = [
        line
        for line in shown.splitlines()
        if "dask-blackbox-" in line or "dbb-" in line
    ]
    for what in ("rings", "/spool/", ".sock", ".ring", "run.json"):
        assert any(what in line for line in ours), (what, shown)
    modes = {line: int(line.split()[0], 8) for line in ours}
    assert [line for line, mode in modes.items() if mode & 0o077] == []
    assert _open_to_others(home / "store") == []


@pytest.mark.parametrize("umask", _UMASKS, ids=oct)
def test_the_spool_of_a_scheduler_is_private_whatever_the_umask(
    home: Path, umask: int
) -> None:
    _python(_ALWAYS_ON, home, f"{umask:o}")

    spool = home / f"dask-blackbox-{os.getuid()}"
    # The recorder continues when its scheduler has ended.
    until(lambda: list(spool.rglob("card.json")), "the card in the spool", timeout=60)
    assert _open_to_others(spool) == []


def test_folders_of_an_earlier_version_are_closed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dask_blackbox.recorder.spool_folder import default_spool

    monkeypatch.setattr(tempfile, "tempdir", str(home))
    folder = home / f"dask-blackbox-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o755)

    assert default_spool() == folder / "spool"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_link_in_place_of_the_spool_is_not_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dask_blackbox.capture.nanny.worker_exit import ring_folder
    from dask_blackbox.recorder.spool_folder import default_spool

    monkeypatch.setattr(tempfile, "tempdir", str(home))
    (home / f"dask-blackbox-{os.getuid()}").symlink_to(home)

    assert not default_spool().is_relative_to(home)
    assert not Path(ring_folder("r")).is_relative_to(home)


@pytest.mark.skipif(not _ROOT, reason="only root makes files of other users")
def test_a_folder_of_another_user_is_not_used(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dask_blackbox.capture.nanny.worker_exit import ring_folder
    from dask_blackbox.recorder.spool_folder import default_spool

    monkeypatch.setattr(tempfile, "tempdir", str(home))
    folder = home / f"dask-blackbox-{os.getuid()}"
    folder.mkdir()
    os.chown(folder, _NOBODY, _NOBODY)

    assert not default_spool().is_relative_to(home)
    assert not Path(ring_folder("r")).is_relative_to(home)


def test_a_private_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "link").symlink_to(tmp_path / "target")

    with pytest.raises(OSError, match="symbolic"):
        write_private(tmp_path / "link", b"ours")
    assert (tmp_path / "target").read_text() == "theirs"


def test_missing_parents_are_private_as_well(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        make_private_folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(old)

    assert _open_to_others(tmp_path / "a") == []


# Two users

_AS = """
import json, os, sys
user, umask, folder, shared, action = sys.argv[1:]
from dask_blackbox.store import MemoryStore, open_store
from dask_blackbox.errors import BlackboxError
from dask_blackbox.testing import recorded, a_log
from dask_blackbox.reader import Run, list_runs
# Other users may have no access to this Python: what is needed is loaded before.
Run.at(store := MemoryStore(), recorded(store, a_log("hello"))).logs["message"].to_list()
open_store(folder, settings={"shared": False})
os.setgroups([int(shared)] if shared != "-" else [])
os.setgid(int(user)); os.setuid(int(user)); os.umask(int(umask, 8))
os.environ["HOME"] = "/nonexistent"
store = open_store(folder, settings={"shared": shared != "-"})
try:
    if action.startswith("record"):
        recorded(store, a_log("hello"), job=action, run_id="r1")
    elif action == "erase":
        for name in list(store.names()):
            store.delete(name)
    runs = [each.address for each in list_runs(store)]
    print(json.dumps([Run.at(store, each).logs["message"].to_list() for each in runs]))
except BlackboxError as error:
    print(json.dumps(str(error)))
"""
_TEAM, _ONE, _TWO = 54321, 54322, 54323


def _as(user: int, umask: int, folder: Path, group: int | None, action: str) -> object:
    shared = "-" if group is None else str(group)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _AS,
            str(user),
            f"{umask:o}",
            str(folder),
            shared,
            action,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.skipif(not _ROOT, reason="only root can become two other users")
@pytest.mark.parametrize("umask", _UMASKS, ids=oct)
def test_two_users_of_a_group_record_into_a_folder_and_read_it(
    home: Path, umask: int
) -> None:
    home.chmod(0o755)
    folder = home / "team"
    folder.mkdir()
    os.chown(folder, 0, _TEAM)
    folder.chmod(0o2770)

    assert _as(_ONE, umask, folder, _TEAM, "record1") == [["hello"]]
    assert _as(_TWO, umask, folder, _TEAM, "record2") == [["hello"], ["hello"]]
    assert _as(_ONE, umask, folder, _TEAM, "read") == [["hello"], ["hello"]]
    assert "Permission denied" in str(_as(_NOBODY, umask, folder, None, "read"))
    for path in folder.rglob("*"):
        status = path.stat()
        assert status.st_gid == _TEAM
        assert stat.S_IMODE(status.st_mode) == (0o2770 if path.is_dir() else 0o660)
    assert _as(_ONE, umask, folder, _TEAM, "erase") == []


@pytest.mark.skipif(not _ROOT, reason="only root can become two other users")
def test_what_one_user_records_without_sharing_another_cannot_read(home: Path) -> None:
    home.chmod(0o755)
    folder = home / "alone"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)

    assert _as(_ONE, 0, folder, None, "record1") == [["hello"]]
    assert "Permission denied" in str(_as(_TWO, 0, folder, None, "read"))


def test_a_group_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such group"):
        open_store(tmp_path, settings={"shared": "no-such-group-here"})
    with pytest.raises(ConfigurationError, match="true, false or the name"):
        open_store(tmp_path, settings={"shared": 7})


# The recorder's socket

_SAY = """
import os, socket, sys
path, user, line = sys.argv[1:]
if int(user) != os.getuid():
    os.setgroups([]); os.setgid(int(user)); os.setuid(int(user))
said = socket.socket(socket.AF_UNIX)
said.connect(path)
try:
    said.sendall(line.encode() + b"\\n")
    said.shutdown(socket.SHUT_WR)
    while said.recv(100):
        pass
except OSError:
    pass
"""


async def _heard_from(path: Path, user: int) -> list[bytes]:
    """Return the lines that a recorder's socket takes from a process of a user."""
    heard: list[bytes] = []

    async def handle(line: bytes, answer: Answer) -> None:
        heard.append(line)

    processes = CommandProcesses(handle, MaskConfirmations())
    server = await asyncio.start_unix_server(processes.serve, str(path))
    # As if its mode did not keep others away, as on some systems.
    await asyncio.to_thread(path.chmod, 0o777)
    async with server:
        words = ["-c", _SAY, str(path), str(user), "a line"]
        saying = await asyncio.create_subprocess_exec(sys.executable, *words, cwd="/")
        assert await saying.wait() == 0
        await processes.wait_until_closed(10)
    return heard


def test_the_socket_takes_lines_of_this_user(home: Path) -> None:
    assert asyncio.run(_heard_from(home / "s.sock", os.getuid())) == [b"a line\n"]


@pytest.mark.skipif(not _ROOT, reason="only root can become another user")
def test_the_socket_refuses_a_process_of_another_user(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.chmod(0o755)

    assert asyncio.run(_heard_from(home / "s.sock", _NOBODY)) == []
    assert "a process of another user was refused" in caplog.text
