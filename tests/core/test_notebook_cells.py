"""Lines of a notebook are named by their cell and have its text, also in tasks."""

from __future__ import annotations

import linecache
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.complete_tables import completed
from dask_blackbox.capture.driver.cells import cells_of_notebook, in_cells, place_in
from dask_blackbox.capture.driver.driver import describe_exception
from runs_from_rows import (
    a_failed_task,
    a_run,
    a_worker,
    an_exception,
    failed_with,
    the_verdict,
)

CELLS = {
    "/tmp/ipykernel_7/1.py": "import json\n",
    "/tmp/ipykernel_7/2.py": "%time 1\n",
    "/tmp/ipykernel_7/3.py": "# prices\n\ndef clean(row):\n    return row['preis'] * 2\n",
    "/tmp/ipykernel_7/4.py": "raw = [{'price': 1}]\nclean(raw[0])\n",
}
NAMES = {file: ("Cell", f"In[{n}]") for n, file in enumerate(CELLS, start=1)}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process hold cells as the kernel of a notebook does."""
    shell = types.SimpleNamespace(
        compile=types.SimpleNamespace(format_code_name=NAMES.get)
    )
    module: Any = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", module)
    for file, text in CELLS.items():
        lines = text.splitlines(keepends=True)
        monkeypatch.setitem(linecache.cache, file, (len(text), None, lines, file))


def raised(change: Callable[[types.CodeType], types.CodeType]) -> KeyError:
    """Return what the last cell raises, with the code of the function changed."""
    space: dict[str, Any] = {}
    *_, defining, calling = CELLS
    exec(compile(CELLS[defining], defining, "exec"), space)
    space["clean"].__code__ = change(space["clean"].__code__)
    with pytest.raises(KeyError) as caught:
        exec(compile(CELLS[calling], calling, "exec"), space)
    return caught.value


def sent(code: types.CodeType) -> types.CodeType:
    """Return code as cloudpickle sends it: it leaves out the file."""
    return code.replace(co_filename="<dynamic-code>")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("change", [sent, lambda code: code], ids=["sent", "local"])
def test_a_line_of_a_cell_is_named_by_the_cell_and_has_its_text(
    change: Callable[[types.CodeType], types.CodeType],
) -> None:
    error = raised(change)
    found = describe_exception(error)

    assert (found["file"], found["line"], found["function"]) == (
        "Cell In[3]",
        4,
        "clean",
    )
    frames = found["traceback"].splitlines()
    at = frames.index('  File "Cell In[3]", line 4, in clean')
    assert frames[at + 1] == "    return row['preis'] * 2"
    assert '  File "Cell In[4]", line 2, in <module>' in frames
    assert "ipykernel" not in found["traceback"]


@pytest.mark.usefixtures("kernel")
def test_the_newest_cell_that_defines_a_function_there_is_meant() -> None:
    cells = cells_of_notebook()

    assert place_in(cells, "<dynamic-code>", 4, "clean") == (
        "Cell In[3]",
        "return row['preis'] * 2",
    )
    assert place_in(cells, "<dynamic-code>", 4, "other") is None
    assert place_in(cells, "<dynamic-code>", 9, "clean") is None
    assert place_in(cells, "/jobs/nightly.py", 4, "clean") is None


def test_without_a_notebook_nothing_is_changed() -> None:
    error = raised(sent)

    text = "".join(traceback.format_exception(error))
    assert in_cells(text) == text
    assert describe_exception(error)["file"] == "<dynamic-code>"


def test_the_traceback_of_a_worker_has_the_cells_of_the_driver() -> None:
    head = "Traceback (most recent call last):\n"
    frame = '  File "Cell In[3]", line 4, in clean\n    return row["preis"] * 2\n'
    unnamed = '  File "<dynamic-code>", line 4, in clean\n'
    error = an_exception(
        "KeyError",
        "'preis'",
        traceback=f"{head}{frame}KeyError: 'preis'",
        key="clean-1",
    )
    run = a_run(
        a_worker(),
        a_failed_task(
            "clean-1",
            "KeyError",
            "'preis'",
            traceback=f"{head}{unnamed}KeyError: 'preis'",
        ),
        failed_with(error),
    )

    verdict = the_verdict(completed(run))

    assert 'Cell In[3]:4 in clean (`return row["preis"] * 2`)' in verdict.cause
    assert verdict.confidence == "high"
    assert "Look at Cell In[3]:4." in verdict.remedy
    assert all(
        frame in each for each in completed(run).errors["traceback"] if "clean" in each
    )
    assert findings_in(run)


def test_the_name_of_an_exception_is_no_code() -> None:
    text = "Traceback (most recent call last):\n  File \"<dynamic-code>\", line 4, in clean\nKeyError: 'preis'"
    error = an_exception("KeyError", "'preis'", traceback=text, key="clean-1")
    run = a_run(
        a_worker(),
        a_failed_task("clean-1", "KeyError", "'preis'", traceback=text),
        failed_with(error),
    )

    assert "<dynamic-code>:4 in clean." in the_verdict(run).cause
