"""One real run for other tools, and beside Dask's own performance report of it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from dask_blackbox import Run
from dask_blackbox.card import card_of
from dask_blackbox.cli import blackbox
from dask_blackbox.events import GraphUpdated
from dask_blackbox.report import performance_html
from dask_blackbox.report.export import export
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from runs_from_rows import START, a_death, a_run, a_worker, an_event
from scenario_runs import Home, run_scenario

pytestmark = pytest.mark.processes

TASKS = 12


class Beside(NamedTuple):
    """A run, and what Dask's own report says of it."""

    run: Run
    native: str
    ours: str


@pytest.fixture(scope="module")
def beside(homes: Callable[[], Home]) -> Beside:
    home = homes()
    native = home.folder / "native.html"
    # The home's own setting would cut Dask's task stream after ten tasks.
    finished = run_scenario(
        home,
        "beside_dasks_report.py",
        str(home.folder / "store"),
        str(native),
        DASK_DISTRIBUTED__SCHEDULER__DASHBOARD__STATUS__TASK_STREAM_LENGTH="1000",
    )
    run = finished.run
    return Beside(run, native.read_text(), performance_html(run, run.card()))


def tabs_of(page: str) -> list[str]:
    """Return the titles of a report's tabs, in order."""
    document = _document(page)
    (tabs,) = [each for each in _objects(document) if each.get("name") == "Tabs"]
    panels = tabs["attributes"]["tabs"]
    named = {each["id"]: each for each in _objects(document) if "id" in each}
    return [named[panel["id"]]["attributes"]["title"] for panel in panels]


def columns_of(page: str, title: str) -> list[dict[str, Any]]:
    """Return the data of all figures in a tab."""
    document = _document(page)
    panel = next(
        each
        for each in _objects(document)
        if each.get("name") == "TabPanel" and each["attributes"].get("title") == title
    )
    sources = [e for e in _objects(panel) if e.get("name") == "ColumnDataSource"]
    return [dict(each["attributes"]["data"]["entries"]) for each in sources]


def _document(page: str) -> Any:
    for text in re.findall(
        r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL
    ):
        return json.loads(text)
    raise AssertionError("no document of Bokeh's in this page")


def _objects(value: Any) -> list[dict[str, Any]]:
    found, below = [], [value]
    while below:
        each = below.pop()
        if isinstance(each, dict):
            found.append(each)
            below.extend(each.values())
        elif isinstance(each, list):
            below.extend(each)
    return found


def test_every_tab_of_dasks_report_is_in_ours_in_its_order(beside: Beside) -> None:
    native, ours = tabs_of(beside.native), tabs_of(beside.ours)

    assert len(native) == 9
    assert [title for title in ours if title in native] == native


def test_the_task_streams_have_the_same_tasks(beside: Beside) -> None:
    (native,) = columns_of(beside.native, "Task Stream")
    computed = Counter(
        name for name, colour in zip(native["name"], native["color"], strict=True)
        if name in ("load", "join") and colour != "red"
    )  # fmt: skip

    ours = Counter(
        re.sub(r"-[0-9a-f-]+$", "", key)
        for source in columns_of(beside.ours, "Task Stream")
        for key, label in zip(source["key"], source["label"], strict=True)
        if label in ("load", "join")
    )

    assert computed == ours == {"load": TASKS, "join": TASKS - 1}


def test_the_profiles_have_the_same_functions(beside: Beside) -> None:
    names = {}
    for title in ("compute", "administrative"):
        (native,) = columns_of(beside.native, f"Worker Profile ({title})")
        ours = columns_of(beside.ours, f"Worker Profile ({title})")
        # Dask samples no event loops on Python 3.11.
        assert bool(ours) == bool(native["name"])
        if ours:
            assert set(ours[0]) == set(native)  # it is the same figure
            names[title] = set(ours[0]["name"]), _seen_often(native)

    ours_of_tasks, natives = names["compute"]
    assert "load" in ours_of_tasks
    assert natives - ours_of_tasks <= {""}


