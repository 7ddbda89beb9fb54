"""What Python, its standard library, OpenSSL and NumPy say."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

MODULE_MISSING = Signature(
    name="MODULE_MISSING",
    source="python",
    pattern=r"No module named '(?P<name>[\w.]+)'",
    example="No module named 'orders.prices'",
)
NAME_NOT_IN_MODULE = Signature(
    name="NAME_NOT_IN_MODULE",
    source="python",
    pattern=(
        r"(?:cannot import name '[^']+' from|Can't get attribute '[^']+' on <module|"
        r"\bmodule) '(?P<name>[\w.]+)'"
    ),
    example="cannot import name 'clean' from 'orders' (/jobs/orders.py)",
)
NAME_NOT_IN_FILE = Signature(
    name="NAME_NOT_IN_FILE",
    source="python",
    pattern=r"cannot import name '[^']+' from '[\w.]+' \((?P<file>[^)]+)\)$",
    example="cannot import name 'clean' from 'orders' (/jobs/orders.py)",
)
SHARED_LIBRARY_MISSING = Signature(
    name="SHARED_LIBRARY_MISSING",
    source="python",
    pattern=r"(?P<name>[\w.+-]+\.so[\w.]*): cannot open shared object file",
    example="libGL.so.1: cannot open shared object file: No such file or directory",
)
CANNOT_PICKLE = Signature(
    name="CANNOT_PICKLE",
    source="python",
    pattern=(
        r"[Cc]an(?:no|')t pickle (?:local object )?'?(?P<what>[^\n]{1,120}?)'?"
        r"(?: object)?(?:\n|$)"
    ),
    example="cannot pickle '_thread.lock' object",
)
DAEMON_HAS_NO_CHILDREN = Signature(
    name="DAEMON_HAS_NO_CHILDREN",
    source="python",
    pattern=r"\Adaemonic processes are not allowed to have children",
    example="daemonic processes are not allowed to have children",
)
OPEN_FILES_EXHAUSTED = Signature(
    name="OPEN_FILES_EXHAUSTED",
    source="kernel",
    pattern=r"\[Errno 24\]|Too many open files",
    example="[Errno 24] Too many open files",
)
NO_SPACE_LEFT = Signature(
    name="NO_SPACE_LEFT",
    source="kernel",
    pattern=r"No space left on device",
    example="[Errno 28] No space left on device",
)
NOT_ALLOCATED = Signature(
    name="NOT_ALLOCATED",
    source="numpy",
    pattern=(
        r"(?:(?:[Uu]nable|[Tt]ried) to allocate|allocating) "
        r"(?P<size>[\d.,]+ ?[KMGTPE]?i?B|[\d.,]+ bytes)"
        r"|alloc of size (?P<bytes>\d+)"
    ),
    example=(
        "Unable to allocate 7.28 TiB for an array with shape (1000000, 1000000) and data "
        "type float64"
    ),
)
CERTIFICATE_NOT_VERIFIED = Signature(
    name="CERTIFICATE_NOT_VERIFIED",
    source="tls",
    pattern=r"(?m)certificate verify failed: (?P<why>[^\n(]+?) ?(?:\(|$)",
    example=(
        "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired "
        "(_ssl.c:1006)"
    ),
)
TLS_MET_PLAIN_TEXT = Signature(
    name="TLS_MET_PLAIN_TEXT",
    source="tls",
    pattern=r"WRONG_VERSION_NUMBER|not idle; cannot convert to SSL",
    example="[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
)
TLS_NO_COMMON_VERSION = Signature(
    name="TLS_NO_COMMON_VERSION",
    source="tls",
    pattern=r"ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS_AVAIL",
    example="[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version (_ssl.c:1006)",
)
TLS_NO_COMMON_CIPHER = Signature(
    name="TLS_NO_COMMON_CIPHER",
    source="tls",
    pattern=r"NO_SHARED_CIPHER|NO_CIPHERS_AVAILABLE|ALERT_HANDSHAKE_FAILURE",
    example="[SSL: NO_SHARED_CIPHER] no shared cipher (_ssl.c:1006)",
)
TLS_REFUSED = Signature(
    name="TLS_REFUSED",
    source="tls",
    pattern=r"SSLEOFError|SSLZeroReturnError|alert [\w ]+|ALERT_\w+|_ALERT",
    example="[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required",
)
PROGRAM_FAILED = Signature(
    name="PROGRAM_FAILED",
    source="python",
    pattern=(
        r"\ACommand '(?P<command>(?s:.+))' (?:returned non-zero exit status (?P<status>\d+)"
        r"|died with (?:<Signals\.(?P<signal>\w+): \d+>|unknown signal (?P<number>\d+))"
        r"|timed out after (?P<limit>[\d.]+) seconds)\.?(?:\nstderr: (?P<stderr>(?s:.+)))?"
    ),
    example="Command '['gdalwarp', '-t_srs', 'EPSG:0']' returned non-zero exit status 3.",
)
FILE_TOO_LARGE = Signature(
    name="FILE_TOO_LARGE",
    source="python",
    pattern=r"\[Errno 27\] File too large",
    example="OSError: [Errno 27] File too large",
)
THREAD_FAILED = Signature(
    name="THREAD_FAILED",
    source="python",
    pattern=r"^Exception in thread (?P<thread>.+?)(?: \(.+\))?:$",
    example="Exception in thread Thread-3 (collect):",
)
IMPORT_FAILED = Signature(
    name="IMPORT_FAILED",
    source="python",
    pattern=r"ModuleNotFoundError|ImportError|AttributeError: Can't get attribute",
    example="ModuleNotFoundError: No module named 'orders'",
)
BUFFER_NOT_ALLOCATED = Signature(
    name="BUFFER_NOT_ALLOCATED",
    source="python",
    pattern=r"Unable to allocate internal buffer",
    example="Unable to allocate internal buffer.",
)
