"""What file systems, object stores, networks and databases say when they refuse."""

from __future__ import annotations

from dask_blackbox.analyse.signatures.signature import Signature

NO_SUCH_FILE = Signature(
    r"\[Errno 2\] No such file or directory: '(?P<file>[^']+)'",
    "[Errno 2] No such file or directory: '/data/in/orders.csv'",
    source="kernel",
)
FILE_PERMISSION_DENIED = Signature(
    r"\[Errno 13\] Permission denied: '(?P<file>[^']+)'",
    "[Errno 13] Permission denied: '/data/in/orders.csv'",
    source="kernel",
)
CONNECTION_RESET = Signature(
    r"\[Errno 104\] |Connection reset by peer",
    "[Errno 104] Connection reset by peer",
    source="kernel",
)
CONNECTION_REFUSED = Signature(
    r"\[Errno 111\] |Connection refused",
    "[Errno 111] Connection refused",
    source="kernel",
)
NAME_NOT_RESOLVED = Signature(
    (
        r"\[Errno -[235]\] |Name or service not known"
        r"|Temporary failure in name resolution|nodename nor servname provided"
    ),
    "[Errno -2] Name or service not known",
    source="kernel",
)
NOT_THAT_ENCODING = Signature(
    (
        r"'(?P<expected>[\w-]+)' codec can't decode bytes? (?P<found>0x[0-9a-f]{2})?"
        r".*?in position (?P<position>\d+)"
    ),
    "'utf-8' codec can't decode byte 0xf6 in position 12: invalid start byte",
    source="python",
)
NOT_A_NUMBER = Signature(
    (
        r"could not convert string to float: '(?P<found>[^']*)'"
        r"|invalid literal for int\(\) with base 10: '(?P<whole>[^']*)'"
    ),
    "could not convert string to float: 'N/A'",
    source="python",
)
NOT_A_DECIMAL = Signature(
    r"<class 'decimal\.ConversionSyntax'>",
    "[<class 'decimal.ConversionSyntax'>]",
    source="python",
)
AWS_REFUSED = Signature(
    (
        r"An error occurred \((?P<code>\w+)\) when calling the (?P<operation>\w+) operation"
        r"(?: \(reached max retries: \d+\))?: (?P<why>[^\n]*)"
    ),
    (
        "An error occurred (NoSuchKey) when calling the GetObject operation: The specified "
        "key does not exist."
    ),
    source="s3",
)
ARROW_AWS_REFUSED = Signature(
    (
        r"(?:key '(?P<key>[^']+)' in bucket '(?P<bucket>[^']+)'[^\n]*?: )?"
        r"AWS Error (?P<code>[A-Z_]+)(?: \[code \d+\])? during (?P<operation>\w+) operation"
        r"(?:: (?P<why>[^\n]*))?"
    ),
    (
        "When reading information for key 'part-17.parquet' in bucket 'shop': AWS Error "
        "ACCESS_DENIED during HeadObject operation: No response body."
    ),
    source="s3",
)
S3_KEY_MISSING = Signature(
    r"\AThe specified key does not exist\.?$",
    "The specified key does not exist.",
    source="s3",
)
S3_DENIED = Signature(
    r"\A(?:Access Denied|Forbidden)\.?$", "Access Denied", source="s3"
)
AWS_NO_CREDENTIALS = Signature(
    r"Unable to locate credentials", "Unable to locate credentials", source="s3"
)
AWS_UNREACHABLE = Signature(
    r"Could not connect to the endpoint URL: \"(?P<file>[^\"]+)\"",
    'Could not connect to the endpoint URL: "http://127.0.0.1:9/shop/part-17.csv"',
    source="s3",
)
HTTP_REFUSED = Signature(
    (
        r"(?:HTTP Error )?(?P<code>[45]\d\d)(?: (?:Client|Server) Error)?: (?P<why>[^\n:]+?)"
        r"(?: for url: (?P<file>\S+)|:|\n|$)"
    ),
    "429 Client Error: Too Many Requests for url: https://api.example.org/orders",
    source="network",
)
PROXY_FAILED = Signature(
    # Of requests and urllib3, botocore, http.client, aiohttp.
    (
        r"Unable to connect to proxy|Failed to connect to proxy URL|"
        r"Tunnel connection failed: |Cannot connect to proxy|ProxyConnectionError"
    ),
    (
        "HTTPSConnectionPool(host='store.example.org', port=443): Max retries exceeded with "
        "url: / (Caused by ProxyError('Unable to connect to proxy', OSError('Tunnel "
        "connection failed: 403 Forbidden')))"
    ),
    source="network",
)
HTTP_RETRIES_EXCEEDED = Signature(
    # A pool does not survive pickling: what a worker raised has `None` in its place.
    (
        r"(?:HTTPS?ConnectionPool\(host='[^']+', port=\d+\)|\bNone): "
        r"Max retries exceeded with url: (?P<path>\S+)"
    ),
    (
        "HTTPConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: / "
        "(Caused by NewConnectionError('[Errno 111] Connection refused'))"
    ),
    source="network",
)
HTTP_READ_TIMED_OUT = Signature(
    (
        r"(?:HTTPS?ConnectionPool\(host='[^']+', port=\w+\)|\bNone): Read timed out\."
        r"(?: \(read timeout=(?P<limit>[\d.]+)\))?"
    ),
    (
        "HTTPSConnectionPool(host='api.example.org', port=443): Read timed out. "
        "(read timeout=3)"
    ),
    source="network",
)
HTTP_ADDRESS = Signature(
    r"HTTPS?Connection(?:Pool)?\(host='(?P<host>[^']+)', port=(?P<port>\d+)\)",
    "HTTPSConnectionPool(host='api.example.org', port=443): Read timed out.",
    source="network",
)
DATABASE_UNREACHABLE = Signature(
    (
        r"connection to server at \"(?P<host>[^\"]+)\"(?: \([^)]*\))?, port (?P<port>\d+) "
        r"failed: (?:FATAL:\s+)?(?P<why>[^\n]+)"
    ),
    (
        'connection to server at "db" (10.0.0.5), port 5432 failed: FATAL:  password '
        'authentication failed for user "etl"'
    ),
    source="databases",
)
NO_SUCH_TABLE = Signature(
    r"no such table: (?P<table>[\w.]+)|relation \"(?P<relation>[^\"]+)\" does not exist",
    "no such table: orders",
    source="databases",
)
NO_SUCH_SQL_COLUMN = Signature(
    r"no such column: (?P<column>[\w.]+)|column \"?(?P<quoted>[\w.]+)\"? does not exist",
    "no such column: quantity",
    source="databases",
)
DATABASE_LOCKED = Signature(
    r"database is locked", "database is locked", source="databases"
)
