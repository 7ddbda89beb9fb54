"""A Kubernetes API over HTTP that serves what a test put there, as real ones have answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

NAMESPACE = "shop"
_PREFIX = f"/api/v1/namespaces/{NAMESPACE}"


class KubernetesApi(ThreadingHTTPServer):
    """The API of one namespace.

    Attributes:
        pods: By name.
        events: In the order of time.
        logs: Of pods, by name.
        refused: Resources (`events`) that the account may not read.
        page: How many objects a list has.
        asked: Path and parameters of each request, and its token.
        answers: Whether it answers; if not, it keeps the connection open.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.pods: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.logs: dict[str, str] = {}
        self.refused: set[str] = set()
        self.page = 1_000
        self.asked: list[tuple[str, dict[str, str], str]] = []
        self.answers = Event()
        self.answers.set()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def configured(self, folder: Path, **user: Any) -> dict[str, str]:
        """Return an environment with a kubeconfig in a folder."""
        config = {
            "current-context": "here",
            "clusters": [{"name": "this", "cluster": {"server": self.url}}],
            "users": [{"name": "somebody", "user": user}],
            "contexts": [
                {
                    "name": "here",
                    "context": {
                        "cluster": "this",
                        "user": "somebody",
                        "namespace": NAMESPACE,
                    },
                }
            ],
        }
        (folder / "config").write_text(json.dumps(config), "utf-8")
        return {"KUBECONFIG": str(folder / "config")}

    def add(self, pod: dict[str, Any]) -> None:
        """Add a pod, or replace it."""
        self.pods[pod["metadata"]["name"]] = pod

    def event(self, pod: str, reason: str, message: str, **fields: Any) -> None:
        """Add an event about a pod."""
        about = {"kind": "Pod", "name": pod, **fields.pop("about", {})}
        self.events.append(
            {
                "involvedObject": about,
                "reason": reason,
                "message": message,
                "type": "Warning",
                "lastTimestamp": "2026-11-29T10:00:05Z",
                **fields,
            }
        )


class _Handler(BaseHTTPRequestHandler):
    server: KubernetesApi

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        token = self.headers.get("Authorization", "")
        self.server.asked.append((parts.path, query, token))
        self.server.answers.wait(60)
        words = parts.path.removeprefix(f"{_PREFIX}/").split("/")
        if words[-1] in self.server.refused or words[0] in self.server.refused:
            text = f'{words[0]} is forbidden: User "system:serviceaccount:shop:etl" cannot list'
            self._send(403, {"kind": "Status", "message": f"{text} resource"})
        elif words[0] == "pods" and len(words) == 3:
            self._send(200, self.server.logs.get(words[1], ""))
        elif words[0] == "pods" and len(words) == 2:
            pod = self.server.pods.get(words[1])
            missing = {"kind": "Status", "message": f'pods "{words[1]}" not found'}
            self._send(200 if pod else 404, pod or missing)
        else:
            self._send_list(words[0], query)

    def _send_list(self, kind: str, query: dict[str, str]) -> None:
        items = (
            list(self.server.pods.values()) if kind == "pods" else self.server.events
        )
        label, _, value = query.get("labelSelector", "").partition("=")
        if label:
            items = [
                x for x in items if x["metadata"].get("labels", {}).get(label) == value
            ]
        first = int(query.get("continue", 0))
        size = min(self.server.page, int(query.get("limit", 1_000)))
        rest = str(first + size) if first + size < len(items) else ""
        page = items[first : first + size]
        self._send(200, {"metadata": {"continue": rest}, "items": page})

    def _send(self, code: int, body: object) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.send_response(code)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def kubernetes_api() -> Iterator[KubernetesApi]:
    """Serve an API meanwhile."""
    with KubernetesApi() as api:
        serving = Thread(target=api.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield api
        finally:
            api.answers.set()
            api.shutdown()
            serving.join()


def a_pod(
    name: str = "shop-default-worker-1a2b3c4d5e-5d9c7bf4c8-x7k2p", **status: Any
) -> dict[str, Any]:
    """Return a pod of a worker, as the API shows it."""
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-of-{name}",
            "labels": {"dask.org/cluster-name": "shop", "dask.org/component": "worker"},
            "creationTimestamp": "2026-11-29T10:00:00Z",
            "ownerReferences": [
                {"kind": "ReplicaSet", "name": name.rpartition("-")[0]}
            ],
        },
        "spec": {
            "nodeName": "ip-10-0-0-7",
            "containers": [
                {"name": "istio-proxy", "image": "istio/proxyv2"},
                {
                    "name": "worker",
                    "image": "registry.example.com/nightly:7",
                    "env": [
                        {
                            "name": "DASK_WORKER_NAME",
                            "value": "shop-default-worker-1a2b3c4d5e",
                        },
                        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "x"}}},
                    ],
                    "resources": {
                        "limits": {"cpu": 2, "memory": "2Gi"},
                        "requests": {"cpu": "500m", "memory": "1Gi"},
                    },
                },
            ],
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.3.4",
            "startTime": "2026-11-29T10:00:01Z",
            **status,
        },
    }


def a_container(
    name: str = "worker", restarts: int = 0, **states: Any
) -> dict[str, Any]:
    """Return the status of a container: `state` and `lastState` as the API has them."""
    return {"name": name, "restartCount": restarts, **states}


def terminated(reason: str, code: int, **fields: Any) -> dict[str, Any]:
    """Return how a container ended."""
    ended = {
        "startedAt": "2026-11-29T10:00:02Z",
        "finishedAt": "2026-11-29T10:00:30Z",
        "containerID": "containerd://0f",
    }
    return {"terminated": {"reason": reason, "exitCode": code, **ended, **fields}}
