"""The secrets that a driver knows of: values under secret names.

As CI systems do, these are blanked out wherever they occur, whatever is printed around
them.  They go to the recorder over its own pipe and are never written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import dask.config

from dask_blackbox.capture.masked_values import masked_values
from dask_blackbox.capture.redaction import maskable_values, secret_values


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
