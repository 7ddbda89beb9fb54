"""What Airflow masks in its log is in no byte of a recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.scenario_runs import every_byte

# Words that no rule about names and shapes takes for secrets.
SECRETS = {
    "password of a connection": "plum walrus tango",
    "rendered password": "ochre lantern fig",
    "in the extra field": "quince harbour moth",
    "variable": "velvet onion ladder",
    "variable as JSON": "amber kettle drum",
}
ORDINARY = "marble sparrow tin"


@pytest.fixture(scope="module")
def stored(airflow_of_module: Any, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Every byte of the recording of a task that prints all that it gets from Airflow."""
    store = tmp_path_factory.mktemp("masking")
    with _connections_and_variables():
        airflow_of_module.run(
            f"""
import logging

def use(values):
    print("worker has", values)
    raise ValueError(f"cannot use {{values}}")

def work(client, given):
    from airflow.sdk import BaseHook, Variable

    warehouse = BaseHook.get_connection("warehouse")
    values = [
        given, warehouse.password, warehouse.extra_dejson["api_key"],
        Variable.get("vendor_password"),
        Variable.get("vendor_secret", deserialize_json=True)["token"],
        Variable.get("region"),
    ]
    logging.getLogger("job").warning("driver has %s", values)
    client.submit(use, values).result()

with DAG("masking"):
    DaskObservedOperator(
        task_id="work",
        python_callable=work,
        op_kwargs={{"given": "{{{{ conn.lake.password }}}}"}},
        cluster_kwargs=TINY,
        store={str(store)!r},
    )
""",
            "masking",
        )
    return every_byte(store)


@contextmanager
def _connections_and_variables() -> Iterator[None]:
    from airflow.models import connection, variable
    from airflow.utils.session import create_session

    Connection: Any = connection.Connection  # noqa: N806 - classes, untyped
    Variable: Any = variable.Variable  # noqa: N806

    extra = json.dumps({"api_key": SECRETS["in the extra field"]})
    password = SECRETS["password of a connection"]
    rows = [
        Connection("warehouse", "postgres", password=password, extra=extra),
        Connection("lake", "generic", password=SECRETS["rendered password"]),
        Variable("vendor_password", SECRETS["variable"]),
        Variable("vendor_secret", json.dumps({"token": SECRETS["variable as JSON"]})),
        Variable("region", ORDINARY),
    ]
    with create_session() as session:
        session.add_all(rows)
    yield
    with create_session() as session:
        for kind in (Connection, Variable):
            for row in session.query(kind):
                session.delete(row)


@pytest.mark.parametrize("which", SECRETS)
def test_a_secret_of_airflows_is_nowhere_in_the_store(
    stored: bytes, which: str
) -> None:
    assert SECRETS[which].encode() not in stored


@pytest.mark.parametrize("said", [b"driver has", b"worker has", b"cannot use"])
def test_what_surrounds_it_is_there(stored: bytes, said: bytes) -> None:
    assert said in stored


def test_a_variable_that_airflow_shows_is_there(stored: bytes) -> None:
    assert ORDINARY.encode() in stored
