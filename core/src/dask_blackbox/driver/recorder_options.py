"""The configuration of a recorder, from the settings of the process that starts it.

The secrets that the process knows (values under secret names) are masked wherever they occur.
They are sent through the recorder's pipe and never written.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dask.config

from dask_blackbox.capture.masked_values import masked_values
from dask_blackbox.capture.redaction import maskable_values, secret_values
from dask_blackbox.errors import ConfigurationError
from dask_blackbox.manifest import ARGUMENTS, LEAVABLE, Manifest
from dask_blackbox.protocol.destinations import openlineage_set, otlp_set
from dask_blackbox.protocol.messages import Config, HostLineage, Limits
from dask_blackbox.protocol.notify_settings import notify_set
from dask_blackbox.recorder.spool_folder import chosen_spool
from dask_blackbox.settings import (
    setting,
    setting_bytes,
    setting_classes,
    setting_patterns,
    setting_seconds,
)

_LONGEST_FOLDER = 80
_PROGRESS = 2.0  # seconds


def config_of(
    manifest: Manifest,
    store_settings: Mapping[str, object],
    *,
    parameters: Mapping[str, object] | None = None,
    required: bool = False,
    secrets: Mapping[str, object] | None = None,
    host_environment: Mapping[str, str] | None = None,
    host_lineage: HostLineage | None = None,
    progress: bool = False,
    overview: bool = False,
) -> Config:
    """Return what to record and where to.

    Args:
        store_settings: Of the store, as `dask_blackbox.store.store_settings` gathers them.
        parameters: Of the run: values under secret names in them are masked.
        secrets: What the host knows of: values under secret names in it are masked, too.
        host_environment: What the host's client needs to know, as environment variables.
        host_lineage: The host's own run at a service of OpenLineage.
        progress: Whether the recorder reports the progress of the run.
        overview: Whether it makes what the host's page shows beside the card.
        required: Whether a setting that cannot work is an error.

    Raises:
        ConfigurationError: if a setting cannot work.
    """
    recording, left_out = manifest.recording, classes_left_out()
    notify, otlp, openlineage = notify_set(), otlp_set(), openlineage_set()
    spool = chosen_spool() / recording
    # Short, because the path of a socket may have 107 characters at most.
    folder = tempfile.gettempdir()
    folder = folder if len(os.fsencode(folder)) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108
    return Config(
        manifest=manifest,
        store_settings=dict(store_settings),
        spool=str(spool),
        spool_limit=setting_bytes("spool-limit"),
        socket=str(Path(folder) / f"dbb-{recording[:16]}.sock"),
        parent=os.getpid(),
        interval=setting_seconds("capture.interval"),
        profile_interval=setting_seconds("capture.profile-interval"),
        redact=setting_patterns("redact"),
        leave_out=left_out,
        secrets=known_secrets(
            store_settings,
            parameters,
            manifest.host,
            secrets,
            host_environment,
            {f"secret {n}": url for n, url in enumerate(notify.urls)},
            {"secret collector": None if otlp is None else otlp.endpoint},
            {"secret lineage": None if openlineage is None else openlineage.url},
            None if host_lineage is None else host_lineage.settings,
        ),
        host_environment=dict(host_environment or {}),
        progress_interval=_PROGRESS if progress else 0.0,
        link_expires=setting_seconds("store.link-expires"),
        viewer=setting("viewer"),
        overview=overview,
        limits=limits_set(),
        ask_managers=bool(setting("recorder.ask-manager")),
        notify=notify,
        otlp=otlp,
        openlineage=openlineage,
        host_lineage=host_lineage,
        performance_report=setting_seconds("performance-report"),
        **_rules_asked(required=required),
        bundles=0
        if ARGUMENTS in left_out or not setting("capture.values")
        else int(setting("capture.values-count")),
        bundle_limit=setting_bytes("capture.values-limit"),
    )


logger = logging.getLogger("dask_blackbox")


def classes_left_out() -> tuple[str, ...]:
    """Return the classes of data that are not recorded, as the setting has it.

    Raises:
        ConfigurationError: if there is no such class.
    """
    return setting_classes("capture.leave-out", LEAVABLE)


def limits_set() -> Limits:
    """Return what a process that finalises may use, as the settings have it.

    Raises:
        ConfigurationError: if one of them cannot be read.
    """
    return Limits(
        cpu=setting_seconds("recorder.finalise-cpu"),
        memory=setting_bytes("recorder.finalise-memory"),
        time=setting_seconds("recorder.finalise-time"),
    )


def _rules_asked(*, required: bool) -> dict[str, Any]:
    """Return the fields of the recorder's configuration that are about rules.

    A mistake in them is reported at once, in the driver's log and on the card; the run is
    recorded all the same, with the rules as they are.

    Args:
        required: A mistake is an error.

    Raises:
        ConfigurationError: if there is a mistake and the recording is required.
    """
    if not setting("rules.mute") and not setting("rules.thresholds"):
        return {}  # the rules are heavy to import: only for who has something to say
    from dask_blackbox.analyse.rule_settings import asking

    try:
        asked = asking()
    except ConfigurationError as error:
        if required:
            raise
        logger.error("the settings of the rules are ignored: %s", error)  # noqa: TRY400
        return {"rules_problem": str(error)}
    return {"muted": asked.muted, "thresholds": dict(asked.thresholds)}


def known_secrets(*mappings: Mapping[str, object] | None) -> tuple[str, ...]:
    """Return the values to mask, those that were added in this process included.

    Args:
        mappings: Where to look beside the environment and Dask's configuration:
            parameters of the run, settings of the store.
    """
    found: list[str] = [*masked_values()]
    for mapping in (dict(os.environ), dask.config.config, *mappings):
        found.extend(secret_values(dict(mapping or {})))
    return maskable_values(found)
