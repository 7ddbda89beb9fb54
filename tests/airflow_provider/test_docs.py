"""What the guide to Airflow shows is imported as a DAG file, and its first DAG is run."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from airflow import sdk
from airflow_dask_blackbox import get_provider_info

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "airflow.md"
PAGES = (GUIDE, ROOT / "airflow_provider" / "README.md")


def blocks(page: Path) -> list[str]:
    return re.findall(
        r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE
    )


WHOLE, *_PARTS = blocks(GUIDE)
# Retry policies are of Airflow 3.3.
POLICIES = hasattr(sdk, "RetryPolicy")
PARTS = [text for text in _PARTS if POLICIES or "retry_policy" not in text]

NAMED_ELSEWHERE = """
def choose_cluster():
    return {"class": "distributed.LocalCluster"}

load_orders = price_orders = revenue
"""


def load(airflow: Any, tmp_path: Path, text: str, dag_id: str) -> Any:
    file = tmp_path / f"{dag_id}.py"
    file.write_text(text)
    return airflow.load_file(file, dag_id)


def test_the_first_dag_of_the_guide_runs_as_it_is(airflow: Any, tmp_path: Path) -> None:
    import pandas as pd

    orders = tmp_path / "orders"
    orders.mkdir()
    pd.DataFrame({"revenue": [1.5, 2.5]}).to_parquet(orders / "part.0.parquet")
    text = WHOLE.replace("s3://lake/orders", str(orders)).replace(
        "s3://dask-runs/nightly", str(tmp_path / "store")
    )

    ran = airflow.run_dag(load(airflow, tmp_path, text, "nightly"))

    assert ran.value == 4.0
    assert list((tmp_path / "store").glob("runs/*/*/*/card.json"))


def test_the_first_run_of_the_guide_fails_as_described(
    airflow: Any, tmp_path: Path
) -> None:
    (text,) = [part for part in PARTS if 'DAG("first_run"' in part]
    (headline,) = re.findall(r"its log ends with `(.*?)`", GUIDE.read_text())

    ran = airflow.run_dag(load(airflow, tmp_path, text, "first_run"))

    assert ran.state == "failed"
    assert headline in ran.messages
    assert ran.xcoms["dask_recording"]["headline"] == headline


def test_the_json_of_a_connection_in_the_guide_starts_its_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from airflow_dask_blackbox.hooks.dask import DaskHook

    (extra,) = re.findall(
        r"^```json\n(.*?)^```", GUIDE.read_text(), re.MULTILINE | re.DOTALL
    )
    connection = {"conn_type": "dask", "extra": json.loads(extra)}
    monkeypatch.setenv("AIRFLOW_CONN_FARM", json.dumps(connection))

    with DaskHook("farm").get_cluster() as cluster:
        assert len(cluster.workers) == 4


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_every_part_of_a_dag_in_the_guide_can_be_imported(
    airflow: Any, tmp_path: Path, number: int
) -> None:
    before = WHOLE.partition("with DAG(")[0] + NAMED_ELSEWHERE
    part = textwrap.indent(PARTS[number], "    ")
    text = f"{before}\nwith DAG('part'):\n{part}"
    text += "\n    pass\n"

    load(airflow, tmp_path, text, "part")


def test_the_dag_of_the_readme_can_be_imported(airflow: Any, tmp_path: Path) -> None:
    (text,) = blocks(PAGES[1])

    (task,) = load(airflow, tmp_path, text, "nightly").tasks

    assert task.task_id == "etl"


def test_the_guide_names_every_setting_and_nothing_else() -> None:
    options = set(get_provider_info()["config"]["dask_blackbox"]["options"])
    text = GUIDE.read_text()
    named = set(re.findall(r"AIRFLOW__DASK_BLACKBOX__(\w+)", text))

    words = {*re.findall(r"[a-z_]+", text), *(name.lower() for name in named)}
    assert options <= words
    assert {name.lower() for name in named} <= options


def test_every_example_is_in_the_guide() -> None:
    listed = re.findall(
        r"^\| `(\w+)` \|", GUIDE.read_text().partition("## Examples")[2], re.MULTILINE
    )

    assert sorted(listed) == sorted(file.stem for file in (ROOT / "dags").glob("*.py"))
