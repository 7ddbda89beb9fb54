"""What the tutorial and the how-to pages show is run, as a reader would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import dask
import pytest
import yaml
from dask_blackbox.settings import misspelt_settings

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BIN = Path(sys.executable).parent


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(
        rf"^( *)```{language}\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE
    )
    return [
        re.sub(f"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found
    ]


def shown(page: Path) -> str:
    return str(page.relative_to(ROOT))


def run_in(
    folder: Path, *words: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        env=os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_json_and_yaml_in_the_docs_can_be_read(page: Path) -> None:
    for text in blocks(page, "json"):
        json.loads(text)
    for text in blocks(page, "ya?ml"):
        found = list(yaml.safe_load_all(text))
        assert found != []
        for each in found:
            if isinstance(each, dict) and "blackbox" in each:
                with dask.config.set(each):
                    assert misspelt_settings() == []


@pytest.mark.nightly
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    page = ROOT / "docs" / "tutorial.md"
    [script] = blocks(page, "python")
    (tmp_path / "nightly.py").write_text(script)

    good = run_in(tmp_path, "python", "nightly.py")
    (tmp_path / "nightly.py").write_text(script.replace("[1, 2, 4]", "[1, 2, 0]"))
    bad = run_in(tmp_path, "python", "nightly.py")

    assert good.returncode == 0, good.stderr
    assert good.stdout == "175.0\n"
    assert "succeeded: Succeeded in" in good.stderr.splitlines()[-1]
    assert bad.returncode == 1
    assert "ZeroDivisionError" in bad.stderr
    commands = re.findall(
        r"^dask blackbox .*--store runs$", page.read_text(), re.MULTILINE
    )
    assert len(commands) == 6
    message = [run_in(tmp_path, "sh", "-c", each) for each in commands]
    assert [each.returncode for each in message] == [0] * 6
    assert "nightly.py" in message[0].stdout
    assert "since the last good run" in message[0].stdout
    # One order has no items: the script's last line, which says so, is no root beside that.
    assert "Data: 1 of 3 tasks of 'price' failed" in " ".join(message[0].stdout.split())
    assert "Code of module" not in message[0].stdout


def test_the_line_at_the_end_names_a_command_that_works(tmp_path: Path) -> None:
    script = blocks(ROOT / "README.md", "python")[0]

    done = run_in(tmp_path, "python", "-c", script)

    [line] = [e for e in done.stderr.splitlines() if e.startswith("dask-blackbox: ")]
    again = re.fullmatch(r".*\[(dask blackbox why .*)\]", line)
    assert again is not None
    why = run_in(tmp_path, "sh", "-c", again[1])
    assert why.returncode == 0
    assert "ZeroDivisionError" in why.stdout


def test_what_the_pages_on_notebooks_and_alerts_show_runs(tmp_path: Path) -> None:
    notebook = blocks(ROOT / "docs" / "howto" / "notebooks.md", "python")
    [alert] = blocks(ROOT / "docs" / "howto" / "alerts.md", "python")
    code = "\n".join(
        [
            *notebook,
            "assert total == 6",
            "assert 'succeeded' in rec.card._repr_html_()",
            "assert 'succeeded' in run._repr_html_()",
            "assert repr(run).startswith('<Run notebook/')",
            "assert repr(rec).startswith('<Recording notebook/')",
            alert,
            "told = []",
            "def work(client):",
            "    client.submit(lambda: 1 / 0).exception()",
            "    raise ValueError('enough')",
            "try:",
            "    run_and_notify(client, work, lambda *said: told.append(said))",
            "except ValueError:",
            "    pass",
            "[(headline, markdown)] = told",
            "assert headline in markdown.replace('\\\\', '')",
        ]
    )

    done = run_in(tmp_path, "python", "-c", code)

    assert done.returncode == 0, done.stderr