def _seen_often(columns: dict[str, Any]) -> set[str]:
    """Return the functions of at least a fifth of the samples: the periods differ a little."""
    reported = zip(columns["name"], columns["percentage"], strict=True)
    return {name for name, share in reported if float(share.rstrip("%")) >= 20}


def test_event_loops_have_profiles_of_their_own() -> None:
    reported = {
        "filename": "core.py",
        "name": "handle_comm",
        "line_number": 3,
        "line": "x",
    }
    root = {"filename": "", "name": "", "line_number": 0, "line": ""}
    leaf = {"count": 4, "description": reported, "children": {}}
    tree = {"count": 4, "description": root, "children": {"handle_comm": leaf}}
    run = a_run(
        *(an_event("profile", at=9, start=1, stop=9, threads=of, tree=tree) for of in ("workers", "scheduler"))
    )  # fmt: skip

    page = performance_html(run, card_of(run, ()))

    for title in (
        "Worker Profile (administrative)",
        "Scheduler Profile (administrative)",
    ):
        (source,) = columns_of(page, title)
        assert source["name"] == ["", "handle_comm"]
    assert columns_of(page, "Worker Profile (compute)") == []


def test_the_bandwidths_are_the_same_pairs(beside: Beside) -> None:
    (native,) = columns_of(beside.native, "Bandwidth (Workers)")
    (ours,) = columns_of(beside.ours, "Bandwidth (Workers)")
    (types,) = columns_of(beside.native, "Bandwidth (Types)")
    (our_types,) = columns_of(beside.ours, "Bandwidth (Types)")

    assert set(native["source"]) == set(ours["source"]) == {"0", "1"}
    assert "numpy.ndarray" in types["type"]
    assert "numpy.ndarray" in our_types["type"]


def test_the_summaries_agree(beside: Beside) -> None:
    reported = {
        name: re.search(rf"{name}: ([^<&\\]*)", beside.native)
        for name in ("Address", "Dask Version", "Dask.Distributed Version")
    }

    assert "number of tasks: 23" in beside.native
    assert "number of task executions: 23" in beside.ours
    for name, found in reported.items():
        assert found is not None
        assert f"{name}: {found[1].strip()}" in beside.ours


def test_whose_results_tasks_take_is_recorded(beside: Beside) -> None:
    inputs = {
        name: others
        for graph in beside.run.of(GraphUpdated)
        for name, others in graph.inputs.items()
    }

    assert inputs == {"load": (), "join": ("load",)}


