"""Workers with a GPU: Dask's own NVML diagnostics and NVIDIA's bindings on a stand-in for NVML.

Without a compiler of C, nothing here is tested, and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conditions import scaled
from dask_blackbox.analyse.facts.devices import devices_of
from dask_blackbox.reader import Run
from environments_with_core import python_with_core

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not shutil.which("cc"), reason="NOT TESTED: NVML (no cc)"),
]
SUPPORT = Path(__file__).parents[1] / "support"
PACKAGES = ("nvidia-ml-py==13.615.71",)
GIB = 2**30


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with this package and NVIDIA's bindings."""
    return python_with_core(tmp_path_factory.mktemp("environment"), *PACKAGES)


def a_library(folder: Path) -> dict[str, str]:
    """Compile the stand-in; return the environment in which programs find it, and its figures."""
    built = folder / "libnvidia-ml.so.1"
    source = SUPPORT / "nvml.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, source], check=True)
    figures = {"MEMORY": 8 * GIB, "MEMORY_USED": 7 * GIB, "BUSY": 87}
    return {
        "LD_LIBRARY_PATH": str(folder),
        **{f"NVML_{name}": str(value) for name, value in figures.items()},
    }


def test_the_gpu_of_a_worker_is_recorded_and_evidence(
    python: Path, tmp_path: Path
) -> None:
    run = (python.parent / "dask", "blackbox", "run", "--store", tmp_path / "store")
    words = (*run, "--job", "nightly", "--run-id", "1", "--", python)
    printed = subprocess.run(
        [*map(str, words), str(SUPPORT / "nvml_run.py")],
        env=os.environ | a_library(tmp_path), capture_output=True, text=True,
        check=False, timeout=scaled(300),
    ).stderr  # fmt: skip
    recorded = Run.open(str(tmp_path / "store/runs/job=nightly/run=1/attempt=1"))

    [device] = devices_of(recorded).values()
    assert (device.name, device.total) == ("Stand-in GPU", 8 * GIB), printed[-2_000:]
    assert (device.peak, device.busy) == (7 * GIB, 87.0)
    verdict = recorded.findings()[0]
    assert verdict.rule == "task-exception"
    [text] = [each.text for each in verdict.evidence if each.source == "metrics"]
    assert "The memory of the GPU (Stand-in GPU) of " in text
    assert "7 GiB of 8 GiB were in use" in text
    assert "threads_per_worker" not in verdict.remedy
