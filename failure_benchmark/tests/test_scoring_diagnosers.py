"""`dask-failures score` with real diagnosers, good and bad."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dask_failures.diagnoser import Request, diagnoser_of

CONTRACT = Path(__file__).parents[1] / "docs" / "contract.md"

_ANSWERS = "import json, sys\nrequest = json.loads(sys.stdin.readline())\n"


def scored(
    *words: str | Path, diagnoser: str | Path
) -> subprocess.CompletedProcess[str]:
    command = (
        f"{sys.executable} {diagnoser}" if isinstance(diagnoser, Path) else diagnoser
    )
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "dask_failures",
            "score",
            "--diagnoser",
            command,
            *map(str, words),
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def results_of(
    a_set: Path, tmp_path: Path, code: str, *words: str
) -> dict[str, dict[str, Any]]:
    """Return the results of a diagnoser, by case."""
    diagnoser, out = tmp_path / "mine.py", tmp_path / "out.json"
    diagnoser.write_text(code)
    done = scored("--sets", a_set, "--out", out, *words, diagnoser=diagnoser)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())["diagnoser"]
    return {each["case"].rpartition("/")[2]: each for each in found}


def test_the_ten_lines_of_the_contract_are_a_diagnoser(
    a_set: Path, tmp_path: Path
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", CONTRACT.read_text(), re.DOTALL)

    found = results_of(a_set, tmp_path, code)

    assert len(code.strip().splitlines()) <= 10
    assert found["lost_sheep"]["kind"] == "names"  # it does not name the exception
    assert found["full_barn"]["problem"] == "task-exception, not worker-memory-limit"
    assert found["quiet_night"]["kind"] == "right"


def test_names_in_text_and_evidence_make_an_answer_all_right(
    a_set: Path, tmp_path: Path
) -> None:
    answer = {
        "cause": "task-exception",
        "confidence": "high",
        "text": "count_sheep raised",
        "evidence": ["ValueError: none"],
    }

    found = results_of(a_set, tmp_path, f"{_ANSWERS}print(json.dumps({answer!r}))")

    assert found["lost_sheep"]["kind"] == "right"
    assert found["quiet_night"]["kind"] == "wrong"
    assert found["quiet_night"]["confidence"] == "high"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("", "it printed nothing"),
        ("print('no idea')", "it printed no JSON"),
        ('print(\'{"cause": "bad-luck"}\')', "unknown cause 'bad-luck'"),
        ("print('{\"text\": 1}')", "its answer is not valid"),
        ("raise SystemExit('broken')", "it exited with 1: broken"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_no_answer_is_counted_and_reported(
    code: str, problem: str, *, stream: bool, a_set: Path, tmp_path: Path
) -> None:
    words = ["--stream"] if stream else []
    found = results_of(a_set, tmp_path, code, "--only", "full_barn", *words)

    assert found["full_barn"]["kind"] == "no answer"
    if not stream or code.startswith("print"):
        assert problem in found["full_barn"]["problem"]
    else:
        assert "it exited" in found["full_barn"]["problem"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_late_diagnoser_is_ended_and_counts_as_no_answer(
    *, stream: bool, a_set: Path, tmp_path: Path
) -> None:
    code = "import signal\nsignal.pause()"
    words = ["--timeout", "0.5", "--only", "full_barn", *(["--stream"] * stream)]

    found = results_of(a_set, tmp_path, code, *words)

    assert found["full_barn"]["problem"] == "no answer in 0.5 s"


def test_a_streaming_diagnoser_is_started_once(a_set: Path, tmp_path: Path) -> None:
    code = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    text = str(os.getpid())\n"
        "    print(json.dumps({'cause': 'stalled', 'text': text}), flush=True)\n"
    )

    found = results_of(a_set, tmp_path, code, "--stream", "--jobs", "1")

    assert len({each["text"] for each in found.values()}) == 1


def test_tables_are_lines_of_json_if_asked_for(a_set: Path, tmp_path: Path) -> None:
    code = (
        f"{_ANSWERS}"
        "lines = open(request['recording'] + '/logs.jsonl').readlines()\n"
        "text = json.loads(lines[0])['message']\n"
        "print(json.dumps({'cause': 'unknown', 'text': text}))\n"
    )

    found = results_of(a_set, tmp_path, code, "--json-lines")

    assert found["quiet_night"]["text"] == "Close client"
    assert found["full_barn"]["kind"] == "unknown"


def test_baselines_are_columns_of_the_table(a_set: Path, tmp_path: Path) -> None:
    diagnoser, out = tmp_path / "mine.py", tmp_path / "out.json"
    diagnoser.write_text("print('{\"cause\": null}')")

    done = scored("--sets", a_set, "--baselines", "--out", out, diagnoser=diagnoser)

    assert done.returncode == 0, done.stderr
    assert "| kind of failure | runs | diagnoser | last-exception | last-lines |" in (
        done.stdout
    )
    found = json.loads(out.read_text())
    kinds = {
        name: [each["kind"] for each in results] for name, results in found.items()
    }
    assert kinds == {
        "diagnoser": ["wrong", "wrong", "right"],
        "last-exception": ["right", "right", "right"],
        "last-lines": ["right", "right", "right"],
    }


@pytest.mark.parametrize(
    ("words", "diagnoser", "problem"),
    [
        ((), "no-such-command", "the diagnoser 'no-such-command' cannot be started"),
        ((), "", "it is empty"),
        (("--only", "teapot"), "true", "no case, cause or kind is called 'teapot'"),
        (("--sets", "teapot"), "true", "no set 'teapot'; there are"),
        (("--recorder", "strace"), "true", "--recorder is for --run"),
    ],
)
def test_bad_input_is_an_error_that_says_what_to_do(
    words: tuple[str, ...], diagnoser: str, problem: str, a_set: Path
) -> None:
    sets = () if "--sets" in words else ("--sets", a_set)

    done = scored(*sets, *words, diagnoser=diagnoser)

    assert done.returncode != 0
    assert problem in re.sub(r"\s+", " ", done.stderr)
    assert "Traceback" not in done.stderr


def test_scripts_run_under_a_recorder(a_set: Path, tmp_path: Path) -> None:
    (a_set / "scripts").mkdir()
    (a_set / "scripts" / "lost_sheep.py").write_text(
        "import signal, time\n"
        "def stop(*_):\n    raise SystemExit('count_sheep: ValueError')\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "print('counting', flush=True)\n"
        "while True:\n    time.sleep(1)\n"
    )
    with (a_set / "expected.toml").open("a") as file:
        file.write("")
    text = (a_set / "expected.toml").read_text()
    sent = 'signal = { name = "SIGINT", marker = "counting", after = 0.0 }\n[full_barn]'
    (a_set / "expected.toml").write_text(text.replace("[full_barn]", sent))
    code = (
        f"{_ANSWERS}"
        "text = open(request['run'] + '/output.txt').read()\n"
        "text += open(request['run'] + '/recorded').read()\n"
        "answer = {'cause': 'task-exception', 'text': text + str(request['exit'])}\n"
        "print(json.dumps(answer))\n"
    )
    recorder = "sh -c 'echo {name} > {folder}/recorded; exec \"$@\"' sh"

    found = results_of(a_set, tmp_path, code, "--run", "--recorder", recorder)

    assert found.keys() == {"lost_sheep"}  # the others have no script
    assert found["lost_sheep"]["kind"] == "right"
    assert found["lost_sheep"]["text"].endswith("ValueError\nlost_sheep\n1")


def test_an_answer_counts_though_its_request_was_not_read() -> None:
    # The request is larger than a pipe holds: writing it fails once the process has ended.
    request = Request(case="farm/lost_sheep", run="x" * 2**20)
    code = f"print({json.dumps(json.dumps({'cause': 'task-exception'}))})"
    command = shlex.join([sys.executable, "-c", code])

    with closing(diagnoser_of(command, stream=True, timeout=60)) as diagnoser:
        assert diagnoser.ask(request).cause == "task-exception"