def test_a_perfetto_trace_has_every_execution_and_death(
    beside: Beside, tmp_path: Path
) -> None:
    (file,) = export(beside.run, "perfetto", tmp_path / "trace.pftrace")

    trace = Trace.FromString(file.read_bytes())
    names: dict[int, str] = {}
    tracks: dict[int, str] = {}
    open_slices: dict[int, int] = {}
    lasted: Counter[str] = Counter()
    for packet in trace.packet:
        names |= {each.iid: each.name for each in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            reported = packet.track_descriptor
            tracks[reported.uuid] = (
                reported.process.process_name or reported.thread.thread_name
            )
        event = packet.track_event
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid in tracks
            assert event.track_uuid not in open_slices  # slices do not overlap
            open_slices[event.track_uuid] = packet.timestamp
            lasted[names[event.name_iid]] += 1
        elif event.type == TrackEvent.TYPE_SLICE_END:
            assert open_slices.pop(event.track_uuid) <= packet.timestamp

    assert lasted == {"load": TASKS, "join": TASKS - 1}
    assert open_slices == {}
    assert {"worker 0", "worker 1", "thread 1"} <= set(tracks.values())


def test_deaths_are_instants_and_a_killed_execution_reports_it(tmp_path: Path) -> None:
    run = a_run(a_worker(at=0), a_death(exit_code=-9, at=12, executing=["load-1"]))

    (file,) = export(run, "perfetto", tmp_path / "trace.pftrace")

    events = [
        packet.track_event for packet in Trace.FromString(file.read_bytes()).packet
    ]
    instants = [e.name for e in events if e.type == TrackEvent.TYPE_INSTANT]
    notes = {note.string_value for event in events for note in event.debug_annotations}
    assert any("died: killed by signal 9" in name for name in instants)
    assert notes == {"load-1", "killed"}


def _read(file: Path) -> list[str]:
    table: Any = pq  # it has no types
    keys: list[str] = table.read_table(file)["key"].to_pylist()
    return keys


class _Frame(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    file: str | None = None
    line: int | None = None


class _Shared(msgspec.Struct, forbid_unknown_fields=True):
    frames: list[_Frame]


class _Sampled(msgspec.Struct, tag="sampled", forbid_unknown_fields=True):
    name: str
    unit: str
    startValue: float  # noqa: N815 - the format's names
    endValue: float  # noqa: N815
    samples: list[list[int]]
    weights: list[float]


class _Speedscope(msgspec.Struct):
    """The file as speedscope's own specification describes it."""

    shared: _Shared
    profiles: list[_Sampled]


def test_a_speedscope_file_has_a_profile_of_all_tasks_and_of_each_prefix(
    beside: Beside, tmp_path: Path
) -> None:
    (file,) = export(beside.run, "speedscope", tmp_path / "profile.json")

    found = msgspec.json.decode(file.read_bytes(), type=_Speedscope)
    frames = found.shared.frames
    assert [profile.name for profile in found.profiles] == ["all tasks", "load"]
    for profile in found.profiles:
        assert profile.unit == "seconds"
        assert len(profile.samples) == len(profile.weights)
        assert profile.endValue == pytest.approx(sum(profile.weights))
        stacks = [[frames[n].name for n in stack] for stack in profile.samples]
        assert any("load" in stack for stack in stacks)


def test_tables_are_the_recordings_whatever_the_format(
    beside: Beside, tmp_path: Path
) -> None:
    keys = beside.run.tasks["key"].to_list()
    files = {
        form: export(beside.run, form, tmp_path / form)
        for form in ("parquet", "csv", "jsonl")
    }

    assert _read(tmp_path / "parquet" / "tasks.parquet") == keys
    with (tmp_path / "csv" / "tasks.csv").open(newline="") as file:
        assert [row["key"] for row in csv.DictReader(file)] == keys
    lines = (tmp_path / "jsonl" / "tasks.jsonl").read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines] == keys
    assert {len(of_form) for of_form in files.values()} == {7}


def test_an_execution_of_a_large_trace_takes_few_bytes(tmp_path: Path) -> None:
    number = 20_000
    tasks = [
        ("task", (f"load-{n}", "load", "load", "tcp://w1", 1, START + n / 100, START + (n + 1) / 100,
                  0.01, 0.0, 0.0, 0.0, 1, "int", "finished"))
        for n in range(number)
    ]  # fmt: skip

    (file,) = export(a_run(a_worker(at=0), tasks), "perfetto", tmp_path / "trace")

    assert file.stat().st_size / number < 90
    assert len(Trace.FromString(file.read_bytes()).packet) > 2 * number


def test_the_command_writes_where_it_is_reported(
    beside: Beside, tmp_path: Path
) -> None:
    place = tmp_path / "picture.svg"
    words = ["export", str(beside.run.url), "--format", "svg", "--output", str(place)]

    result = CliRunner().invoke(blackbox, words)

    assert (result.exit_code, result.stdout) == (0, f"{place}\n")
    assert place.read_text().startswith("<svg")
    nowhere = CliRunner().invoke(
        blackbox, [*words[:-1], str(tmp_path / "no" / "x.svg")]
    )
    assert nowhere.exit_code == 2
    assert "--output" in nowhere.stderr
