"""Finishes recordings whose recorder was lost with its machine.

Their uploaded part is in the store; the next recording of the same job, on any machine,
diagnoses it from there, so that its card, its report and its place in the job's history exist
without a request.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from dask_blackbox.analyse.run_state import last_sign_of_life, silent_for
from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError, BlobNotFoundError
from dask_blackbox.events import DataNamed, TaskNamed
from dask_blackbox.layout import RunAddress
from dask_blackbox.protocol.messages import Config, End, Reply
from dask_blackbox.reader import Run
from dask_blackbox.recorder.earlier_recordings import SILENT
from dask_blackbox.recorder.finalise import finalise, settings_for
from dask_blackbox.recorder.host_finaliser import finalise_for_host
from dask_blackbox.recorder.named_data import DataOfRun
from dask_blackbox.recorder.notices import send_notices
from dask_blackbox.recorder.opening import opening_of
from dask_blackbox.recorder.openlineage import send_lineage
from dask_blackbox.recorder.otlp import send_trace
from dask_blackbox.recorder.process_limits import (
    EXPECTED,
    MOST_ATTEMPTS,
    limited,
    put_aside,
)
from dask_blackbox.recorder.run_ending import Outcome
from dask_blackbox.store import Store

logger = logging.getLogger("dask_blackbox.recorder")

_ATTEMPTS = "attempts"
_MOST_SEGMENTS = 200  # larger ones are diagnosed when they are opened


def finish_lost_runs(
    config: Config,
    store: Store,
    silent: Iterable[RunAddress],
) -> None:
    """Finish recordings that no other process finishes.

    Args:
        config: Of the recording that this process makes.
    """
    for address in silent:
        try:
            if _few_segments(store, address):
                with limited(config.limits):
                    finish_lost_run(store, address, config)
        except (BlackboxError, OSError) as error:
            logger.warning("%s remains lost: %s", address.folder, error)


def _few_segments(store: Store, address: RunAddress) -> bool:
    names = store.names(f"{address.folder}segments/", limit=_MOST_SEGMENTS)
    return len(list(names)) < _MOST_SEGMENTS


def _begin_attempt(store: Store, address: RunAddress) -> int:
    """Note in the store that a process begins to finish a recording; return how many have."""
    try:
        before = int(store.get(f"{address.folder}{_ATTEMPTS}"))
    except (BlobNotFoundError, ValueError):
        before = 0
    store.put(f"{address.folder}{_ATTEMPTS}", str(before + 1).encode())
    return before + 1


@contextlib.contextmanager
def _counted(store: Store, address: RunAddress, attempts: int) -> Iterator[None]:
    """Count the attempt no more when it ends as it should; one that is killed stays counted."""
    try:
        yield
    except EXPECTED:
        _end_attempt(store, address, attempts)
        raise
    _end_attempt(store, address, 1)


def _end_attempt(store: Store, address: RunAddress, attempts: int) -> None:
    with contextlib.suppress(BlackboxError):
        name = f"{address.folder}{_ATTEMPTS}"
        if attempts > 1:
            store.put(name, str(attempts - 1).encode())
        else:
            store.delete(name)


def finish_lost_run(
    store: Store,
    address: RunAddress,
    config: Config | None = None,
    *,
    silent: float = SILENT,
) -> bool:
    """Finish a recording whose recorder went silent.

    Args:
        config: Of the recording that this process makes; None: it makes none.
        silent: Seconds without a sign of life that count as silent.

    Returns:
        Whether it has an end now; False where it may still go on.

    Raises:
        BlackboxError: if the store cannot be read, or does not take it.
        OSError: if there is no disk for it.
    """
    run = Run.at(store, address)
    if run.ending_is_stored:
        return True
    seen = last_sign_of_life(run)
    if silent_for(run) < silent:
        return False
    if config is None:
        overview = bool(run.manifest.host_kind)
        config = settings_for(run.manifest, overview=overview)
    lost = opening_of(config, store, run.manifest)
    end = End(state="lost")
    if run.ending is not None and run.ending_whole:
        end = End.of(run.ending)
    outcome = Outcome(end=end, ended=seen, sources={})
    attempts = _begin_attempt(store, address)
    if attempts > MOST_ATTEMPTS + 1:  # not even without a diagnosis
        return False
    undiagnosed = put_aside(attempts, config.limits)
    with (
        _counted(store, address, attempts),
        tempfile.TemporaryDirectory(prefix="dbb-") as folder,
    ):
        theirs = msgspec.structs.replace(
            config, manifest=run.manifest, spool=str(Path(folder) / "spool"), socket=""
        )
        messages: list[Reply] = []
        finalise(theirs, lost, outcome, messages.append, undiagnosed)
    if messages:
        card = RunCard.from_json(bytes(messages[-1].card))
        tasks = run.of(TaskNamed)
        finalise_for_host(
            run.manifest, card, tasks, config.host_environment, messages[-1].overview
        )
        send_notices(config, card, messages[-1].news)
        if config.otlp is not None and messages[-1].trace:
            send_trace(config.otlp, card, messages[-1].trace)
        if config.openlineage is not None:
            data = DataOfRun()
            for each in run.of(DataNamed):
                data.add(each)
            send_lineage(config.openlineage, run.manifest, card, data)
    logger.info("finalised %s, whose recorder is gone", address.folder)
    return True
