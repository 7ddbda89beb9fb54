"""Compiled templates, kept beside them as Python keeps its own modules.

To compile the report's templates takes longer than to make a page, at the end of a run for
which somebody waits.  Where Python could write its `__pycache__`, they are kept there,
under the same trust; elsewhere they are compiled each time.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from dask_blackbox.report.page_assets import TEMPLATES

__all__ = ["CompiledTemplates"]


class CompiledTemplates(BytecodeCache):
    """Keeps compiled templates in a folder.

    Args:
        folder: The folder; made if it can be.
    """

    def __init__(self, folder: Path = TEMPLATES / "__pycache__") -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load what belongs to a template, if it is there, whole and of its source."""
        with contextlib.suppress(OSError, EOFError, ValueError, TypeError):
            bucket.bytecode_from_string(self._path(bucket).read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, if that can be."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        unfinished = path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            self._folder.mkdir(exist_ok=True)
            try:
                unfinished.write_bytes(bucket.bytecode_to_string())
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)

    def _path(self, bucket: Bucket) -> Path:
        # Compiled templates call Jinja's runtime, which may change with its version.
        tag = f"jinja-{jinja2.__version__}.{sys.implementation.cache_tag}"
        return self._folder / f"{bucket.key}.{tag}.pyc"
