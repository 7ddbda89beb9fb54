"""Messages that people meet often in tasks: event loops, read-only arrays, files, GPUs."""

from __future__ import annotations

import importlib.machinery
import re
import sys
import sysconfig

from dask_blackbox.analyse.explanations.explained import Context, Explained, place, says
from dask_blackbox.analyse.frames import Frame, endless_calls_in, is_the_users
from dask_blackbox.analyse.signatures import frequent as lines
from dask_blackbox.formatting import code_line
from dask_blackbox.patterns import bounded

_MAKES_A_FOLDER = bounded(r"\bmk(?:dir|dirs)\(|\bmakedirs\(|in (?:makedirs|mkdir)\b")


def _exists(found: re.Match[str], context: Context) -> Explained | None:
    """Explain a folder that was made twice; of files, the message says it all."""
    if not _MAKES_A_FOLDER.search(context.traceback):
        return None
    return Explained(
        " ".join(context.message.split()),
        "That call makes a folder: another task may have made it since this one looked, or an "
        "earlier run. Let it be there already: `os.makedirs(path, exist_ok=True)`, "
        "`Path.mkdir(parents=True, exist_ok=True)`.",
    )


def _future(_: re.Match[str], context: Context) -> Explained:
    """Explain a future where code expected what it stands for."""
    return Explained(
        f"a value is a future, not its result ({' '.join(context.message.split())})",
        "Dask puts the result in place of a future only where that is an argument of `submit`, "
        "`map` or `delayed`, or in a list or dictionary there; not inside of other objects, and "
        "not for the method of an actor. Pass `future.result()`, or do this in a task that has "
        "the future as its argument.",
    )


_IN_CLIENT_COMPUTE = bounded(r"distributed/client\.py\", line \d+, in compute\n")


def _truth(_: re.Match[str], context: Context) -> Explained:
    """Explain a delayed object as a condition, perhaps of Dask's own: as an option of `compute`."""
    if _IN_CLIENT_COMPUTE.search(context.traceback):
        return Explained(
            "`client.compute` was given a delayed object as an option",
            "Give `client.compute` what is to be computed in one list, `client.compute([a, b])`: "
            "its second argument is `sync=`. (`dask.compute(a, b)` takes several.)",
        )
    return Explained(
        "a condition was asked of a delayed object, which has no value yet",
        "Put the `if` into a function of its own, `dask.delayed(choose)(x)`, or "
        "compute the condition first (`x.compute()`).",
    )


_IN_A_FRAME = bounded(r"/pandas/core/(?:apply|algorithms|series|frame)\.py|_libs\.lib")


def _text_of_an_object(found: re.Match[str], context: Context) -> Explained | None:
    """Explain a text where a frame of Dask's had an object."""
    if not _IN_A_FRAME.search(context.traceback):
        return None
    return Explained(
        " ".join(context.message.split()) + place(context.file),
        "If that column had lists, dictionaries or dates: dask.dataframe makes text of columns "
        "of objects. Set `dask.config.set({'dataframe.convert-string': False})` before the "
        "frame is created.",
    )


def _one_line_of_many(found: re.Match[str], context: Context) -> Explained | None:
    """Explain a bag's line that is no document of its own."""
    if "/dask/bag/" not in context.traceback:
        return None
    return Explained(
        " ".join(context.message.split()) + place(context.file),
        "`read_text` gives each line by itself: it must be a whole document (JSON Lines). Read "
        "files with one document of several lines by a function that opens the file: "
        "`db.from_sequence(paths).map(load_file)`.",
        of_values=True,
    )


_RAISED_BY_FRAMES = bounded(
    r'/dask/dataframe/\S{0,80}\.py", line \d+, in \w+\n(?: {4}[^\n]*\n){0,3}TypeError: '
)


def _divisions_unknown(found: re.Match[str], context: Context) -> Explained | None:
    """Explain a comparison of divisions, which are None where Dask does not know them."""
    if not _RAISED_BY_FRAMES.search(context.traceback):
        return None
    return Explained(
        f"the divisions of a frame are not known ({' '.join(context.message.split())})",
        "Frames without divisions (`df.known_divisions` is False, as after `groupby`, `merge` or "
        "`read_csv`) cannot be aligned by their index: `set_index` them first, or join them on "
        "a column (`a.reset_index().merge(b.reset_index(), on=…)`).",
    )


