"""What tests of several rooms of the core stand on."""

from __future__ import annotations

from pathlib import Path

import pytest
from shelving import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Return an empty store in a folder."""
    return Shelf(tmp_path / "store")
