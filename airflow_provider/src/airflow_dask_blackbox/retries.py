"""Whether a failed try is worth another one, as far as its retry advice is sure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.guard import guard

from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.arguments import OperatorConfigurationError
from airflow_dask_blackbox.identity import identity_of
from airflow_dask_blackbox.stores import TaskStore
from airflow_dask_blackbox.task_log import Log

if TYPE_CHECKING:
    # The real one needs msgspec only, but it is needed in tasks only, too.
    from dask_blackbox import RunCard

_MOST_TRIES: Final = 20

__all__ = [
    "card_of_failed_try",
    "check_advice",
    "earlier_cards",
    "newest_card",
    "why_no_retry",
    "why_not_at_all",
]


def check_advice(advice: Collection[str]) -> tuple[str, ...]:
    """Return advice that a DAG file gives, checked while it is parsed.

    Raises:
        OperatorConfigurationError: if a word is none.
    """
    known = ("transient", "memory", "code", "data", "environment")
    words = (advice,) if isinstance(advice, str) else tuple(sorted(advice))
    wrong = [word for word in words if word not in known]
    if wrong:
        raise OperatorConfigurationError(
            f"{wrong[0]!r} is not a supported retry advice; choose from "
            f"{', '.join(known)}"
        )
    return words


def why_no_retry(card: RunCard | None, hopeless: Collection[str]) -> str | None:
    """Return why a retry would fail again; None where that is not sure."""
    if not hopeless or card is None:
        return None
    from dask_blackbox.card import reason_against_retry

    return reason_against_retry(card, hopeless)


def card_of_failed_try(
    context: Mapping[str, object],
    *,
    store: TaskStore,
    job: str | None = None,
    attempt: int | None = None,
) -> RunCard | None:
    """Return the card of a try of this task instance: from the store, if it is there.

    Args:
        context: Of the task that runs.
        store: As the task was given it.
        job: Job name; runs of one job are compared.
        attempt: Which try; None: this one.
    """
    from dask_blackbox.layout import RunAddress
    from dask_blackbox.reader.stored_cards import stored_card

    who = identity_of(context, job)
    address = RunAddress.of(who.job, who.run_id, attempt or who.attempt)
    return stored_card(store.chosen().open(), address)


def newest_card(
    key: TaskKey, announced: Mapping[str, object], task: object = None
) -> RunCard | None:
    """Return the card of the newest try of any task instance, if its store has one.

    Args:
        key: Which task instance.
        announced: What it said of its recording.
        task: Its operator, for what it did not say.
    """
    from dask_blackbox.layout import RunAddress
    from dask_blackbox.reader.stored_cards import stored_card

    def of(name: str, argument: str = "") -> Any:
        given = getattr(task, argument or name, None)
        is_template = isinstance(given, str) and "{{" in given
        return announced.get(name) or (None if is_template else given)

    settings = {**(of("store_settings") or {}), **(of("settings") or {})}
    store = TaskStore(of("store"), of("conn_id", "store_conn_id"), settings)
    place = store.chosen().open()
    run = key.run_id if key.map_index < 0 else f"{key.run_id}.map{key.map_index}"
    job = of("job") or f"{key.dag_id}.{key.task_id}"
    address = RunAddress.of(job, str(announced.get("run") or run), 1)
    above = address.folder.rsplit("attempt=", 1)[0]
    tries = [
        int(number)
        for name in place.folders(above)
        if (number := name.removeprefix("attempt=")).isdigit()
    ]
    return stored_card(place, address._replace(attempt=max(tries))) if tries else None


def earlier_cards(
    context: Mapping[str, Any], store: TaskStore, job: str | None = None
) -> dict[int, RunCard | None]:
    """Return the cards of the automatic tries before this one, the first first.

    Whoever clears a task begins anew: what was before that does not count.  The recorder of
    a killed try may not have finished yet; it is waited for, up to 20 seconds.

    Args:
        context: Of the task that runs.
        store: As the task was given it.
        job: Job name.
    """
    from airflow_dask_blackbox.earlier_tries import card_before

    numbers = list(range(_first_try(context), context["ti"].try_number))
    cards = {
        number: card_of_failed_try(context, store=store, job=job, attempt=number)
        for number in numbers[-_MOST_TRIES:]
    }
    last = cards[numbers[-1]] if numbers else None
    if numbers and (last is None or last.state == "running"):
        cards[numbers[-1]] = card_before(identity_of(context, job), store.chosen())
    return cards


def _first_try(context: Mapping[str, Any]) -> int:
    """Return the number of the first try since the task began, or was cleared."""
    ti = context["ti"]
    return int(ti.max_tries or 0) - int(ti.task.retries or 0) + 1


def why_not_at_all(
    context: Mapping[str, Any],
    hopeless: Collection[str],
    log: Log,
    *,
    store: TaskStore,
    job: str | None = None,
) -> str | None:
    """Return why this try, an automatic one, would fail as the one before it did.

    That one's process was killed before it could say so itself.  Whoever clears a task
    begins anew and is not asked.
    """
    if not hopeless:
        return None
    why: str | None = None
    with guard("the verdict on the try before"):
        ti = context["ti"]
        if ti.try_number > _first_try(context):
            number = ti.try_number - 1
            card = card_of_failed_try(context, store=store, job=job, attempt=number)
            why = why_no_retry(card, hopeless)
        if why is not None:
            log.info("Try %s failed permanently: %s", ti.try_number - 1, why)
    return why
