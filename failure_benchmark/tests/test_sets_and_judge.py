"""Sets are read and written; the judge compares answers with expectations."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask_failures import Answer, Case, FailureSet, Signal, judge, write_archive
from dask_failures.case import cases_from, expectations_of
from dask_failures.errors import BadSetError

FAILED = Case(causes=("task-exception",), names=("load",), never=("memory",))
HEALTHY = Case(may=("spilling",), state=("succeeded",))


def files_of(folder: Path) -> dict[str, bytes]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found}


def test_an_archive_has_what_its_folder_has(a_set: Path, tmp_path: Path) -> None:
    archive = tmp_path / "farm.tar.xz"
    write_archive(archive, files_of(a_set))

    packed, plain = FailureSet.open(archive), FailureSet.open(a_set)

    assert packed.cases == plain.cases
    assert packed.recorded == ("lost_sheep", "full_barn", "quiet_night")
    assert packed.recording("full_barn") == plain.recording("full_barn")
    packed.unpack(tmp_path / "unpacked")
    assert files_of(tmp_path / "unpacked") == files_of(a_set)


def test_the_same_files_give_the_same_archive(a_set: Path, tmp_path: Path) -> None:
    files = files_of(a_set)
    backwards = dict(reversed(files.items()))
    (tmp_path / "other").mkdir()
    one, other = tmp_path / "farm.tar.xz", tmp_path / "other" / "farm.tar.xz"

    write_archive(one, files)
    write_archive(other, backwards)

    assert one.read_bytes() == other.read_bytes()


def test_an_archive_is_never_rewritten(a_set: Path, tmp_path: Path) -> None:
    write_archive(tmp_path / "farm.tar.xz", files_of(a_set))

    with pytest.raises(FileExistsError):
        write_archive(tmp_path / "farm.tar.xz", {})


@pytest.mark.parametrize(
    "blob", [b"", b"no archive", b"\xfd7zXZ\x00"], ids=["empty", "text", "cut"]
)
def test_a_damaged_archive_is_an_error(blob: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.tar.xz").write_bytes(blob)

    with pytest.raises(BadSetError, match=r"bad\.tar\.xz is no valid set"):
        FailureSet.open(tmp_path / "bad.tar.xz")


@pytest.mark.parametrize(
    "toml",
    ['[a]\ncauses = ["bad-luck"]', '[a]\nnames = ["("]', "[a]\nodd = 1", "no toml"],
)
def test_an_expectation_that_cannot_be_judged_is_an_error(toml: str) -> None:
    with pytest.raises(BadSetError, match=r"expected\.toml"):
        cases_from(toml.encode(), Path("a-set"))


def test_expectations_are_written_as_they_are_read() -> None:
    cases = {
        "odd": Case(
            text='It says "no" \\ ä \x7f \t 🐑',
            unseen=True,
            names=("a|b", r"\bc\b"),
            env={"PYTHONPATH": "lib"},
            signal=Signal(name="SIGINT", marker="ready"),
            bound=12.5,
        ),
        "plain": Case(),
    }

    assert cases_from(expectations_of(cases), Path("a-set")) == cases


@pytest.mark.parametrize(
    ("case", "answer", "kind"),
    [
        (FAILED, Answer(cause="task-exception", text="load raised"), "right"),
        (FAILED, Answer(cause="task-exception", subject="load-1"), "right"),
        (FAILED, Answer(cause="task-exception", text="it raised"), "names"),
        (FAILED, Answer(cause="task-exception", text="load: memory"), "claims"),
        (FAILED, Answer(cause="task-exception", state="aborted"), "state"),
        (FAILED, Answer(cause="stalled", text="load"), "wrong"),
        (FAILED, Answer(cause=None), "wrong"),
        (FAILED, Answer(cause="unknown"), "unknown"),
        (FAILED, None, "no answer"),
        (HEALTHY, Answer(cause=None, findings=("spilling",)), "right"),
        (HEALTHY, Answer(cause=None, findings=("gc-time",)), "warnings"),
        (HEALTHY, Answer(cause=None, findings=("gc-time",), warnings=()), "right"),
        (HEALTHY, Answer(cause="stalled"), "wrong"),
        (Case(findings=("gc-time",)), Answer(cause=None), "missing"),
    ],
)
def test_an_answer_is_judged(case: Case, answer: Answer | None, kind: str) -> None:
    assert judge(case, answer).kind == kind
