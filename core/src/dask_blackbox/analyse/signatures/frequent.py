"""What people meet often in tasks, whatever library prints it: loops, arrays, files, GPUs."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

NO_EVENT_LOOP = Signature(
    r"(?:There is no current event loop in thread '(?P<thread>[^']+)'|no running event loop)",
    "There is no current event loop in thread 'Dask-Default-Threads-1-0'.",
    source="python",
)
COROUTINE_NOT_AWAITED = Signature(
    r"'coroutine' object (?:is not|does not|has no)|object of type 'coroutine'",
    "'coroutine' object is not iterable",
    source="python",
)
ARRAY_IS_READ_ONLY = Signature(
    (
        r"(?:assignment destination|buffer source array|output array|underlying array) "
        r"is read-only"
    ),
    "assignment destination is read-only",
    source="numpy",
)
CSV_TEXT_NOT_CLOSED = Signature(
    r"EOF inside string starting at (?:row|line) (?P<row>\d+)",
    "Error tokenizing data. C error: EOF inside string starting at row 325771",
    source="pandas",
)
HDF5_FILE_LOCKED = Signature(
    r"unable to lock file, errno = (?P<errno>\d+)",
    (
        "Unable to synchronously open file (unable to lock file, errno = 11, error message = "
        "'Resource temporarily unavailable')"
    ),
    source="hdf5",
)
NOT_AN_HDF5_FILE = Signature(
    r"\((?:file signature not found|truncated file: eof = \d+)",
    "Unable to synchronously open file (file signature not found)",
    source="hdf5",
)
XARRAY_HAS_NO_ENGINE = Signature(
    r"did not find a match in any of xarray's currently installed IO backends",
    "did not find a match in any of xarray's currently installed IO backends ['netcdf4'].",
    source="xarray",
)
GPU_MEMORY_EXHAUSTED = Signature(
    (
        r"CUDA out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY"
        r"|out_of_memory: CUDA error"
    ),
    "std::bad_alloc: out_of_memory: CUDA error at: cuda_memory_resource.hpp",
    source="cuda",
)
NO_GPU = Signature(
    (
        r"no CUDA-capable device is detected|cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE"
        r"|CUDA driver version is insufficient"
    ),
    "cudaErrorNoDevice: no CUDA-capable device is detected",
    source="cuda",
)
GOOGLE_WITHOUT_CREDENTIALS = Signature(
    r"[Dd]efault credentials were not found|Could not automatically determine credentials",
    (
        "Your default credentials were not found. To set up Application Default Credentials, "
        "see https://cloud.google.com/docs/authentication/external/set-up-adc."
    ),
    source="network",
)
AZURE_WITHOUT_CREDENTIALS = Signature(
    r"DefaultAzureCredential failed to retrieve a token",
    (
        "DefaultAzureCredential failed to retrieve a token from the included credentials."
    ),
    source="network",
)
