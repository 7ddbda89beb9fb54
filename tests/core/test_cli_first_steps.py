"""What somebody meets first: versions, mistakes in typing, completion, narrow terminals."""

from __future__ import annotations

import grp
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dask
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from dask_blackbox.cli import VERBS, blackbox
from dask_blackbox.cli.doctor import Check, checks
from dask_blackbox.cli.ls import _lines
from dask_blackbox.cli.options import Screen
from dask_blackbox.settings import misspelt_settings
from dask_blackbox.store import MemoryStore
from dask_blackbox.testing import EPOCH, EmbeddedS3, a_log
from stored_runs import Shelf

pytestmark = pytest.mark.processes

DASK = [sys.executable, "-m", "dask", "blackbox"]


def typed(*words: str) -> Result:
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


def test_the_version_is_the_package_s_own() -> None:
    import dask_blackbox

    output = typed("--version").stdout

    assert f"dask-blackbox {dask_blackbox.__version__}\n" in output
    assert "distributed " in output
    assert "python " in output


@pytest.mark.parametrize(
    ("typo", "meant"), [("shw", "show"), ("histroy", "history"), ("log", "logs")]
)
def test_a_misspelt_verb_names_the_one_that_was_meant(typo: str, meant: str) -> None:
    result = typed(typo)

    assert result.exit_code == 2
    assert f"did you mean '{meant}'?" in result.stderr


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("nigthly", "'nightly'"),
        ("nightly/rum-1", "'nightly/run-1'"),
        ("latst", "'latest'"),
    ],
)
def test_a_misspelt_run_names_the_one_that_was_meant(
    shelf: Shelf, typo: str, meant: str
) -> None:
    shelf.record("nightly", "run-1")

    result = typed("show", typo, "--store", shelf.url)

    assert result.exit_code == 1
    assert f"did you mean {meant}?" in result.stderr


@pytest.mark.parametrize("verb", ["ls", "history"])
def test_a_misspelt_job_is_named_by_its_verbs(shelf: Shelf, verb: str) -> None:
    shelf.record("nightly", "run-1")
    words = ["--job", "nigthly"] if verb == "ls" else ["nigthly"]

    result = typed(verb, *words, "--store", shelf.url)

    assert result.exit_code == 1
    assert "no job 'nigthly'" in result.stderr


@pytest.mark.parametrize("verb", ["show", "why", "logs", "report"])
def test_without_a_run_it_is_the_newest(shelf: Shelf, verb: str) -> None:
    shelf.record("older", "run-1", a_log("of the older"), started=EPOCH)
    shelf.record("newer", "run-2", a_log("of the newer"), started=EPOCH + 60)

    result = typed(verb, "--store", shelf.url)

    assert result.exit_code == 0
    assert "newer" in result.stdout
    assert "older" not in result.stdout


def completed(words: list[str], incomplete: str) -> list[str]:
    shell = ShellComplete(blackbox, {}, "blackbox", "_COMPLETE")
    return [each.value for each in shell.get_completions(words, incomplete)]


def test_runs_and_jobs_are_completed(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1")
    shelf.record("nightly", "run-2")
    shelf.record("weekly", "other")
    store = ["--store", shelf.url]

    assert completed(["show", *store], "") == ["latest", "nightly", "weekly"]
    assert completed(["show", *store], "nightly/r") == [
        "nightly/run-1",
        "nightly/run-2",
    ]
    assert completed(["why", *store], "wee") == ["weekly"]
    assert completed(["ls", *store, "--job"], "n") == ["nightly"]
    assert completed(["history", *store], "n") == ["nightly"]
    assert completed(["ls", "--state"], "f") == ["failed"]
    assert completed([], "sh") == ["show"]


def test_completion_of_a_store_that_does_not_answer_offers_nothing() -> None:
    assert completed(["show", "--store", "http://no.store/"], "x") == []


def test_ls_narrows_to_states_and_times(shelf: Shelf) -> None:
    now = time.time()
    shelf.record("nightly", "bad", state="failed", started=now - 3600)
    shelf.record("nightly", "good", started=now - 1800)
    shelf.record("nightly", "long-ago", state="failed", started=now - 30 * 86400)
    shelf.record("nightly", "gone", state="lost", started=now - 7200)

    def names(*words: str) -> list[str]:
        output = typed("ls", "--store", shelf.url, *words).stdout.splitlines()[1:]
        return [line.split()[2].split("/")[1] for line in output]

    assert names("--state", "failed") == ["bad", "long-ago"]
    assert names("--state", "failed", "--since", "24h") == ["bad"]
    assert names("--state", "lost") == ["gone"]
    assert names("--since", "45m") == ["good"]
    assert names("--job", "night") == ["good", "bad", "gone", "long-ago"]


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_the_table_never_breaks_the_name_of_a_run(width: int) -> None:
    run = "orders-of-all-countries/scheduled__2026-11-21T00:00:00+00:00/1"
    row: dict[str, Any] = {
        "job": run.split("/", maxsplit=1)[0],
        "run_id": run.split("/")[1],
        "attempt": 1,
        "state": "failed",
        "started": EPOCH,
        "duration": 192.0,
        "headline": "Workers died 4 times at their 600 MiB memory limit while running 'f'",
    }

    lines = list(_lines([row], Screen(width, colour=False)))

    assert sum(run in line for line in lines) == 1
    words = " ".join(" ".join(lines).split())
    assert "Workers died 4 times" in words
    table, wrapped = lines[:2], lines[2:]
    assert all(len(line) <= max(width, 107) for line in table)
    assert all(len(line) <= max(width, 22) for line in wrapped)


def in_a_terminal(*words: str, **environ: str) -> str:
    """Return what a command prints on a terminal."""
    leader, follower = pty.openpty()
    unset = {"NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS"}
    inherited = {k: v for k, v in os.environ.items() if k not in unset}
    with subprocess.Popen(
        [*DASK, *words],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=inherited | environ,
    ):
        os.close(follower)
        output = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:  # Linux says so that nobody writes any more
                break
            if not more:
                break
            output += more
    os.close(leader)
    return output.decode()


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        pytest.param({"TERM": "dumb"}, False, marks=pytest.mark.nightly),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    shelf: Shelf, *, environ: dict[str, str], coloured: bool
) -> None:
    shelf.record("nightly", "run-1", state="failed")

    output = in_a_terminal("show", "--store", shelf.url, **environ)

    assert "FAILED" in output
    assert ("\x1b[" in output) is coloured


