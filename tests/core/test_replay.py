"""A task that raised is kept with its inputs, and can be run again; or it is said why not."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bare_environments
import dask_blackbox
import pytest
from app_server import page_of, served
from click.testing import CliRunner, Result
from conditions import until
from dask._task_spec import Dict, List, Task, TaskRef
from dask.utils import apply
from dask_blackbox import Run
from dask_blackbox.analyse.task_bundles import bundles_of
from dask_blackbox.capture.worker.bundle_file import read_bundle
from dask_blackbox.capture.worker.task_bundles import place_for
from dask_blackbox.capture.worker.task_pickling import (
    Policy,
    TooLongError,
    dump,
    dump_task,
)
from dask_blackbox.cli import blackbox
from dask_blackbox.cli.replay import differences, names_in
from dask_blackbox.cli.rerun import Unpickler
from dask_blackbox.events import BundleAnnounced, BundleStored
from dask_blackbox.reader.task_bundles import is_trusted
from dask_blackbox.serve import create_app
from scenario_runs import Home, ScenarioRun, begin, ended, every_byte

pytestmark = pytest.mark.processes

MARK = b"mark-of-the-values-4711"
SHORTEST = 48  # bytes of a bundle: how it begins, a length and a checksum
REPLAYED = {
    "check": ("many", "LookupError: 10 rows are more than 5"),
    "check_future": ("many", "LookupError: 7 rows are more than 5"),
    "halve": ("many", "ArithmeticError: 7 cannot be halved"),
    "check_in_turn": ("many", "LookupError: 9 rows are more than 5"),
    "use": ("many", "RuntimeError: not with number 3"),
    "welcome": ("limited", "ValueError: nobody is welcome, 17 times"),
}
"""By prefix: in which recording its bundle is, and the last line of its traceback."""


@pytest.fixture(scope="module")
def finished(homes: Callable[[], Home]) -> ScenarioRun:
    home = homes()
    process = begin(home, "kept_inputs.py", str(home.folder / "store"))
    finished = ended(
        home, process, timeout=280.0
    )  # ten recordings, one after the other
    assert finished.code == 0, finished.errors[-5000:]
    return finished


def run_of(finished: ScenarioRun, name: str) -> Run:
    return Run.open(finished.reported[name])


def kept_in(run: Run, prefix: str) -> BundleStored:
    """Return what the recording says of the newest bundle of a prefix."""
    return all_kept_in(run, prefix)[-1]


def all_kept_in(run: Run, prefix: str) -> list[BundleStored]:
    return [each for each in bundles_of(run) if _is(each.prefix or "", prefix)]


def _is(prefix: str, wanted: str) -> bool:
    # Dask appends words of its own to the names of functions of data frames.
    return prefix == wanted or prefix.startswith(f"{wanted}-")


def blob_of(run: Run, prefix: str) -> Path:
    return Path(run.url or "") / f"bundles/{kept_in(run, prefix).number}.bundle"


def replayed(run: Run, *options: str, trusted: bool = True) -> Result:
    """Return what came of `dask blackbox replay`, whose question is not asked."""
    trust = ["--trust", run.store.url] if trusted else []
    words = ["replay", str(run.url), *trust, "--yes", *options]
    return CliRunner().invoke(blackbox, words, catch_exceptions=False)


@pytest.mark.parametrize("prefix", REPLAYED)
def test_a_task_that_raised_raises_the_same_again(
    finished: ScenarioRun, prefix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    name, last_line = REPLAYED[prefix]
    run = run_of(finished, name)

    result = replayed(run, "--key", kept_in(run, prefix).subject)

    assert result.exit_code == 0, result.output
    assert "The same exception as recorded" in result.output
    assert last_line in capfd.readouterr().err.splitlines()[-1]


def test_the_card_names_the_bundle_of_the_task_that_it_is_about(
    finished: ScenarioRun,
) -> None:
    run = run_of(finished, "many")
    card = json.loads(run.store.get(f"{run.folder}card.json"))
    key = card["verdict"]["subject"]["key"]

    assert Path(card["links"]["bundle"]).exists()
    assert key.startswith("check-")
    fact = card["verdict"]["evidence"][1]
    assert fact["text"].startswith(f"{key} is stored with 1 input")
    assert (
        fact["see"] == f"dask blackbox replay {card['links']['recording']} --key {key}"
    )
    # Without --key, it is this one.
    assert f"{key}  LookupError" in replayed(run).output


def test_the_last_attempt_of_a_retried_task_is_kept(finished: ScenarioRun) -> None:
    run = run_of(finished, "many")
    coming = [
        each for each in run.of(BundleAnnounced) if each.prefix == "check_in_turn"
    ]
    # The bundle of an earlier attempt that arrives after it, from another worker, stays too.
    kept = {each.worker for each in all_kept_in(run, "check_in_turn")}

    assert len(coming) == 3
    assert coming[-1].worker in kept
    assert len(list(Path(run.url or "").glob("bundles/*"))) == len(bundles_of(run))


def test_an_input_that_cannot_be_pickled_is_named(finished: ScenarioRun) -> None:
    [sentence] = run_of(finished, "many").completeness["missing"]["bundles"]

    assert "input lock-" in sentence
    assert "_thread.lock" in sentence
    assert "cannot be pickled: TypeError" in sentence


def test_an_input_that_is_too_large_is_named_with_its_size(
    finished: ScenarioRun,
) -> None:
    run = run_of(finished, "limited")
    # What the user keeps out is not missing, so this is the only sentence.
    [sentence] = run.completeness["missing"]["bundles"]

    assert "builtins.bytes, 4 MiB" in sentence
    assert "values-limit" in sentence
    assert blob_of(run, "use").stat().st_size < 100_000
    assert (
        "left out: block-" in replayed(run, "--key", kept_in(run, "use").subject).output
    )


def test_what_a_policy_names_is_not_in_the_bundle(finished: ScenarioRun) -> None:
    run = run_of(finished, "limited")
    blob = blob_of(run, "welcome").read_bytes()
    stored = every_byte(Path(run.url or ""))
    bundle = read_bundle(blob)

    for secret in (
        b"Ada Lovelace", b"hunter-two", b"AKIAZQ3DUMMYKEY4TEST", b"key-of-the-service",
        b"badge 4711081512",
    ):  # fmt: skip
        assert secret not in stored
    assert MARK in blob
    assert {"password", "api_key", "a secret in a text"} <= set(
        bundle.facts["redacted"]
    )
    [left_out] = bundle.facts["left_out"]
    assert left_out["type"].endswith("Regular")
    assert left_out["why"] == "redacted: by its type"


def test_what_others_run_on_the_same_cluster_is_not_kept(finished: ScenarioRun) -> None:
    run = run_of(finished, "others")

    assert [each.prefix for each in run.of(BundleAnnounced)] == ["check"]
    assert [each.prefix for each in bundles_of(run)] == ["check"]


def test_a_worker_that_dies_with_its_bundle_is_reported(finished: ScenarioRun) -> None:
    run = run_of(finished, "killed")
    [sentence] = run.completeness["missing"]["bundles"]

    assert "could not be stored with its inputs" in sentence
    assert "its worker exited before it sent the inputs" in sentence
    assert bundles_of(run) == []
    result = replayed(run)
    assert result.exit_code == 1
    assert "its worker exited before it sent the inputs" in result.output


def test_no_value_is_stored_that_was_not_requested(finished: ScenarioRun) -> None:
    store = finished.home.folder / "store"

    assert MARK in every_byte(store / "on")
    assert run_of(finished, "off").errors.height
    assert MARK not in every_byte(store / "off")
    result = replayed(run_of(finished, "off"))
    assert result.exit_code == 1
    assert "set blackbox.capture.values to true" in result.output


def test_the_viewer_hands_out_no_values(finished: ScenarioRun) -> None:
    run = run_of(finished, "many")
    page = page_of(run.address)
    with served(create_app(run.store)) as viewer:
        answer = viewer(f"{page}/files/bundles/1.bundle")
        assert answer.status == 403
        assert "holds values of the run" in answer.text
        assert viewer(f"{page}/files/card.json").status == 200


def test_only_the_process_that_reruns_unpickles() -> None:
    sources = Path(dask_blackbox.__file__).parent
    unpickling = [
        str(path.relative_to(sources))
        for path in sources.rglob("*.py")
        if re.search(r"\b(pickle\.loads?\(|Unpickler|read_pickle)", path.read_text())
        # Processes of the cluster unpickle what they, or their parent, have pickled.
        and "capture" not in path.parts
    ]

    assert unpickling == ["cli/rerun.py"]
    done = subprocess.run(
        [sys.executable, "-c", "import sys, dask_blackbox.cli.replay; print('dask_blackbox.cli.rerun' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False"


def test_nothing_is_left_over(finished: ScenarioRun) -> None:
    finished.home.quiet()

    assert finished.home.left_over() == []
    assert list(finished.home.temporary.rglob("*.bundle")) == []


# Refusals


def test_a_store_that_is_not_trusted_is_not_unpickled(finished: ScenarioRun) -> None:
    result = replayed(run_of(finished, "many"), trusted=False)

    assert result.exit_code == 2
    assert "not a trusted store" in result.output
    assert "UNPICKLED" not in result.output


def test_without_a_yes_nothing_is_unpickled(finished: ScenarioRun) -> None:
    run = run_of(finished, "many")
    words = ["replay", str(run.url), "--trust", run.store.url]

    result = CliRunner().invoke(blackbox, words, input="\n", catch_exceptions=False)

    assert result.exit_code == 1
    assert "UNPICKLED" in result.output
    assert "exception" not in result.output.splitlines()[-1]


@pytest.mark.parametrize("place", [9, -100, -33, -1])
def test_a_bundle_that_was_changed_is_not_unpickled(
    finished: ScenarioRun, place: int
) -> None:
    run = run_of(finished, "many")
    path = blob_of(run, "check")
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[place] ^= 1
    path.write_bytes(changed)
    try:
        result = replayed(run)
    finally:
        path.write_bytes(whole)

    assert result.exit_code == 1
    assert "SHA-256" in result.output
    with pytest.raises(ValueError, match="SHA-256"):
        read_bundle(bytes(changed))


def test_any_cut_of_a_bundle_is_found(finished: ScenarioRun) -> None:
    whole = blob_of(run_of(finished, "many"), "check").read_bytes()

    for end in range(SHORTEST):
        with pytest.raises(ValueError, match="truncated"):
            read_bundle(whole[:end])
    for end in range(SHORTEST, len(whole), 97):
        with pytest.raises(ValueError, match="SHA-256"):
            read_bundle(whole[:end])


@pytest.mark.parametrize(
    ("store", "trusted", "yes"),
    [
        ("s3://dask-runs/etl", ["s3://dask-runs/etl"], True),
        ("s3://dask-runs/etl", ["s3://dask-runs/etl/"], True),
        ("s3://dask-runs/etl", ["s3://dask-runs"], True),
        ("s3://dask-runs/etl/deep", ["s3://dask-runs/etl"], True),
        ("s3://dask-runs/etl-2", ["s3://dask-runs/etl"], False),
        ("s3://dask-runs-2/etl", ["s3://dask-runs"], False),
        ("s3://dask-runs", ["s3://dask-runs/etl"], False),
        ("s3://dask-runs/etl", [], False),
        ("/data/runs", ["/data/runs"], True),
        ("/data/runs/../runs", ["file:///data/runs"], True),
        ("/data/other/../../etc", ["/data/other"], False),
        ("/data/runs-2", ["/data/runs"], False),
        ("/data/runs", ["s3://data/runs"], False),
    ],
)
def test_trust_is_for_a_store_and_what_lies_in_it(
    store: str, trusted: list[str], *, yes: bool
) -> None:
    assert is_trusted(store, trusted) is yes


def test_a_link_out_of_a_trusted_folder_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "trusted").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "trusted" / "link").symlink_to(tmp_path / "other")

    trusted = [str(tmp_path / "trusted")]

    assert not is_trusted(str(tmp_path / "trusted" / "link"), trusted)
    assert is_trusted(str(tmp_path / "trusted" / "plain"), trusted)


# Another environment, another end


def test_an_environment_with_dask_alone_replays(
    finished: ScenarioRun,
    tmp_path_factory: pytest.TempPathFactory,
    capfd: pytest.CaptureFixture[str],
) -> None:
    python = bare_environments.python_with("dask", tmp_path_factory.mktemp("venv"))

    assert not bare_environments.can_import(python, "dask_blackbox")
    assert not bare_environments.can_import(python, "distributed")
    result = replayed(run_of(finished, "many"), "--python", str(python))

    assert result.exit_code == 0, result.output
    assert "! distributed" in result.output
    assert REPLAYED["check"][1] in capfd.readouterr().err


def test_an_interpreter_without_dask_is_refused(
    finished: ScenarioRun, tmp_path: Path
) -> None:
    python = bare_environments.python_with("tomli", tmp_path / "venv")

    result = replayed(run_of(finished, "many"), "--python", str(python))

    assert result.exit_code == 2
    assert "has no Dask" in result.output


def test_a_task_that_ends_otherwise_is_reported(
    finished: ScenarioRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The module that the dataframe's task comes by name from is found here first.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pandas.py").write_text("raise ImportError('another pandas')\n")

    run = run_of(finished, "many")
    result = replayed(run, "--key", kept_in(run, "halve").subject)

    assert result.exit_code == 1
    assert "cannot be unpickled here: ImportError: another pandas" in result.output


def test_the_debugger_opens_where_the_exception_arose(finished: ScenarioRun) -> None:
    run = run_of(finished, "many")
    ours, theirs = pty.openpty()
    words = ["replay", str(run.url), "--trust", run.store.url, "--pdb"]
    with subprocess.Popen(
        [sys.executable, "-m", "dask", "blackbox", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "dumb"},
    ) as process:
        os.close(theirs)
        printed = _conversation(
            ours, {"Continue?": "y", "(Pdb) ": "p most * 1000", "5000": "q"}
        )
    os.close(ours)

    assert process.returncode == 0, printed
    assert "LookupError: 10 rows are more than 5" in printed
    assert "The same exception as recorded" in printed


def _conversation(terminal: int, answers: dict[str, str]) -> str:
    """Answer each prompt once, in their order; return all that was said."""
    printed, heard = "", 0
    waiting = list(answers.items())

    def ended() -> bool:
        nonlocal printed, heard
        try:
            printed += os.read(terminal, 4096).decode()
        except OSError:  # the other end is closed
            return True
        if waiting and waiting[0][0] in printed[heard:]:
            os.write(terminal, f"{waiting.pop(0)[1]}\n".encode())
            heard = len(printed)
        return False

    until(ended, f"the end of a conversation: {printed}")
    return printed


# Single parts


@pytest.mark.parametrize(
    ("kept", "new", "place"),
    [
        ([], ("a", "a-1"), 0),
        ([("a", "a-1")], ("a", "a-1"), 0),
        ([("a", "a-1")], ("a", "a-2"), 1),
        ([("a", "a-1"), ("a", "a-2"), ("b", "b-1")], ("a", "a-3"), None),
        ([("a", "a-1"), ("a", "a-2"), ("b", "b-1")], ("c", "c-1"), 1),
        ([("a", "a-1"), ("b", "b-1"), ("c", "c-1")], ("d", "d-1"), None),
    ],
)
def test_distinct_prefixes_are_kept_first(
    kept: list[tuple[str, str]], new: tuple[str, str], place: int | None
) -> None:
    assert place_for(kept, *new, most=3) == place


def _picked(task: Any, inputs: list[Any], *names: str) -> tuple[Any, Policy]:
    """Return a task as it comes out of a bundle, and what was noted of it."""
    policy, sink = Policy(names, ()), io.BytesIO()
    dump_task(task, inputs, sink, policy, time.monotonic() + 60)
    sink.seek(0)
    return Unpickler(sink).load()["task"], policy


def _log_in(user: str, password: str, more: Any = None, **options: Any) -> str:
    return repr((user, password, more, options))


def test_secrets_are_found_wherever_a_graph_has_them() -> None:
    nested = Dict({"api_key": "s-1", "user": "ada", "deep": {"token": ["s-2"]}})
    task = Task("k", _log_in, "ada", "s-3", nested, auth_token="s-4", n=1)
    assert "s-3" in repr(task)  # Dask keeps this text in the task

    picked, policy = _picked(task, [])

    printed = picked({})
    assert [
        s for s in ("s-1", "s-2", "s-3", "s-4") if s in printed + repr(picked)
    ] == []
    assert "'user': 'ada'" in printed
    assert "'n': 1" in printed
    assert set(policy.applied) == {"password", "auth_token", "api_key", "token"}


def test_secrets_are_found_in_graphs_of_older_versions() -> None:
    pairs = (dict, [["api_key", "s-1"], ["user", "ada"]])
    called = (apply, _log_in, ["ada", "s-2"], pairs)
    task = (map, ((_log_in, "ada", "s-3"), called), {"auth_token": "s-4"})

    picked, policy = _picked(task, [])

    assert [s for s in ("s-1", "s-2", "s-3", "s-4") if s in repr(picked)] == []
    assert "ada" in repr(picked)
    assert set(policy.applied) == {"api_key", "password", "auth_token"}


@pytest.mark.parametrize("given", [["ada", "s-1"], List("ada", "s-1")])
def test_secrets_are_found_in_calls_that_are_applied(given: Any) -> None:
    picked, policy = _picked(Task("k", apply, _log_in, given, {"n": 1}), [])

    assert "s-1" not in repr(picked) + picked({})
    assert "'n': 1" in picked({})
    assert list(policy.applied) == ["password"]


def test_numbers_under_the_name_of_a_secret_are_data() -> None:
    picked, policy = _picked(Task("k", _log_in, "ada", None, token_count=17), [])

    assert "17" in picked({})
    assert not policy.applied


def test_what_the_user_names_is_left_out_whatever_it_is() -> None:
    task = Task("k", _log_in, Path("/home/ada"), "x", {"salary": 17, "deep": [1.5]})

    picked, policy = _picked(task, [], "salary", r"pathlib\..*Path", "more_of_it")

    assert "17" not in picked({})
    assert "/home/ada" not in picked({})
    assert "1.5" in picked({})
    assert [each.rpartition(".")[2] for each in sorted(policy.applied)] == [
        "password", "PosixPath", "salary",
    ]  # fmt: skip


def test_an_input_for_a_secret_is_reported_apart() -> None:
    policy = Policy(["user"], ())
    task = Task("k", _log_in, TaskRef("who"), TaskRef("pw"), TaskRef("rest"))

    unwanted = dump_task(
        task, ["who", "pw", "rest"], io.BytesIO(), policy, time.monotonic() + 60
    )

    # The user has named the first; the second counts if it can hold a secret.
    assert unwanted == {"who": True, "pw": False}


def test_pickling_ends_in_time() -> None:
    with pytest.raises(TooLongError):
        dump(list(range(10_000)), io.BytesIO(), Policy((), ()), time.monotonic() - 1)


def test_what_a_pickle_would_import_is_read_and_not_imported(tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> Any:
            return (os.system, (f"touch {tmp_path / 'gone'}",))

    assert f"{os.system.__module__}.system" in names_in(pickle.dumps([Evil(), Evil()]))
    assert names_in(pickle.dumps(Path("x"), protocol=2)) & {
        "pathlib.PosixPath", "pathlib._local.PosixPath",
    }  # fmt: skip
    assert not (tmp_path / "gone").exists()


def test_other_versions_are_reported_gravest_first() -> None:
    there = {"python": "3.12.1", "packages": {"dask": "1", "mine": "1", "a": "1"}}
    here = {"python": "3.11.7", "packages": {"dask": "2", "a": "2"}}

    first, second, third, fourth = differences(there, here, ["mine"])

    assert first.startswith("Python 3.12.1 on the worker, 3.11.7 here (functions")
    assert second == "dask 1 on the worker, 2 here"
    assert third == "mine 1 on the worker, missing here"
    assert fourth == "different versions of a 1 → 2"
