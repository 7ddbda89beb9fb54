"""What a recorder is told at its start, from the settings of whoever starts it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dask_blackbox.flight.asked import rules_asked
from dask_blackbox.manifest import Manifest
from dask_blackbox.record.orders import Config
from dask_blackbox.record.spool import default_spool
from dask_blackbox.settings import (
    setting,
    setting_bytes,
    setting_patterns,
    setting_seconds,
)

__all__ = ["config_of"]

_LONGEST_FOLDER = 80


def config_of(
    manifest: Manifest, store_settings: Mapping[str, Any], *, required: bool = False
) -> Config:
    """Return what to record and where to.

    Args:
        manifest: Who this is.
        store_settings: Of the store, as `dask_blackbox.store.store_settings` gathers them.
        required: Whether a setting that cannot work is an error.

    Raises:
        ConfigurationError: if a setting cannot work.
    """
    recording = manifest.recording
    spool = Path(setting("spool") or default_spool()) / recording
    # Short, because the path of a socket may have 107 characters at most.
    folder = tempfile.gettempdir()
    folder = folder if len(os.fsencode(folder)) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108
    return Config(
        manifest=manifest,
        store=None,
        store_settings=dict(store_settings),
        spool=str(spool),
        socket=str(Path(folder) / f"dbb-{recording[:16]}.sock"),
        owner=os.getpid(),
        interval=setting_seconds("capture.interval"),
        profile_interval=setting_seconds("capture.profile-interval"),
        redact=setting_patterns("redact"),
        link_expires=setting_seconds("store.link-expires"),
        **rules_asked(required=required),
        capsules=int(
            setting("capture.values-count") if setting("capture.values") else 0
        ),
        capsule_limit=setting_bytes("capture.values-limit"),
    )
