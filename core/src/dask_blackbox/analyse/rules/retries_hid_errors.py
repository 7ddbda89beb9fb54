"""Did retries hide errors that somebody should see?"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.failures import mended_later
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import class_of, counted, listed, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["RETRIES_HID_ERRORS"]


def _ask(case: Case) -> Iterator[Finding]:
    failed = [failure.key for failure in case.failures]
    known = {(failure.prefix, failure.exception) for failure in case.failures}
    retried = case.run.errors.filter(pl.col("outcome") == "retried")
    hidden = pl.concat([retried, mended_later(case.run)]).filter(
        ~pl.col("key").is_in(failed)
        # Dask repeats tasks of its own accord, too: nothing had been raised.
        & ((pl.col("message") != "") | (pl.col("traceback") != ""))
        # A shuffle that lost a worker begins again: `shuffle-restarted` tells of it.
        & ~pl.col("exception").fill_null("").str.starts_with("distributed.shuffle.")
        & ~pl.col("message").fill_null("").str.contains(r"^P2P \w+ failed during ")
    )
    for (prefix,), rows in hidden.group_by("prefix", maintain_order=True):
        if {(prefix, name) for name in rows["exception"]} <= known:
            continue  # nothing was hidden: others of its kind failed with the same
        keys = rows["key"].n_unique()
        classes = rows.group_by("exception").len().sort("len", descending=True)
        names = [f"{class_of(name)} ({n})" for name, n in classes.iter_rows()]
        example = rows.row(0, named=True)
        attempts = int(rows.group_by("key").len()["len"].max() or 0) + 1  # type: ignore[arg-type]
        yield RETRIES_HID_ERRORS.found(
            f"Retries hid {counted(len(rows), 'error')} in {counted(keys, 'task')} "
            f"of '{short(str(prefix), 40)}'",
            cause=(
                f"{counted(keys, 'task')} of '{short(str(prefix), 40)}' raised "
                f"{listed(names)} and went well on a later attempt, the "
                f"{attempts}{'nd' if attempts == 2 else 'rd' if attempts == 3 else 'th'} "  # noqa: PLR2004
                f"at the latest. For example: {short(example['message'] or '', 200)}"
            ),
            remedy=(
                f"If that is a service that fails now and then, keep the retries and watch "
                f"the number. If it is a bug that depends on chance, it is still there; at "
                f"least {attempts - 1} retries are needed to hide it."
            ),
            confidence="high",
            subject=Subject(
                key=example["key"], prefix=str(prefix), worker=example["worker"]
            ),
            evidence=tuple(
                Evidence(
                    text=f"{row['key']} on {row['worker']}: {class_of(row['exception'] or '')}: "
                    f"{short(row['message'] or '', 200)}",
                    source="errors",
                    at=row["at"].timestamp(),
                )
                for row in rows.head(3).iter_rows(named=True)
            ),
        )


RETRIES_HID_ERRORS = Rule(
    slug="retries-hid-errors",
    title="Retries hid errors",
    question="Did tasks raise and go well only on a later attempt?",
    severity="warning",
    retry_advice="transient",
    ask=_ask,
    page=Page(
        detects=(
            "Tasks with `retries=` raised and succeeded later. Dask throws the exceptions of "
            "such attempts away."
        ),
        evidence=(
            "Every failed attempt, recorded on the worker, and tasks that raised in the end and "
            "went well when the driver asked again (`client.retry`). Silent on tasks that failed in the "
            "end, and on tasks that were repeated because a worker died or left a shuffle."
        ),
        remedy="Watch the number; mend what is not the service's fault.",
        before="client.submit(fetch, url, retries=10)   # and nobody counts",
        after="client.submit(fetch, url, retries=3)",
    ),
)
