"""What Python, its standard library, OpenSSL and NumPy say."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

MODULE_MISSING = Signature(
    r"No module named '(?P<name>[\w.]+)'",
    "No module named 'orders.prices'",
    source="python",
)
NAME_NOT_IN_MODULE = Signature(
    (
        r"(?:cannot import name '[^']+' from|Can't get attribute '[^']+' on <module|"
        r"\bmodule) '(?P<name>[\w.]+)'"
    ),
    "cannot import name 'clean' from 'orders' (/jobs/orders.py)",
    source="python",
)
NAME_NOT_IN_FILE = Signature(
    r"cannot import name '[^']+' from '[\w.]+' \((?P<file>[^)]+)\)$",
    "cannot import name 'clean' from 'orders' (/jobs/orders.py)",
    source="python",
)
SHARED_LIBRARY_MISSING = Signature(
    r"(?:^|[^\w.+-])(?P<name>[\w.+-]+\.so[\w.]*): cannot open shared object file",
    "libGL.so.1: cannot open shared object file: No such file or directory",
    source="python",
)
CANNOT_PICKLE = Signature(
    (
        r"[Cc]an(?:no|')t pickle (?:local object )?'?(?P<what>[^\n]{1,120}?)'?"
        r"(?: object)?(?:\n|$)"
    ),
    "cannot pickle '_thread.lock' object",
    source="python",
)
DAEMON_HAS_NO_CHILDREN = Signature(
    r"\Adaemonic processes are not allowed to have children",
    "daemonic processes are not allowed to have children",
    source="python",
)
ARGUMENT_UNKNOWN_TO_PROCESS = Signature(
    (
        r"\b(?:Server|ServerNode|Scheduler|Worker|Nanny)\.__init__\(\) got an unexpected "
        r"keyword argument '(?P<name>\w+)'"
    ),
    "Server.__init__() got an unexpected keyword argument 'n_worker'",
    source="python",
)
OPEN_FILES_EXHAUSTED = Signature(
    r"\[Errno 24\]|Too many open files",
    "[Errno 24] Too many open files",
    source="kernel",
)
PORT_IN_USE = Signature(
    r"\[Errno (?:98|48)\]|[Aa]ddress already in use",
    "OSError: [Errno 98] Address already in use",
    source="kernel",
)
NO_SPACE_LEFT = Signature(
    r"No space left on device", "[Errno 28] No space left on device", source="kernel"
)
NOT_ALLOCATED = Signature(
    (
        r"(?:(?:[Uu]nable|[Tt]ried) to allocate|allocating) "
        r"(?P<size>[\d.,]+ ?[KMGTPE]?i?B|[\d.,]+ bytes)"
        r"|alloc of size (?P<bytes>\d+)"
    ),
    (
        "Unable to allocate 7.28 TiB for an array with shape (1000000, 1000000) and data "
        "type float64"
    ),
    source="numpy",
)
CERTIFICATE_NOT_VERIFIED = Signature(
    r"(?m)certificate verify failed: (?P<why>[^\n(]+?) ?(?:\(|$)",
    (
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired "
        "(_ssl.c:1006)"
    ),
    source="tls",
)
TLS_MET_PLAIN_TEXT = Signature(
    r"WRONG_VERSION_NUMBER|not idle; cannot convert to SSL",
    "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
    source="tls",
)
TLS_NO_COMMON_VERSION = Signature(
    r"ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAIL",
    "[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version (_ssl.c:1006)",
    source="tls",
)
TLS_NO_COMMON_CIPHER = Signature(
    r"NO_SHARED_CIPHER|NO_CIPHERS_AVAILABLE|ALERT_HANDSHAKE_FAILURE",
    "[SSL: NO_SHARED_CIPHER] no shared cipher (_ssl.c:1006)",
    source="tls",
)
TLS_REFUSED = Signature(
    r"SSLEOFError|SSLZeroReturnError|alert [\w ]+|ALERT_\w+|_ALERT",
    "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required",
    source="tls",
)
AUTHORITY_REFUSED = Signature(
    r"(?i)alert.unknown.ca",
    "[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca (_ssl.c:1006)",
    source="tls",
)
PROGRAM_FAILED = Signature(
    (
        r"\ACommand '(?P<command>(?s:.+))' (?:returned non-zero exit status (?P<status>\d+)"
        r"|died with (?:<Signals\.(?P<signal>\w+): \d+>|unknown signal (?P<number>\d+))"
        r"|timed out after (?P<limit>[\d.]+) seconds)\.?(?:\nstderr: (?P<stderr>(?s:.+)))?"
    ),
    "Command '['gdalwarp', '-t_srs', 'EPSG:0']' returned non-zero exit status 3.",
    source="python",
)
FILE_TOO_LARGE = Signature(
    r"\[[Ee]rrno 27\] File too large",
    "OSError: [Errno 27] File too large",
    source="python",
)
STARTED_BEFORE_MAIN = Signature(
    r"before the\s+current process has finished its bootstrapping phase",
    "before the current process has finished its bootstrapping phase",
    source="python",
)
THREAD_FAILED = Signature(
    r"^Exception in thread (?P<thread>.+?)(?: \(.+\))?:$",
    "Exception in thread Thread-3 (collect):",
    source="python",
)
ASYNCIO_TASK_FAILED = Signature(
    r"^future: <Task finished name='(?P<task>[^']+)' coro=<",
    "future: <Task finished name='Task-2' coro=<feed() done, defined at /srv/etl.py:18> "
    "exception=KeyError('slack')>",
    source="python",
)
LEAKED_SHARED_MEMORY = Signature(
    r"resource_tracker: .*\bleaked shared_memory objects",
    "UserWarning: resource_tracker: There appear to be 1 leaked shared_memory objects to clean "
    "up at shutdown",
    source="python",
)
IMPORT_FAILED = Signature(
    r"ModuleNotFoundError|ImportError|AttributeError: Can't get attribute",
    "ModuleNotFoundError: No module named 'orders'",
    source="python",
)
BUFFER_NOT_ALLOCATED = Signature(
    r"Unable to allocate internal buffer",
    "Unable to allocate internal buffer.",
    source="python",
)
LOG_TIME = Signature(
    (
        r"^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:"
        r"(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?[\s:|,-]{1,9}"
        r"(?:[\w.-]{1,99}[\s:|-]{1,9})?[\[(]?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL)\b[\])]?[\s:|-]{1,9}|"
        r"[.,]\d{3,6}(?:Z|[+-]\d\d:?\d\d)?\]?[\s:|,-]{1,9})"
    ),
    "2026-11-26 15:48:06,984 geyser WARNING offset feed ends: KeyError('offset_mm')",
    source="python",
)
