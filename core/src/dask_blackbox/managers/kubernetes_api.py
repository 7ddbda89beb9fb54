"""A small client of the Kubernetes API: `get` and `list`, in bounded time and size.

It finds the API as `kubectl` does: in a pod by the service account's token, elsewhere by the
kubeconfig.  Nothing is ever written.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode

import msgspec

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_MOST_BYTES, _CHUNK = 16 * 2**20, 2**16
_MOST_CONFIG = 2**20
_LONGEST_ERROR = 300
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404


class KubernetesError(Exception):
    """The API was not asked, or did not answer; the text says why.

    Attributes:
        refused: The account may not do it: there is no use in trying again.
        missing: There is no such object.
    """

    def __init__(
        self, text: str, *, refused: bool = False, missing: bool = False
    ) -> None:
        super().__init__(text)
        self.refused, self.missing = refused, missing


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where the API is, and with what it is asked.

    Attributes:
        server: URL of the API.
        namespace: The one of the pod, or of the kubeconfig's context.
        token: File with a token, which is renewed there; None: see `user`.
        authority: File with the certificate of the API's authority.
        cluster: Of the kubeconfig.
        user: Of the kubeconfig.
        folder: To which its relative paths refer.
    """

    server: str
    namespace: str = "default"
    token: Path | None = None
    authority: Path | None = None
    cluster: Mapping[str, Any] = field(default_factory=dict)
    user: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()


