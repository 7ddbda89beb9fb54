"""Did two different tasks have the same key?"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, quoted, short
from dask_blackbox.finding import Evidence, Finding, Subject

__all__ = ["KEY_COLLISION"]

_SAID = re.compile(r"Detected different `run_spec` for key (?P<key>.+?) between two")


def _ask(case: Case) -> Iterator[Finding]:
    lines = case.run.logs.filter(
        (pl.col("role") == "scheduler") & pl.col("message").str.contains(_SAID.pattern)
    ).sort("at")
    told = [
        (row, found["key"].strip("'\""))
        for row in lines.iter_rows(named=True)
        if (found := _SAID.search(row["message"]))
    ]
    if not told:
        return
    keys = list(dict.fromkeys(key for _, key in told))
    wrong = (
        "The run succeeded, and its result is the older task's wherever the newer one was "
        "meant"
        if case.state == "succeeded"
        else "What depends on it may have got the older task's result"
    )
    yield KEY_COLLISION.found(
        f"Different tasks had the same key: {quoted(keys)}",
        cause=(
            f"The scheduler was sent {counted(len(keys), 'key')} again with another "
            f"definition while the first was still there: {quoted(keys)}. It keeps the first "
            f"and ignores the second. {wrong}."
        ),
        remedy=(
            "Give different tasks different keys: don't set `key=`, `dask_key_name=` or "
            "`name=` to a constant, and let names hold a token of their inputs "
            "(`dask.base.tokenize`). Or release the first result before the second is "
            "submitted. Then compute this run's result again."
        ),
        confidence="high",
        subject=Subject(key=keys[0], prefix=case.prefix_of(keys[0])),
        evidence=tuple(
            Evidence(
                text=f"scheduler: {short(row['message'], 400)}",
                source="logs",
                at=row["at"].timestamp(),
                see=case.see("logs", "--filter", "Detected different"),
            )
            for row, _ in told[:3]
        ),
    )


KEY_COLLISION = Rule(
    slug="key-collision",
    title="Different tasks had the same key",
    question="Was a key sent again with another definition, so that a result may be wrong?",
    severity="warning",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A graph held a key that the scheduler already knew with other contents. Dask "
            "keeps the old task and returns its result: silently wrong data."
        ),
        evidence=(
            "The scheduler's own warning (“Detected different `run_spec` for key …”). Dask "
            "compares the tasks' dependencies only: of tasks that differ in nothing but "
            "their code or their literals, nobody hears."
        ),
        remedy="Unique keys; release before you submit again.",
        before='client.submit(load, "monday", key="load")\nclient.submit(load, "tuesday", key="load")   # is Monday',
        after='client.submit(load, "tuesday")',
    ),
)
