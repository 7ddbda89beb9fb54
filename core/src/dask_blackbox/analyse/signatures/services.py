"""What file systems, object stores, networks and databases say when they refuse."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

NO_SUCH_FILE = Signature(
    name="NO_SUCH_FILE",
    source="kernel",
    pattern=r"\[Errno 2\] No such file or directory: '(?P<file>[^']+)'",
    example="[Errno 2] No such file or directory: '/data/in/orders.csv'",
)
FILE_PERMISSION_DENIED = Signature(
    name="FILE_PERMISSION_DENIED",
    source="kernel",
    pattern=r"\[Errno 13\] Permission denied: '(?P<file>[^']+)'",
    example="[Errno 13] Permission denied: '/data/in/orders.csv'",
)
CONNECTION_RESET = Signature(
    name="CONNECTION_RESET",
    source="kernel",
    pattern=r"\[Errno 104\] |Connection reset by peer",
    example="[Errno 104] Connection reset by peer",
)
CONNECTION_REFUSED = Signature(
    name="CONNECTION_REFUSED",
    source="kernel",
    pattern=r"\[Errno 111\] |Connection refused",
    example="[Errno 111] Connection refused",
)
NAME_NOT_RESOLVED = Signature(
    name="NAME_NOT_RESOLVED",
    source="kernel",
    pattern=(
        r"\[Errno -[235]\] |Name or service not known"
        r"|Temporary failure in name resolution|nodename nor servname provided"
    ),
    example="[Errno -2] Name or service not known",
)
NOT_THAT_ENCODING = Signature(
    name="NOT_THAT_ENCODING",
    source="python",
    pattern=(
        r"'(?P<expected>[\w-]+)' codec can't decode bytes? (?P<found>0x[0-9a-f]{2})?"
        r".*?in position (?P<position>\d+)"
    ),
    example="'utf-8' codec can't decode byte 0xf6 in position 12: invalid start byte",
)
NOT_A_NUMBER = Signature(
    name="NOT_A_NUMBER",
    source="python",
    pattern=(
        r"could not convert string to float: '(?P<found>[^']*)'"
        r"|invalid literal for int\(\) with base 10: '(?P<whole>[^']*)'"
    ),
    example="could not convert string to float: 'N/A'",
)
AWS_REFUSED = Signature(
    name="AWS_REFUSED",
    source="s3",
    pattern=(
        r"An error occurred \((?P<code>\w+)\) when calling the (?P<operation>\w+) operation"
        r"(?: \(reached max retries: \d+\))?: (?P<why>[^\n]*)"
    ),
    example=(
        "An error occurred (NoSuchKey) when calling the GetObject operation: The specified "
        "key does not exist."
    ),
)
ARROW_AWS_REFUSED = Signature(
    name="ARROW_AWS_REFUSED",
    source="s3",
    pattern=(
        r"(?:key '(?P<key>[^']+)' in bucket '(?P<bucket>[^']+)'[^\n]*?: )?"
        r"AWS Error (?P<code>[A-Z_]+)(?: \[code \d+\])? during (?P<operation>\w+) operation"
        r"(?:: (?P<why>[^\n]*))?"
    ),
    example=(
        "When reading information for key 'part-17.parquet' in bucket 'shop': AWS Error "
        "ACCESS_DENIED during HeadObject operation: No response body."
    ),
)
S3_KEY_MISSING = Signature(
    name="S3_KEY_MISSING",
    source="s3",
    pattern=r"\AThe specified key does not exist\.?$",
    example="The specified key does not exist.",
)
S3_DENIED = Signature(
    name="S3_DENIED",
    source="s3",
    pattern=r"\A(?:Access Denied|Forbidden)\.?$",
    example="Access Denied",
)
AWS_NO_CREDENTIALS = Signature(
    name="AWS_NO_CREDENTIALS",
    source="s3",
    pattern=r"Unable to locate credentials",
    example="Unable to locate credentials",
)
AWS_UNREACHABLE = Signature(
    name="AWS_UNREACHABLE",
    source="s3",
    pattern=r"Could not connect to the endpoint URL: \"(?P<file>[^\"]+)\"",
    example='Could not connect to the endpoint URL: "http://127.0.0.1:9/shop/part-17.csv"',
)
HTTP_REFUSED = Signature(
    name="HTTP_REFUSED",
    source="network",
    pattern=(
        r"(?:HTTP Error )?(?P<code>[45]\d\d)(?: (?:Client|Server) Error)?: (?P<why>[^\n:]+?)"
        r"(?: for url: (?P<file>\S+)|:|\n|$)"
    ),
    example="429 Client Error: Too Many Requests for url: https://api.example.org/orders",
)
HTTP_RETRIES_EXCEEDED = Signature(
    name="HTTP_RETRIES_EXCEEDED",
    source="network",
    # A pool does not survive pickling: what a worker raised has `None` in its place.
    pattern=(
        r"(?:HTTPS?ConnectionPool\(host='[^']+', port=\d+\)|\bNone): "
        r"Max retries exceeded with url: (?P<path>\S+)"
    ),
    example=(
        "HTTPConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: / "
        "(Caused by NewConnectionError('[Errno 111] Connection refused'))"
    ),
)
HTTP_READ_TIMED_OUT = Signature(
    name="HTTP_READ_TIMED_OUT",
    source="network",
    pattern=(
        r"(?:HTTPS?ConnectionPool\(host='[^']+', port=\w+\)|\bNone): Read timed out\."
        r"(?: \(read timeout=(?P<limit>[\d.]+)\))?"
    ),
    example=(
        "HTTPSConnectionPool(host='api.example.org', port=443): Read timed out. "
        "(read timeout=3)"
    ),
)
HTTP_ADDRESS = Signature(
    name="HTTP_ADDRESS",
    source="network",
    pattern=r"HTTPS?Connection(?:Pool)?\(host='(?P<host>[^']+)', port=(?P<port>\d+)\)",
    example="HTTPSConnectionPool(host='api.example.org', port=443): Read timed out.",
)
DATABASE_UNREACHABLE = Signature(
    name="DATABASE_UNREACHABLE",
    source="databases",
    pattern=(
        r"connection to server at \"(?P<host>[^\"]+)\"(?: \([^)]*\))?, port (?P<port>\d+) "
        r"failed: (?:FATAL:\s+)?(?P<why>[^\n]+)"
    ),
    example=(
        'connection to server at "db" (10.0.0.5), port 5432 failed: FATAL:  password '
        'authentication failed for user "etl"'
    ),
)
NO_SUCH_TABLE = Signature(
    name="NO_SUCH_TABLE",
    source="databases",
    pattern=r"no such table: (?P<table>[\w.]+)|relation \"(?P<relation>[^\"]+)\" does not exist",
    example="no such table: orders",
)
NO_SUCH_SQL_COLUMN = Signature(
    name="NO_SUCH_SQL_COLUMN",
    source="databases",
    pattern=r"no such column: (?P<column>[\w.]+)|column \"?(?P<quoted>[\w.]+)\"? does not exist",
    example="no such column: quantity",
)
DATABASE_LOCKED = Signature(
    name="DATABASE_LOCKED",
    source="databases",
    pattern=r"database is locked",
    example="database is locked",
)