def find_access(
    environ: Mapping[str, str], *, service_account: Path = SERVICE_ACCOUNT
) -> Access:
    """Return how the API is reached from this process.

    Args:
        environ: Environment variables.
        service_account: Folder with the pod's token.

    Raises:
        KubernetesError: it is not known.
    """
    host, token = environ.get("KUBERNETES_SERVICE_HOST"), service_account / "token"
    if host and token.is_file():
        host = f"[{host}]" if ":" in host else host
        port = environ.get("KUBERNETES_SERVICE_PORT", "443")
        namespace = "default"
        with suppress(OSError):
            namespace = (service_account / "namespace").read_text("utf-8").strip()
        return Access(
            server=f"https://{host}:{port}",
            namespace=namespace,
            token=token,
            authority=service_account / "ca.crt",
        )
    named = environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    files = [Path(each).expanduser() for each in named.split(os.pathsep) if each]
    if not any(each.is_file() for each in files):
        reason = "the pod has no service account's token" if host else "not in a pod"
        raise KubernetesError(f"{reason}, and there is no kubeconfig", refused=True)
    try:
        return _access_of_config([each for each in files if each.is_file()])
    except (OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        text = f"the kubeconfig cannot be used: {type(error).__name__}: {error}"
        raise KubernetesError(text[:_LONGEST_ERROR], refused=True) from error


def _access_of_config(files: list[Path]) -> Access:
    """Return what a kubeconfig says, in one file or several; the first to name a thing counts."""
    import yaml

    current, found = "", dict[tuple[str, str], tuple[Mapping[str, Any], Path]]()
    for file in files:
        with file.open("rb") as opened:
            text = opened.read(_MOST_CONFIG)
        try:
            config = yaml.safe_load(text) or {}
        except yaml.YAMLError as error:
            raise ValueError(f"{file} is no YAML") from error
        current = current or str(config.get("current-context") or "")
        for kind in ("cluster", "context", "user"):
            for each in config.get(f"{kind}s") or ():
                held = each.get(kind) or {}
                found.setdefault((kind, str(each["name"])), (held, file.parent))
    if ("context", current) not in found:
        raise LookupError(f"it has no current context ({current!r})")
    context, _ = found["context", current]
    cluster, folder = found["cluster", str(context["cluster"])]
    user, of_user = found.get(("user", str(context.get("user"))), ({}, folder))
    return Access(
        server=str(cluster["server"]).rstrip("/"),
        namespace=str(context.get("namespace") or "default"),
        cluster=cluster,
        user=user,
        folder=of_user,
        authority=_path(cluster, "certificate-authority", folder),
    )


def _path(held: Mapping[str, Any], name: str, folder: Path) -> Path | None:
    return folder / Path(str(held[name])) if held.get(name) else None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """An API does not redirect; whoever does must not get the token."""

    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


class KubernetesClient:
    """Asks the API.  Used by one thread.

    Args:
        access: From `find_access`.
    """

    def __init__(self, access: Access) -> None:
        self.access = access
        self._opener: urllib.request.OpenerDirector | None = None
        self._issued: Mapping[str, Any] | None = None

    def get(self, path: str, *, within: float, **query: str | int) -> bytes:
        """Return the answer of the API.

        Args:
            path: From its root, `/api/v1/…`.
            within: Seconds that it may take.
            query: Parameters.

        Raises:
            KubernetesError: there is none.
        """
        deadline = time.monotonic() + within
        url = f"{self.access.server}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            return self._answer(url, deadline)
        except HTTPError as error:
            if error.code != _UNAUTHORISED or self._issued is None:
                raise _refusal(error) from error
            self._issued = self._opener = None  # what a program issued has expired
            try:
                return self._answer(url, deadline)
            except HTTPError as again:
                raise _refusal(again) from again

    def _answer(self, url: str, deadline: float) -> bytes:
        try:
            headers = {"Accept": "application/json"} | self._authorisation(deadline)
            opener = self._opener = self._opener or self._made_opener()
            request = urllib.request.Request(url, headers=headers)  # noqa: S310
            with opener.open(request, timeout=_until(deadline)) as response:
                parts, length = [], 0
                while part := response.read1(_CHUNK):
                    parts.append(part)
                    length += len(part)
                    if length > _MOST_BYTES:
                        text = f"its answer is longer than {_MOST_BYTES >> 20} MiB"
                        raise KubernetesError(text)
                    _until(deadline)
                return b"".join(parts)
        except HTTPError:
            raise
        except TimeoutError as error:
            raise KubernetesError("it did not answer in time") from error
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            if isinstance(reason, TimeoutError):
                raise KubernetesError("it did not answer in time") from error
            raise KubernetesError(str(reason)[:_LONGEST_ERROR]) from error

    def _authorisation(self, deadline: float) -> dict[str, str]:
        user = self.access.user
        file = self.access.token or _path(user, "tokenFile", self.access.folder)
        token = user.get("token")
        if file is not None:  # renewed by the kubelet
            token = file.read_text("utf-8").strip()
        elif not token and user.get("exec"):
            if self._issued is None:
                self._issued = _issued(self.access, _until(deadline))
            token = self._issued.get("token")
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _made_opener(self) -> urllib.request.OpenerDirector:
        access = self.access
        data = access.cluster.get("certificate-authority-data")
        context = ssl.create_default_context(
            cafile=access.authority,
            cadata=base64.b64decode(data).decode("ascii") if data else None,
        )
        if access.cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        with _client_certificate(access, self._issued or {}) as files:
            if files is not None:
                context.load_cert_chain(*files)
        handlers = [_NoRedirects(), urllib.request.HTTPSHandler(context=context)]
        if access.token is not None:  # the API of the pod's own cluster
            return urllib.request.build_opener(
                urllib.request.ProxyHandler({}), *handlers
            )
        if proxy := access.cluster.get("proxy-url"):
            proxies = {"http": str(proxy), "https": str(proxy)}
            handlers.append(urllib.request.ProxyHandler(proxies))
        return urllib.request.build_opener(*handlers)


def _until(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining


class _Status(msgspec.Struct):
    message: str = ""


# Made at import: see docs/decisions/0014-decoders-at-import.md.
_decode_status = msgspec.json.Decoder(_Status).decode


def _refusal(error: HTTPError) -> KubernetesError:
    """Return what the API says in an answer that is an error."""
    text = ""
    with suppress(OSError, ValueError, msgspec.MsgspecError):
        text = _decode_status(error.read(_CHUNK)).message
    refused = error.code in (_UNAUTHORISED, _FORBIDDEN)
    said = f"HTTP {error.code}: {text or error.reason}"
    missing = error.code == _NOT_FOUND
    return KubernetesError(said[:_LONGEST_ERROR], refused=refused, missing=missing)


_API = "client.authentication.k8s.io/v1"


def _issued(access: Access, timeout: float) -> Mapping[str, Any]:
    """Return what the program of the kubeconfig issues (`aws eks get-token`, …)."""
    held = access.user["exec"]
    info = {
        "apiVersion": held.get("apiVersion") or _API,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    own = {str(each["name"]): str(each["value"]) for each in held.get("env") or ()}
    command = [str(held["command"]), *map(str, held.get("args") or ())]
    try:
        done = subprocess.run(  # noqa: S603 - the user's own, as kubectl runs it
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            env={**os.environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            check=True,
        )
        status = json.loads(done.stdout)["status"]
    except subprocess.TimeoutExpired as error:
        raise KubernetesError(f"`{command[0]}` did not answer in time") from error
    except (subprocess.CalledProcessError, OSError, ValueError, LookupError) as error:
        text = f"`{command[0]}` issued no credentials: {type(error).__name__}"
        raise KubernetesError(text, refused=True) from error
    if not isinstance(status, Mapping):
        raise KubernetesError(f"`{command[0]}` issued no credentials", refused=True)
    return status


@contextmanager
def _client_certificate(
    access: Access, issued: Mapping[str, Any]
) -> Iterator[tuple[Path, Path] | None]:
    """Give the files of the client's certificate and key, which exist only meanwhile."""
    user, folder = access.user, access.folder
    certificate = _path(user, "client-certificate", folder)
    key = _path(user, "client-key", folder)
    if certificate is not None and key is not None:
        yield certificate, key
        return
    texts = [
        base64.b64decode(user[f"{name}-data"]) if user.get(f"{name}-data") else b""
        for name in ("client-certificate", "client-key")
    ]
    if issued.get("clientCertificateData") and issued.get("clientKeyData"):
        names = ("clientCertificateData", "clientKeyData")
        texts = [str(issued[name]).encode() for name in names]
    if not all(texts):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="dask-blackbox-") as made:
        files = Path(made) / "certificate", Path(made) / "key"
        for file, text in zip(files, texts, strict=True):
            file.write_bytes(text)
        yield files
