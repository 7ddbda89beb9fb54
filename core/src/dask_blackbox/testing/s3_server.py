"""An S3 server on the loopback interface, in a process of its own, for demo and tests.

It is moto's: it forgets everything when it ends, and takes any credentials.
`python -m dask_blackbox.testing.s3_server` starts one, prints its port, and serves until
its standard input is closed, so that it cannot outlive whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from dask_blackbox.errors import BlackboxError

_TIMEOUT = 60.0  # seconds; an import of moto on a busy machine takes its time


@dataclass(frozen=True)
class EmbeddedS3:
    """An S3 server that runs.

    Attributes:
        endpoint: Its URL.
        bucket: A bucket that is there.
        key: Access key.
        secret: Secret key.
        region: Region.
        pid: Of its process.
    """

    endpoint: str
    bucket: str
    pid: int
    key: str = "testing"
    secret: str = field(default="testing", repr=False)
    region: str = "us-east-1"

    @property
    def url(self) -> str:
        """The bucket as a store's URL."""
        return f"s3://{self.bucket}"

    @property
    def settings(self) -> dict[str, Any]:
        """What `open_store(settings=…)` needs."""
        return {
            "endpoint": self.endpoint,
            "key": self.key,
            "secret": self.secret,
            "region": self.region,
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same for another process: variables for us, and for boto3 and others."""
        ours = {
            f"DASK_BLACKBOX__STORE__{name.upper()}": value
            for name, value in (self.settings | {"url": self.url}).items()
        }
        return ours | {
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_DEFAULT_REGION": self.region,
        }

    def client(self, service: str = "s3", **more: object) -> Any:
        """Return a boto3 client, to look at the server without our stores."""
        import boto3
        from botocore.config import Config

        known = {
            "endpoint_url": self.endpoint,
            "aws_access_key_id": self.key,
            "aws_secret_access_key": self.secret,
            "region_name": self.region,
            "config": Config(s3={"addressing_style": "path"}),
        }
        return boto3.session.Session().client(service, **known | more)  # type: ignore[call-overload]


@contextmanager
def embedded_s3(
    bucket: str = "recordings", *, environment: Mapping[str, str] | None = None
) -> Iterator[EmbeddedS3]:
    """Start an S3 server with an empty bucket; end it at the end of the block.

    Args:
        bucket: Made at once; empty: none is made.
        environment: More environment variables for moto.

    Raises:
        BlackboxError: if it does not start.
    """
    command = [sys.executable, "-m", "dask_blackbox.testing.s3_server"]
    with running_server(command, environment=environment) as (port, pid):
        server = EmbeddedS3(f"http://127.0.0.1:{port}", bucket, pid)
        if bucket:
            server.client().create_bucket(Bucket=bucket)
        yield server


@contextmanager
def running_server(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    timeout: float = _TIMEOUT,
) -> Iterator[tuple[int, int]]:
    """Run a server that prints its port once it listens, and ends with its standard input.

    Args:
        command: That starts it.
        environment: More variables.
        timeout: Seconds until it has to have printed its port.

    Yields:
        Its port and its process id.

    Raises:
        BlackboxError: if it does not start.
    """
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 - the caller's own command
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,  # not a pipe: nobody empties it
            env={**os.environ, **(environment or {})},
            # A terminal's Ctrl-C is for whoever started it, and uploads on its way out.
            start_new_session=True,
        )
        try:
            yield _port_of(process, errors, timeout), process.pid
        finally:
            _end(process)


def _port_of(
    process: subprocess.Popen[bytes], errors: IO[bytes], timeout: float
) -> int:
    """Return the port that the server reports once it listens."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    lines: list[bytes] = []
    stdout = process.stdout
    reading = threading.Thread(
        target=lambda: lines.append(stdout.readline()), daemon=True
    )
    reading.start()
    reading.join(timeout)
    if lines and lines[0].strip().isdigit():
        return int(lines[0])
    process.kill()
    process.wait()
    errors.seek(0)
    text = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    raise BlackboxError(
        f"the S3 server did not start ({text or 'it said nothing'}); "
        "the embedded one needs `pip install 'dask-blackbox[demo]'`"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def _serve() -> None:
    import logging

    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        create_backend_app,
    )
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps connections, twice as fast

        def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002
            """Print nothing."""

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    print(server.port, flush=True)  # noqa: T201 - this is how the parent learns it
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    _serve()
