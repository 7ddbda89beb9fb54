"""Finishes recordings whose recorder was lost with its machine.

Their uploaded part is in the store; the next recording of the same job, on any machine,
diagnoses it from there, so that its card, its report and its place in the job's history exist
without a request.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from dask_blackbox.analyse.rule_settings import asking_or_default
from dask_blackbox.analyse.run_state import last_sign_of_life, silent_for
from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlackboxError
from dask_blackbox.events import TaskNamed
from dask_blackbox.layout import RunAddress
from dask_blackbox.manifest import Manifest
from dask_blackbox.protocol.messages import Config, End, Reply
from dask_blackbox.reader import Run
from dask_blackbox.recorder.earlier_recordings import SILENT
from dask_blackbox.recorder.finalise import finalise
from dask_blackbox.recorder.host_finaliser import finalise_for_host
from dask_blackbox.recorder.opening import Opening, links_of
from dask_blackbox.recorder.run_ending import Outcome
from dask_blackbox.settings import setting, setting_seconds
from dask_blackbox.store import Store

logger = logging.getLogger("dask_blackbox.recorder")

_MOST_SEGMENTS = 200  # larger ones are diagnosed when they are opened


def finish_lost_runs(
    config: Config,
    store: Store,
    silent: Iterable[RunAddress],
    stop: Callable[[], bool],
) -> None:
    """Finish recordings that no other process finishes.

    Args:
        config: Of the recording that this process makes.
    """
    for address in silent:
        if stop():
            return
        try:
            if _few_segments(store, address):
                finish_lost_run(store, address, config)
        except (BlackboxError, OSError, msgspec.MsgspecError) as error:
            logger.warning("%s remains lost: %s", address.folder, error)


def _few_segments(store: Store, address: RunAddress) -> bool:
    names = store.names(f"{address.folder}segments/", limit=_MOST_SEGMENTS)
    return len(list(names)) < _MOST_SEGMENTS


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
    if run.ending is not None and "complete.json" not in run.damaged:
        return True
    seen = last_sign_of_life(run)
    if silent_for(run) < silent:
        return False
    if config is None:
        config = _reading_config(run.manifest)
    links = links_of(store, address, config.link_expires, config.viewer)
    lost = Opening(run.manifest, store, None, links)
    end = End(state="lost")
    if run.ending is not None and run.ending_whole:
        end = End.of(run.ending)
    outcome = Outcome(end=end, ended=seen, sources={})
    with tempfile.TemporaryDirectory(prefix="dbb-") as folder:
        theirs = msgspec.structs.replace(
            config, manifest=run.manifest, spool=str(Path(folder) / "spool"), socket=""
        )
        messages: list[Reply] = []
        finalise(theirs, lost, outcome, messages.append)
    if messages:
        card = RunCard.from_json(bytes(messages[-1].card))
        tasks = run.of(TaskNamed)
        overview = messages[-1].overview
        environment = config.host_environment
        finalise_for_host(run.manifest, card, tasks, environment, overview)
    logger.info("finalised %s, whose recorder is gone", address.folder)
    return True


def _reading_config(manifest: Manifest) -> Config:
    asked = asking_or_default()
    return Config(
        manifest=manifest,
        store=None,
        spool="",
        socket="",
        parent=0,
        link_expires=setting_seconds("store.link-expires"),
        viewer=setting("viewer"),
        muted=asked.muted,
        thresholds=dict(asked.thresholds),
        overview=bool(manifest.host_kind),
    )