_ALLOCATORS_FACTS = bounded(
    r"Tried to allocate [\d.]{1,12} \w{1,3}\b|GPU \d{1,3} has a total capacity of [\d.]{1,12} \w{1,3}"
    r"(?: of which [\d.]{1,12} \w{1,3} is free)?|\([\d.]{1,12} \w{1,3} total capacity|"
    r"[\d.]{1,12} \w{1,3} free\b|failed to allocate [\d,]{1,20} bytes|"
    r"allocating [\d,]{1,20} bytes|allocated so far: [\d,]{1,20} bytes"
)


def _gpu_memory_exhausted(found: re.Match[str], context: Context) -> Explained:
    """Explain that a device had no memory left, with what its allocator says of it."""
    facts = _ALLOCATORS_FACTS.findall(context.message)
    said = f" ({', '.join(each.lstrip('(') for each in facts[:4])})" if facts else ""
    alone = (
        ""
        if context.threads == 1
        else "one task at a time for each GPU (`threads_per_worker=1`), "
    )
    return Explained(
        f"the memory of the GPU was exhausted{said}",
        f"Use smaller partitions or batches, {alone}and spilling "
        "(`LocalCUDACluster(device_memory_limit=…, rmm_pool_size=…)`). More memory for the "
        "worker's process does not help.",
    )


def _no_package(found: re.Match[str], _: Context) -> Explained | None:
    """Explain a file in the place of a package, unless Python itself has it as one file."""
    module = found["module"]
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and not _is_pythons_package(top):
        return None
    file = f"{module.rpartition('.')[2]}.py"
    return Explained(
        f"a file {file} is taken for the package '{module}'",
        f"If that file is your own, rename it, and remove the `__pycache__` beside it: Python "
        "looks first in the folder of the script (or the working directory), then in those of "
        "`PYTHONPATH`, and only then among what is installed. "
        f"`python -c 'import {top}; print({top}.__file__)'` shows which one it takes.",
    )


def _is_pythons_package(name: str) -> bool:
    """Return whether a module of Python's library is a package; it is not imported for that."""
    spec = importlib.machinery.PathFinder.find_spec(
        name, [sysconfig.get_path("stdlib")]
    )
    return spec is not None and spec.submodule_search_locations is not None


_SEARCHES = ("__getattr__", "__getattribute__")
_DEEP_GRAPH = (
    "A loop that adds to one result a thousand times (`total += x`) makes a graph "
    "as deep: combine many at once (`da.stack(parts).sum(axis=0)`, "
    "`dask.delayed(sum)(parts)`), or `persist` in between."
)
_GETATTR = (
    "Have `__getattr__` raise AttributeError for names with underscores: while an object is "
    "copied or unpickled, it is asked for such names, and has no attributes yet, so that "
    "`self._values` in `__getattr__` calls it again."
)


def _recursion(_: re.Match[str], context: Context) -> Explained:
    """Explain what called itself until Python's limit, as far as the traceback shows it."""
    endless = endless_calls_in(context.traceback)
    searches = next((each for each in endless if each.function in _SEARCHES), None)
    if searches is not None:
        return Explained(
            f"`{searches.function}` at {code_line(searches)} calls itself endlessly",
            _GETATTR,
        )
    own = next((each for each in endless if is_the_users(each)), None)
    if own is not None:
        return Explained(
            f"'{own.function}' at {code_line(own)} calls itself endlessly",
            "Check the condition that ends it. An object that contains itself (a child that "
            "refers to its parent) has no end: keep a set of what was visited.",
        )
    if endless and not any(_OF_GRAPHS.search(each.file) for each in endless):
        called = endless[0]
        return Explained(
            f"'{called.function}' of {_library(called)} calls itself without an end",
            "What it was given contains itself, or is nested hundreds deep: a child that refers "
            "to its parent, a list in itself. Pass plain data without such references (the "
            "parent's name in place of the parent).",
        )
    return Explained(
        "Python's limit of recursion was exceeded",
        f"{_DEEP_GRAPH} Of a class with `__getattr__`: {_GETATTR[0].lower()}{_GETATTR[1:]}",
    )


_OF_GRAPHS = bounded(r"/dask/|/cloudpickle/|/pickle\.py$|/utils_comm\.py$")


def _library(frame: Frame) -> str:
    """Return the package of a library's frame, or its module of Python's."""
    _, installed, inside = frame.file.rpartition("site-packages/")
    of = inside.partition("/")[0] if installed else inside.rpartition("/")[2]
    return of.removesuffix(".py")