def test_a_terminal_without_our_signs_gets_others(shelf: Shelf) -> None:
    shelf.record("nightly", "run-1", state="failed")

    done = subprocess.run(
        [*DASK, "ls", "--store", shelf.url],
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )

    assert b"? failed" in done.stdout


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_every_help_ends_with_examples(verb: str) -> None:
    output = typed(*filter(None, [verb]), "--help").stdout

    examples = output.partition("Examples:\n")[2].splitlines()
    assert len(examples) >= 1
    assert all(line.startswith(f"  dask blackbox {verb}") for line in examples if line)


def found(store: str, subject: str) -> list[Check]:
    return [each for each in checks(store, None) if each.what == subject]


def test_doctor_finds_nothing_wrong_where_nothing_is(tmp_path: Path) -> None:
    with dask.config.set({"blackbox.spool": str(tmp_path / "spool")}):
        result = typed("doctor", "--store", str(tmp_path / "runs"))

    assert result.exit_code == 0
    assert "✖" not in result.stdout
    for subject in (
        "versions",
        "settings",
        "spool",
        "store",
        "write",
        "read",
        "delete",
    ):
        assert re.search(rf"^✔ {subject}", result.stdout, re.MULTILINE)


def test_doctor_reports_what_is_wrong_with_a_bucket(s3: EmbeddedS3) -> None:
    with dask.config.set({f"blackbox.store.{k}": v for k, v in s3.settings.items()}):
        good = {each.what: each.state for each in checks(s3.url, None)}
        bad = {each.what: each for each in checks("s3://there-is-none", None)}

    assert {good[each] for each in ("credentials", "write", "list", "clock")} == {"ok"}
    assert bad["write"].state == "wrong"
    assert "there-is-none" in bad["write"].result


def test_doctor_names_misspelt_settings(tmp_path: Path) -> None:
    with dask.config.set({"blackbox.store.ulr": "x"}):
        [output] = found(str(tmp_path), "settings")

    assert output.state == "wrong"
    assert output.do == "did you mean blackbox.store.url?"


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("DASK_BLACKBOX__STORE__ULR", "did you mean DASK_BLACKBOX__STORE__URL?"),
        ("DASK_BLACKBOX_STORE_URL", "did you mean DASK_BLACKBOX__STORE__URL?"),
        ("DASK_BLACKBOX_STORE__REGON", "did you mean DASK_BLACKBOX__STORE__REGION?"),
        ("DASK_BLACKBOX__NOTHING_LIKE_IT", "docs/configuration.md lists the settings"),
        ("DASK_BLACKBOX_DEMO_FOLDER", None),
    ],
)
def test_variables_of_others_are_no_misspelt_settings(
    monkeypatch: pytest.MonkeyPatch, variable: str, says: str | None
) -> None:
    monkeypatch.setenv(variable, "x")

    found = {each.name: each.do for each in misspelt_settings()}

    assert found.get(variable) == says


def test_doctor_reports_that_no_scheduler_answers(tmp_path: Path) -> None:
    result = typed(
        "doctor", "--store", str(tmp_path), "--scheduler", "tcp://127.0.0.1:9"
    )

    assert result.exit_code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in result.stdout


def test_doctor_reports_who_can_look_into_a_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    [output] = found(str(tmp_path), "privacy")

    shared = "if a team shares it, set blackbox.store.shared"
    assert output.do == f"chmod 700 {tmp_path}; {shared}"


@pytest.mark.parametrize(
    ("mode", "state", "says", "do"),
    [
        (0o700, "wrong", "cannot share", "chmod 2770 {}"),
        (0o770, "wrong", "cannot share", "chmod 2770 {}"),
        (0o2775, "warning", "users outside of group", "chmod 2770 {}"),
        (0o2770, "ok", "shares", ""),
    ],
)
def test_doctor_reports_what_a_team_needs_to_share_a_folder(
    tmp_path: Path, mode: int, state: str, says: str, do: str
) -> None:
    tmp_path.chmod(mode)

    with dask.config.set({"blackbox.store.shared": True}):
        [output] = found(str(tmp_path), "privacy")

    assert output.state == state
    assert says in output.result
    assert output.do == do.format(tmp_path)


def test_doctor_reports_a_shared_folder_of_another_group(tmp_path: Path) -> None:
    own = grp.getgrgid(tmp_path.stat().st_gid).gr_name
    other = next(each.gr_name for each in grp.getgrall() if each.gr_name != own)
    tmp_path.chmod(0o2770)

    with dask.config.set({"blackbox.store.shared": other}):
        [output] = found(str(tmp_path), "privacy")
    with dask.config.set({"blackbox.store.shared": own}):
        [fine] = found(str(tmp_path), "privacy")

    assert output.state == "wrong"
    assert f"has group {own}, not {other}" in output.result
    assert output.do == f"chgrp -R {other} {tmp_path}"
    assert fine.state == "ok"


def test_a_store_in_memory_has_no_clock() -> None:
    assert not hasattr(MemoryStore(), "server_time")
