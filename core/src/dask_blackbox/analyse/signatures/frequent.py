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
        r"is read-only|cannot set WRITEABLE flag to True"
    ),
    "assignment destination is read-only",
    source="numpy",
)
ASYNCHRONOUS_CLIENT_IN_SYNCHRONOUS_CODE = Signature(
    r"asynchronous Client in a synchronous context of `?(?P<call>[\w.]+)",
    (
        "Attempting to use an asynchronous Client in a synchronous context of "
        "`dask.compute`"
    ),
    source="dask",
)
SIGNAL_OUTSIDE_MAIN_THREAD = Signature(
    r"signal only works in main thread|set_wakeup_fd only works in main thread",
    "signal only works in main thread of the main interpreter",
    source="python",
)
FILE_EXISTS = Signature(
    r"\[Errno 17\] File exists",
    "[Errno 17] File exists: '/data/plots'",
    source="python",
)
TEXT_HAS_NO_SUCH_ATTRIBUTE = Signature(
    r"'str' object has no attribute '(?P<attribute>\w+)'|string indices must be integers",
    "'str' object has no attribute 'values'",
    source="python",
)
FUTURE_IN_PLACE_OF_ITS_VALUE = Signature(
    (
        r"'Future' object (?:has no attribute|is not|does not)|"
        r"(?:unsupported operand type|not supported between instances)[^\n]{0,60}'Future'"
    ),
    "unsupported operand type(s) for +=: 'int' and 'Future'",
    source="python",
)
FUTURE_WITHOUT_CLIENT = Signature(
    r"client\.Future'> object not properly initialized",
    (
        "<class 'distributed.client.Future'> object not properly initialized. This can happen "
        "if the object is being deserialized outside of the context of a Client or Worker."
    ),
)
DATASET_EXISTS = Signature(
    r"Dataset (?P<name>.{1,200}?) already exists",
    "Dataset prices already exists",
)
NOT_A_JSON_DOCUMENT = Signature(
    (
        r"(?:Expecting [^\n]{1,60}|Extra data|Unterminated string[^\n]{0,40}): "
        r"line \d+ column \d+ \(char \d+\)"
    ),
    "Expecting value: line 2 column 1 (char 2)",
    source="python",
)
NONE_COMPARED = Signature(
    r"'[<>]=?' not supported between instances of (?:'NoneType' and|'\w+' and 'NoneType')",
    "'<' not supported between instances of 'NoneType' and 'int'",
    source="python",
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
        r"|out_of_memory: CUDA error|Out of memory allocating [\d,]{1,20} bytes \(allocated so far"
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
CHUNK_SIZES_UNKNOWN = Signature(
    r"Arrays chunk sizes are unknown|(?:with|have) unknown chunk ?sizes?",
    "Arrays chunk sizes are unknown. \n\nA possible solution: https://docs.dask.org/en/latest/array-chunks.html#unknown-chunks",
    source="dask",
)
DELAYED_USED_AS_TRUTH = Signature(
    r"Truth of Delayed objects is not supported",
    "Truth of Delayed objects is not supported",
    source="dask",
)
DELAYED_ITERATED = Signature(
    r"Delayed objects of unspecified length (?:are not iterable|have no len)",
    "Delayed objects of unspecified length are not iterable",
    source="dask",
)
ZARR_CHUNKS_OVERLAP = Signature(
    r"(?:would overlap multiple [Dd]ask chunks|Final chunk of Zarr array must be the same size)",
    "Specified zarr chunks encoding['chunks']=(5, 10) for variable named 'x' would overlap multiple dask chunks ((1, 1), (10,)).",
    source="xarray",
)
XARRAY_CHUNKS_INCONSISTENT = Signature(
    r"Object has inconsistent chunks along dimension (?P<dimension>\w+)",
    "Object has inconsistent chunks along dimension lead. This can be fixed by calling unify_chunks().",
    source="xarray",
)
CORE_DIMENSION_IN_CHUNKS = Signature(
    r"dimension (?P<dimension>\w+) on \d+\w\w function argument to apply_ufunc with dask='parallelized' consists of multiple chunks",
    "dimension spatial on 0th function argument to apply_ufunc with dask='parallelized' consists of multiple chunks, but is also a core dimension.",
    source="xarray",
)
ZARR_ARRAY_EXISTS = Signature(
    r"path '(?P<path>[^'\n]{0,200})' contains an array|An array exists in store",
    "path 'lon' contains an array",
    source="zarr",
)
RECURSION_TOO_DEEP = Signature(
    r"maximum recursion depth exceeded",
    "maximum recursion depth exceeded while calling a Python object",
    source="python",
)
MODULE_IS_NO_PACKAGE = Signature(
    r"No module named '[\w.]+'; '(?P<module>[\w.]+)' is not a package",
    "No module named 'dask.distributed'; 'dask' is not a package",
    source="python",
)
NO_SAMPLES = Signature(
    r"Found array with 0 sample\(s\)",
    (
        "Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 1 is required by "
        "LogisticRegression."
    ),
    source="sklearn",
)
AXES_OF_OTHER_NUMBER = Signature(
    r"axes don't match array",
    "axes don't match array",
    source="numpy",
)
THREADS_EXHAUSTED = Signature(
    r"can't start new thread",
    "can't start new thread",
    source="python",
)
POOL_SHUT_DOWN = Signature(
    r"cannot schedule new futures after (?:interpreter )?shutdown",
    "cannot schedule new futures after shutdown",
    source="python",
)
MESSAGE_TOO_LARGE = Signature(
    r"exceeds max_(?:bin|str|buffer|map|array|ext)_len|bytes object is too large",
    "2369781118 exceeds max_bin_len(2147483647)",
    source="python",
)
FILE_SYSTEM_NOT_INSTALLED = Signature(
    r"(?:Please )?[Ii]nstall (?P<package>[\w.-]+) to (?:access|use) (?:the )?(?P<kind>[^\n]{1,60})",
    "Install s3fs to access S3",
    source="fsspec",
)
INDEX_HAS_DUPLICATES = Signature(
    r"cannot reindex (?:on an axis with duplicate labels|from a duplicate axis)",
    "cannot reindex on an axis with duplicate labels",
    source="pandas",
)
CATEGORY_IS_NEW = Signature(
    r"Cannot setitem on a Categorical with a new category(?: \((?P<value>[^)\n]{1,100})\))?",
    "Cannot setitem on a Categorical with a new category (0.0), set the categories first",
    source="pandas",
)
DATE_OUT_OF_BOUNDS = Signature(
    r"Out of bounds nanosecond timestamp: (?P<value>[^\n,]{1,60})",
    "Out of bounds nanosecond timestamp: 4998-01-01 00:00:00",
    source="pandas",
)
ARROW_WOULD_LOSE_DATA = Signature(
    r"Casting from (?P<found>timestamp\[\w+[^\n\]]{0,40}\]) to (?P<expected>timestamp\[\w+[^\n\]]{0,40}\]) would lose data",
    "Casting from timestamp[ns] to timestamp[us] would lose data: 1641064458517034068",
    source="pyarrow",
)
NETCDF_READ_FAILED = Signature(
    r"NetCDF: HDF error",
    "[Errno -101] NetCDF: HDF error: 'test4.nc'",
    source="hdf5",
)
NOT_COMPRESSED_SO = Signature(
    r"Error -3 while decompressing|Not a gzipped file",
    "Error -3 while decompressing data: incorrect header check",
    source="python",
)
CONNECTION_USED_TWICE = Signature(
    r"decryption failed or bad record mac|SSL SYSCALL error: EOF detected",
    "SSL SYSCALL error: EOF detected",
    source="databases",
)
TOO_MANY_DATABASE_CONNECTIONS = Signature(
    r"sorry, too many clients already|remaining connection slots are reserved|Too many connections",
    "FATAL:  sorry, too many clients already",
    source="databases",
)
FILE_HANDLE_STALE = Signature(
    r"\[Errno 116\] Stale file handle",
    "[Errno 116] Stale file handle: '/scratch/part-7.parquet'",
    source="kernel",
)
NO_LOCKS_AVAILABLE = Signature(
    r"\[Errno 37\] No locks available",
    "[Errno 37] No locks available: '/home/etl/state.lock'",
    source="kernel",
)
MOUNT_NOT_SERVED = Signature(
    r"\[Errno 107\] Transport endpoint is not connected: '(?P<path>[^'\n]{1,300})'",
    "[Errno 107] Transport endpoint is not connected: '/mnt/bucket/part-7.parquet'",
    source="kernel",
)
NUMBA_CANNOT_CACHE = Signature(
    r"cannot cache function '(?P<function>[^'\n]{1,100})': no locator available",
    "cannot cache function 'isclose': no locator available for file '/jobs/geo.py'",
    source="numba",
)
S3_TOKEN_EXPIRED = Signature(
    r"\A(?:\[Errno \d+\] )?The provided token has expired",
    "The provided token has expired.",
    source="s3",
)
