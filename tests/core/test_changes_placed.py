"""What changed is reported by name and place: functions, options, images, settings, Pythons."""

from __future__ import annotations

from typing import Any

import pytest
from dask_blackbox.analyse.changes import Difference, differences
from dask_blackbox.analyse.changes.ranking import Rarities, VerdictContext, ranked
from dask_blackbox.analyse.sketching.environment_sketch import options_of
from dask_blackbox.capture.driver.driver_environment import parts_of
from dask_blackbox.capture.process import image_variables
from dask_blackbox.cli.compare import comparison_text
from dask_blackbox.reader.comparison import comparison_of
from dask_blackbox.recorder.redact import Redactor
from sketches import a_night, a_prefix

SHOP = """
from json import loads
LIMIT = 3

class Tax:
    "A tax."
    def added(self, rows):
        return [row * 2 for row in rows]

def tidy(rows, least=0):
    return [row for row in rows if row > least]
"""


def parts(source: str) -> dict[str, tuple[int, str]]:
    return parts_of(compile(source, "shop.py", "exec"))


@pytest.mark.parametrize(
    ("old", "new", "name", "line"),
    [
        ("row * 2", "row * 3", "Tax.added", 7),
        ("least=0", "least=1", "tidy", 10),
        ("row > least", "row < least", "tidy", 10),
        ("LIMIT = 3", "LIMIT = 4", "LIMIT", 3),
    ],
)
def test_another_part_of_the_module_has_changed(
    old: str, new: str, name: str, line: int
) -> None:
    before, after = parts(SHOP), parts(SHOP.replace(old, new))

    assert [each for each in after if after[each][1] != before[each][1]] == [name]
    assert after[name][0] == line


def test_comments_docstrings_and_lines_change_no_part() -> None:
    moved = SHOP.replace('"A tax."', '"A tax of a country."').replace(
        "\n\n", "\n# x\n\n"
    )
    before, after = parts(SHOP), parts(moved)

    assert {n: h for n, (_, h) in after.items()} == {
        n: h for n, (_, h) in before.items()
    }


def _reported(**after: Any) -> list[Difference]:
    own = {"module shop": "2py311.aa", "git commit": "c0ffee00"}
    known = {
        "parts": {"shop:Tax.added": "shop.py:6 11", "shop:work": "shop.py:20 22"},
        "prefixes": (a_prefix("tax", functions=("shop:Tax.added",)),),
        "facts": {"code": own},
    }
    reported = known | after
    return differences(a_night(1, **known), a_night(2, **reported))


def test_a_prefix_reports_which_of_its_functions_is_another() -> None:
    tax = a_prefix("tax", functions=("shop:Tax.added",), code="other")
    other = {"shop:Tax.added": "shop.py:7 99", "shop:work": "shop.py:21 22"}
    [change] = _reported(prefixes=(tax,), parts=other)

    assert (change.what, change.where) == ("prefix tax", "Tax.added at shop.py:7")


def test_a_value_that_a_prefix_was_given_is_reported_by_who_gave_it() -> None:
    tax = a_prefix("tax", functions=("shop:Tax.added",), code="other")
    other = {"shop:Tax.added": "shop.py:6 11", "shop:work": "shop.py:20 99"}
    [change] = _reported(prefixes=(tax,), parts=other)

    assert change.where == "given by work at shop.py:20"


def test_a_module_reports_what_in_it_is_another() -> None:
    facts = {"code": {"module shop": "2py311.bb", "git commit": "c0ffee00"}}
    other = {"shop:Tax.added": "shop.py:6 11", "shop:new": "shop.py:40 99"}
    [change] = _reported(facts=facts, parts=other)

    assert (change.what, change.where) == ("module shop", "new at shop.py:40")


def test_each_option_of_a_command_has_a_name_of_its_own() -> None:
    words = "tcp://a:1 --day=2026-11-01 --first 900 --dry -n -3 --tag a --tag b out"

    assert options_of(words.split()) == {
        "argument 1": "tcp://a:1",
        "--day": "2026-11-01",
        "--first": "900",
        "--dry": "given",
        "-n": "-3",
        "--tag": "a, b",
        "argument 2": "out",
    }


def test_the_options_of_a_command_without_a_client_are_compared() -> None:
    given = {"--first": "9", "limit": "100"}
    before = a_night(1, facts={"parameters": given})
    after = a_night(2, unknown=("parameters/others",))
    after.facts["parameters"] = {"--first": "many"}
    [change] = [e for e in differences(before, after) if e.kind == "parameters"]

    assert change[1:4] == ("--first", "9", "many")


def test_a_parameter_with_a_name_comes_before_one_with_a_place() -> None:
    given = {"argument 1": "10", "least": "10.0"}
    before = a_night(1, facts={"parameters": given})
    after = a_night(2, facts={"parameters": {"argument 1": "99", "least": "99.0"}})
    changes, _ = ranked(differences(before, after), Rarities([]), VerdictContext())

    assert [each.change.what for each in changes] == ["least", "argument 1"]


def test_a_secret_that_an_option_names_is_blanked_out() -> None:
    reported = Redactor().value(
        {"argv": ["job.py", "--password", "hunter2", "--first", "3"]}
    )

    assert reported == {"argv": ["job.py", "--password", "[redacted]", "--first", "3"]}


def test_only_variables_that_report_an_image_are_looked_at() -> None:
    reported = image_variables(
        {
            "JOB_IMAGE": "shop:2",
            "SHOP_IMAGE_TAG": "7",
            "GIT_SHA": "c0ffee",
            "IMAGEMAGICK_HOME": "/usr",
            "HOME": "/root",
            "DB_PASSWORD": "x",
        }
    )

    assert reported == {
        "GIT_SHA": "c0ffee",
        "JOB_IMAGE": "shop:2",
        "SHOP_IMAGE_TAG": "7",
    }


def test_settings_of_workers_alone_are_reported_as_theirs() -> None:
    before = a_night(1)
    own = {"distributed.worker.memory.target": "0.3"}
    after = a_night(2, facts={"dask-config/workers": own})
    [change] = differences(before, after)

    assert change[:4] == (
        "dask-config",
        "distributed.worker.memory.target (workers)",
        "0.6",
        "0.3",
    )


@pytest.mark.parametrize("whose", ["", "/scheduler"])
def test_what_an_open_client_sets_is_no_change_of_the_configuration(whose: str) -> None:
    before = a_night(1)
    kind = f"dask-config{whose}"
    config = before.facts["dask-config"] | {"scheduler": "dask.distributed"}
    after = a_night(2, facts={kind: config})

    assert differences(before, after) == []
    config = before.facts["dask-config"] | {"scheduler": "threads"}
    assert len(differences(before, a_night(2, facts={kind: config}))) == 1


def test_what_nobody_reported_of_a_machine_has_not_changed() -> None:
    before = a_night(1, facts={"host": {"driver's cores": "8"}})

    assert differences(before, a_night(2)) == []


@pytest.mark.parametrize(("width", "memory"), [(80, False), (120, True)])
def test_a_comparison_leaves_columns_out_before_it_cuts_names(
    width: int, *, memory: bool
) -> None:
    name = "merge-of-orders"
    two = (a_night(n, prefixes=(a_prefix(name, compute=n),)) for n in (1, 2))
    lines = comparison_text(comparison_of(*two), width=width).splitlines()
    [row] = [line for line in lines if line.startswith(name)]

    assert "100" in row
    assert max(map(len, lines)) <= width
    assert any("memory" in line and "median" in line for line in lines) is memory
