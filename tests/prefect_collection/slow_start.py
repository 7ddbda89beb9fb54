"""A preload of workers that start slowly, as on a busy machine, but for the first one."""

from __future__ import annotations

import os
import time
from pathlib import Path

if Path(os.environ["FLAG"]).exists():
    time.sleep(20)
