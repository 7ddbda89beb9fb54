"""Secret values of Prefect's blocks are in no byte of a recording."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from dask_blackbox import mask_secret
from flow_clusters import shared_cluster
from prefect import flow, get_run_logger, task
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect.types import SecretDict
from prefect_dask_blackbox import BlackboxTaskRunner
from prefect_dask_blackbox.masked_blocks import secret_texts
from pydantic import SecretStr

from tests.support.scenario_runs import every_byte

# Workers can't import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

# Words that no rule about names and shapes takes for secrets.
SECRETS = {
    "in the flow": "plum walrus tango",
    "field": "ochre lantern fig",
    "in a dictionary": "quince harbour moth",
    "in a URL": "velvet onion ladder",
    "in a task": "amber kettle drum",
    "a task's parameter": "copper meadow flute",
}


class Warehouse(Block):
    """A block with secrets of several kinds."""

    host: str
    login: SecretStr
    more: SecretDict
    url: str


@task
def use(values: list[str], api_token: str) -> None:
    """Print values, one of them loaded here, and raise them."""
    block: Any = Secret.load("in-a-task")
    here = block.get()
    print("worker has", values, here, api_token)
    raise ValueError(f"cannot use {values} with {api_token} and {here}")


def recorded(function: Any, **options: Any) -> Any:
    """Return a flow that its task runner records, on the shared cluster."""
    runner = BlackboxTaskRunner(address=shared_cluster(), **options)
    return function.with_options(task_runner=runner)


@flow(name="masked")
def work() -> None:
    """Load blocks, log what is in them and hand it on."""
    warehouse: Any = Warehouse.load("masked")
    secret: Any = Secret.load("in-the-flow")
    values = [
        secret.get(),
        warehouse.login.get_secret_value(),
        warehouse.more.get_secret_value()["shard"],
        warehouse.url.partition(":")[2].split(":")[1].split("@")[0].replace("%20", " "),
        warehouse.host,
    ]
    future = use.submit(values, SECRETS["a task's parameter"])
    get_run_logger().warning("driver has %s", values)
    future.result()


@pytest.fixture
def stored(store: Path) -> bytes:
    """Every byte of the recording of a flow that prints all that its blocks hold."""
    Secret(value=SecretStr(SECRETS["in the flow"])).save("in-the-flow", overwrite=True)
    Secret(value=SecretStr(SECRETS["in a task"])).save("in-a-task", overwrite=True)
    Warehouse(
        host="marble sparrow tin",
        login=SecretStr(SECRETS["field"]),
        more=SecretDict({"shard": SECRETS["in a dictionary"]}),
        url=f"postgres://me:{SECRETS['in a URL'].replace(' ', '%20')}@db",
    ).save("masked", overwrite=True)
    with pytest.raises(ValueError, match=SECRETS["in a task"]):
        recorded(work)()
    return every_byte(store)


# The flow is pickled into its tasks, and its block with it: it is the same class.
@pytest.mark.filterwarnings("ignore:Type 'Warehouse' at:UserWarning")
def test_a_secret_of_a_block_is_nowhere_in_the_store_nor_on_the_card(
    stored: bytes, prefect: Any, store: Path
) -> None:
    found = [which for which, secret in SECRETS.items() if secret.encode() in stored]
    [page] = prefect.newest("masked", store).artifacts.values()
    # What only the worker knows is in the message of the state that Prefect keeps.
    known = SECRETS.keys() - {"in a task"}
    shown = [which for which in known if SECRETS[which] in page]

    assert (found, shown) == ([], [])
    assert "cannot use" in page
    for said in (b"driver has", b"worker has", b"cannot use", b"marble sparrow tin"):
        assert said in stored


EARLY, LATE, UNDERSCORES = "VAULTVALUE 4711", "LATEVALUE 0815", "deep_v4ult_va1ue_x"


@task
def join(first: str, second: str, third: str, customer: int) -> str:
    """Take secrets under names that no rule takes for those of secrets."""
    return f"{customer}"


def _joins(*, fails: bool) -> None:
    mask_secret(EARLY)
    future = join.submit(EARLY, LATE, UNDERSCORES, 7)
    future.result()
    mask_secret([LATE, UNDERSCORES])  # it was submitted with them
    if fails:
        broken.submit(LATE, UNDERSCORES, 21).result()


@task
def broken(first: str, third: str, customer: int) -> None:
    """Fail with its arguments."""
    raise ValueError(f"no {first} and {third} for {customer}")


joins: Any = flow(name="joins")(_joins)
hides: Any = flow(name="hides")(_joins)


@pytest.mark.parametrize(
    "fails", [True, pytest.param(False, marks=pytest.mark.nightly)]
)
def test_an_argument_that_becomes_a_secret_later_is_not_on_the_card(
    prefect: Any, store: Path, *, fails: bool
) -> None:
    with pytest.raises(ValueError, match="no LATE") if fails else nullcontext():
        recorded(joins)(fails=fails)

    seen = prefect.newest("joins", store)
    [page] = seen.artifacts.values()
    secret = (EARLY, LATE, UNDERSCORES, UNDERSCORES.replace("_", r"\_"))
    shown = f"{page} {prefect.descriptions(seen.id)} {seen.card}"
    assert [each for each in secret if each in shown] == []
    assert "customer=7" in page
    assert ("customer=21" in page) is fails


@pytest.mark.nightly
def test_arguments_are_not_on_the_card_if_that_is_switched_off(
    prefect: Any, store: Path
) -> None:
    with pytest.raises(ValueError, match="no LATE"):
        recorded(hides, task_parameters=False)(fails=True)

    [page] = prefect.newest("hides", store).artifacts.values()
    assert "broken" in page
    assert "customer=" not in page


def test_what_is_secret_by_type_by_name_or_in_a_url_is_found() -> None:
    block = Warehouse(
        host="db",
        login=SecretStr("by type"),
        more=SecretDict({"a": ["deep", {"b": 17}]}),
        url="redis://:inside@cache",
    )

    assert sorted(set(secret_texts([block, {"api_token": "by name"}]))) == [
        "17",
        "by name",
        "by type",
        "deep",
        "inside",
    ]