EXPLANATIONS = (
    (
        lines.NO_EVENT_LOOP,
        says(
            "the thread of a task has no event loop",
            "Run coroutines in a task by `asyncio.run(main())`, and create what needs a loop "
            "(sessions, clients) inside it; or make the task itself `async def`, which Dask "
            "runs on its worker's loop. A retry meets the same.",
        ),
    ),
    (
        lines.COROUTINE_NOT_AWAITED,
        says(
            "a coroutine was used as if it were its result",
            "With `Client(asynchronous=True)`, each call returns a coroutine: `await` it in an "
            "`async def`, or use `Client(…)` without `asynchronous` in synchronous code.",
        ),
    ),
    (
        lines.ASYNCHRONOUS_CLIENT_IN_SYNCHRONOUS_CODE,
        says(
            "`{call}` was called with a client that is asynchronous",
            "Await the client's own calls (`await client.compute(x)`, then `await` its "
            "future), or use `Client(…)` without `asynchronous=True` where nothing awaits.",
        ),
    ),
    (
        lines.SIGNAL_OUTSIDE_MAIN_THREAD,
        says(
            "signal only works in main thread, and tasks run in others",
            "Turn off that library's handling of signals, if it has an option, or call it in a "
            "process of its own (`subprocess`): Dask runs tasks in threads of the worker.",
        ),
    ),
    (lines.FILE_EXISTS, _exists),
    (lines.NONE_COMPARED, _divisions_unknown),
    (lines.TEXT_HAS_NO_SUCH_ATTRIBUTE, _text_of_an_object),
    (lines.NOT_A_JSON_DOCUMENT, _one_line_of_many),
    (
        lines.ARRAY_IS_READ_ONLY,
        says(
            "an array that a task received is read-only",
            "Copy it before you change it in place (`x = x.copy()`): what Dask passes between "
            "processes may be read-only, and is shared by all tasks that use it. In Cython, "
            "declare the argument `const`.",
        ),
    ),
    (
        lines.CSV_TEXT_NOT_CLOSED,
        says(
            "a quoted text has no end{place} (row {row} of the block)",
            "A line break inside quotes is where Dask may cut a file in two: read each file as "
            "one block (`dd.read_csv(…, blocksize=None)`), with a large `sample=`. If pandas "
            "alone fails, too, a quote is missing: `quoting=csv.QUOTE_NONE`.",
        ),
    ),
    (
        lines.HDF5_FILE_LOCKED,
        says(
            "an HDF5 file is open for writing elsewhere{place}",
            "Let one task at a time write, and close the file before others read it; or write "
            "one file for each task, or Zarr. On file systems without locks, set "
            "`HDF5_USE_FILE_LOCKING=FALSE` for the workers.",
        ),
    ),
    (
        lines.NOT_AN_HDF5_FILE,
        says(
            "{name} is not a complete HDF5 file",
            "Check the job that writes it: it was cut off, or has another format (netCDF 3, "
            "an error page that was downloaded). Write to a temporary name, then rename.",
        ),
    ),
    (
        lines.XARRAY_HAS_NO_ENGINE,
        says(
            "xarray knows no engine for {name}",
            "Check that the file exists where the workers run and is not empty: xarray says the "
            "same of these. Else install what reads it there (`netcdf4`, `h5netcdf`, `cfgrib`), "
            "or pass `engine=`.",
        ),
    ),
    (
        lines.GPU_MEMORY_EXHAUSTED,
        _gpu_memory_exhausted,
    ),
    (
        lines.NO_GPU,
        says(
            "the worker's process sees no usable GPU",
            "Check `nvidia-smi` and `CUDA_VISIBLE_DEVICES` where that worker runs, the GPUs that "
            "its job or pod requests, and that the driver is as new as the CUDA runtime.",
        ),
    ),
    (
        lines.GOOGLE_WITHOUT_CREDENTIALS,
        says(
            "no Google Cloud credentials where this ran",
            "Give the workers credentials, not only the driver: a service account of their "
            "machine or pod, or `GOOGLE_APPLICATION_CREDENTIALS` with a file that is there.",
        ),
    ),
    (
        lines.AZURE_WITHOUT_CREDENTIALS,
        says(
            "no Azure credentials where this ran",
            "Give the workers an identity, not only the driver: a managed identity, or "
            "`AZURE_CLIENT_ID`, `AZURE_TENANT_ID` and `AZURE_CLIENT_SECRET` in their environment.",
        ),
    ),
    (
        lines.CHUNK_SIZES_UNKNOWN,
        says(
            "the chunk sizes of an array are not known",
            "They depend on values (a filter `x[x > 0]`, a dataframe): call "
            "`x.compute_chunk_sizes()` before you slice or reshape it, or "
            "`ddf.to_dask_array(lengths=True)`.",
        ),
    ),
    (lines.DELAYED_USED_AS_TRUTH, _truth),
    (
        lines.FUTURE_WITHOUT_CLIENT,
        says(
            "a future that the function holds, and was not given, is none on the worker",
            "Give the future to the task as an argument, `client.map(function, values, "
            "rate=rate)`: Dask then passes its result. In a global variable or an enclosing "
            "function, it travels as a part of the function, and cannot be read there.",
        ),
    ),
    (
        lines.DATASET_EXISTS,
        says(
            "the dataset '{name}' already exists on the scheduler",
            "`client.publish_dataset(…, override=True)` replaces it, and "
            "`client.unpublish_dataset('{name}')` removes it.",
        ),
    ),
    (
        lines.DELAYED_ITERATED,
        says(
            "a delayed object of unknown length was iterated",
            "Say how many values the function returns, `dask.delayed(function, nout=2)`, "
            "or iterate inside a delayed function.",
        ),
    ),
    (
        lines.ZARR_CHUNKS_OVERLAP,
        says(
            "the chunks of an array do not fit those of the Zarr store",
            "Two tasks would write one chunk of the store. Rechunk before you write "
            "(`ds.chunk(time=100)`, with multiples of the store's chunks), or drop the "
            "chunks that were read with the data: `del ds[name].encoding['chunks']`.",
        ),
    ),
    (
        lines.XARRAY_CHUNKS_INCONSISTENT,
        says(
            "the variables of a dataset have different chunks along '{dimension}'",
            "Call `ds.unify_chunks()` after combining or subtracting datasets, or chunk "
            "both alike before.",
        ),
    ),
    (
        lines.CORE_DIMENSION_IN_CHUNKS,
        says(
            "dimension '{dimension}' has several chunks, but the function needs it whole",
            "Make it one chunk before `apply_ufunc`, `ds.chunk({dimension}=-1)`, with "
            "smaller chunks along the other dimensions to keep blocks as small.",
        ),
    ),
    (lines.FUTURE_IN_PLACE_OF_ITS_VALUE, _future),
    (
        lines.ZARR_ARRAY_EXISTS,
        says(
            "the Zarr store already has an array of that name",
            "An earlier run, or an earlier attempt, has written it: delete the target "
            "first, write to a new path, or overwrite it (`overwrite=True` in "
            "`da.to_zarr`, `mode='w'` in xarray).",
        ),
    ),
    (lines.RECURSION_TOO_DEEP, _recursion),
    (lines.MODULE_IS_NO_PACKAGE, _no_package),
    (
        lines.AXES_OF_OTHER_NUMBER,
        says(
            "an array has another number of dimensions than its transposition names",
            "A function probably returned fewer dimensions than it was given. Of "
            "`xarray.apply_ufunc`: name those that it reduces (`input_core_dims=[['time']]`, "
            "for each argument), with one chunk along them; of `map_blocks`, `drop_axis=`.",
        ),
    ),
    (
        lines.NO_SAMPLES,
        says(
            "a partition without rows was given where at least one row is required",
            "A filter leaves empty partitions: `df.map_partitions(len).compute()` shows them. Merge "
            "them with others (`df.repartition(npartitions=…)` after the filter), or call the "
            "model in a function that returns early for an empty part "
            "(`df.map_partitions(predict, meta=…)`).",
            of_values=True,
        ),
    ),
    (
        lines.THREADS_EXHAUSTED,
        says(
            "the limit of threads of the user or the container was reached",
            "Set `OMP_NUM_THREADS=1` (`OPENBLAS_NUM_THREADS`, `MKL_NUM_THREADS`) for the "
            "workers, start fewer of them on a machine, or raise the limit: `ulimit -u`, "
            "the container's pids limit.",
        ),
    ),
    (
        lines.POOL_SHUT_DOWN,
        says(
            "work was sent after its pool had been shut down",
            "The client outlived its cluster, or the program was ending: use both in "
            "`with` blocks (`with LocalCluster() as cluster, Client(cluster) as client:`), "
            "and wait for results before they end.",
        ),
    ),
    (
        lines.MESSAGE_TOO_LARGE,
        says(
            "a message of Dask's exceeded its limit of 2 to 4 GiB",
            "The graph, or one argument in it, is that large: load data in the tasks "
            "(`dd.read_parquet`, not `dd.from_pandas` of a large frame), and give a large "
            "object to many tasks by `client.scatter` once.",
        ),
    ),
    (
        lines.FILE_SYSTEM_NOT_INSTALLED,
        says(
            "'{package}', which reads {kind}, is not installed where this ran",
            "Install `{package}` on the workers as well as for the driver (in their image "
            "or environment, or `distributed.PipInstall(packages=['{package}'])`), then "
            "restart them.",
        ),
    ),
    (
        lines.INDEX_HAS_DUPLICATES,
        says(
            "an index has duplicate labels",
            "`dd.read_csv` and others number the rows of each partition from 0: give the "
            "frame a unique index (`set_index`), or combine columns by a join on a key "
            "instead of by assignment.",
        ),
    ),
    (
        lines.CATEGORY_IS_NEW,
        says(
            "a value is none of the column's categories",
            "Add it before you fill or assign: `column.cat.add_categories([value])`; with "
            "Dask, make the categories known first (`ddf.categorize()`).",
        ),
    ),
    (
        lines.DATE_OUT_OF_BOUNDS,
        says(
            "the date {value} does not fit nanoseconds (1677 to 2262){place}",
            "Dates such as 9999-12-31 stand for none: `dd.to_datetime(column, "
            "errors='coerce')` makes them missing; to keep them, use another unit "
            "(`astype('datetime64[s]')`).",
        ),
    ),
    (
        lines.ARROW_WOULD_LOSE_DATA,
        says(
            "times are {found}, and as {expected} would lose digits",
            "Round them before (`column.dt.floor('us')`), or write with "
            "`coerce_timestamps='us', allow_truncated_timestamps=True`.",
        ),
    ),
    (
        lines.NETCDF_READ_FAILED,
        says(
            "the netCDF library could not read or write a file{place}",
            "Since netCDF4 1.6.1, threads of one process may disturb each other in it: try "
            "workers with one thread (`threads_per_worker=1`) or `engine='h5netcdf'`. If "
            "it fails alone, too, the file is incomplete, or another process writes it.",
        ),
    ),
    (
        lines.NOT_COMPRESSED_SO,
        says(
            "{name} is not compressed as was expected",
            "Compare its name with its content (`file part.csv.gz`): pass "
            "`compression=None` for plain text. If only some files fail, they were cut off "
            "or are error pages that were downloaded.",
        ),
    ),
    (
        lines.CONNECTION_USED_TWICE,
        says(
            "a database connection was used by two processes, or the server closed it",
            "Open the connection in the task, and close it there; do not send an engine to "
            "tasks or keep it over a fork (`engine.dispose(close=False)` in the child, "
            "`poolclass=NullPool`).",
        ),
    ),
    (
        lines.TOO_MANY_DATABASE_CONNECTIONS,
        says(
            "the database server has no connection left",
            "Each thread of each worker opens its own: limit how many tasks use the "
            "database at a time (`distributed.Semaphore`, worker resources), close "
            "connections in the task, or put a pooler (PgBouncer) before the server.",
        ),
    ),
    (
        lines.FILE_HANDLE_STALE,
        says(
            "a file on a network file system was removed or replaced while it was open{place}",
            "Another process did that, perhaps on another host, or the file server was "
            "restarted. Write under a name that no other task uses and rename the complete "
            "file, remove files only once nobody reads them, and keep Dask's scratch folder "
            "(`temporary-directory`, `--local-directory`) on a disk of the host.",
        ),
    ),
    (
        lines.NO_LOCKS_AVAILABLE,
        says(
            "the file system gives no locks",
            "A network file system without a lock service does that: keep files that are "
            "locked (SQLite, HDF5, `*.lock`) and Dask's scratch folder "
            "(`temporary-directory`, `--local-directory`) on a disk of the host. HDF5 files "
            "that are only read need none: `HDF5_USE_FILE_LOCKING=FALSE` for the workers.",
        ),
    ),
    (
        lines.MOUNT_NOT_SERVED,
        says(
            "the file system with {path} is mounted, and no process serves it",
            "The program behind the mount (`s3fs`, `gcsfuse`, `sshfs`) has ended on that "
            "host: unmount it there (`fusermount -u`) and mount it again. Dask reads buckets "
            "without a mount (`s3://…`, `gs://…`).",
        ),
    ),
    (
        lines.NUMBA_CANNOT_CACHE,
        says(
            "Numba has no folder to write the cache of '{function}' to",
            "`cache=True` writes beside the function's source or into a folder of the user, "
            "and neither can be written where this ran: set `NUMBA_CACHE_DIR` to a folder "
            "that can, for workers and driver, before the module is imported (in their image "
            "or environment), or leave `cache=True` out.",
        ),
    ),
    (
        lines.S3_TOKEN_EXPIRED,
        says(
            "the temporary credentials for {file} have expired",
            "They were taken when the graph was built, and travel with its tasks: let each "
            "worker get its own from its role (`AWS_ROLE_ARN`, instance profile), which "
            "renews them, or send the work in parts that end within their lifetime.",
        ),
    ),
)
"""Rows of the catalogue, each with what makes an explanation of it."""
