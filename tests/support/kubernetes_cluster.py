"""A Kubernetes cluster without containers: an API, one node, and the processes of its pods.

The API is kmock with what a real one adds: resource versions, label selectors, JSON patches,
owners whose dependents are deleted with them.  The node runs the command of each pod's container
as a local process and writes its states and events, as scheduler, kubelet and controllers do:
a request that exceeds the node's memory is not scheduled, the image `missing…` cannot be pulled,
a container that uses more memory than its limit is killed.  `POST /control/VERB/POD` evicts a pod
(`drain`, `evict`, `preempt`).

    python kubernetes_cluster.py FOLDER

prints the address of the API once it listens.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp  # type: ignore[import-not-found]
import jsonpatch
import kmock  # type: ignore[import-not-found]
import psutil

NODE = "node-1"
NODE_MEMORY = 64 * 2**30
_GRACE = 3.0
_LOOK = 0.1
_RESOURCES = {
    "v1/pods": ("Pod", {"status", "eviction", "log"}),
    "v1/services": ("Service", {"status"}),
    "v1/events": ("Event", set()),
    "v1/namespaces": ("Namespace", set()),
    "v1/nodes": ("Node", set()),
    "v1/configmaps": ("ConfigMap", set()),
    "apps/v1/deployments": ("Deployment", {"status", "scale"}),
    "apiextensions.k8s.io/v1/customresourcedefinitions": (
        "CustomResourceDefinition",
        set(),
    ),
    "kubernetes.dask.org/v1/daskclusters": ("DaskCluster", {"status", "scale"}),
    "kubernetes.dask.org/v1/daskworkergroups": ("DaskWorkerGroup", {"status", "scale"}),
    "kubernetes.dask.org/v1/daskjobs": ("DaskJob", {"status"}),
    "kubernetes.dask.org/v1/daskautoscalers": ("DaskAutoscaler", {"status"}),
}
_WITHOUT_NAMESPACE = ("namespaces", "nodes", "customresourcedefinitions")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _merge(old: Any, new: Any) -> Any:
    """Return the merge patch that makes one object of another."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    changed = {k: _merge(old.get(k), v) for k, v in new.items() if old.get(k) != v}
    return changed | {k: None for k in old if k not in new}


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_null(v) for k, v in value.items() if v is not None}
    return [_without_null(v) for v in value] if isinstance(value, list) else value


class Api(kmock.KubernetesEmulator):  # type: ignore[misc]
    """kmock, and what clients expect of a real API."""

    version = 0

    async def _handle(self, request: Any) -> Any:
        if request.resource is not None and isinstance(request.data, (dict, list)):
            self._complete(request)
        return await super()._handle(request)

    def _complete(self, request: Any) -> None:
        """Set what a server sets in an object that is made or changed."""
        Api.version += 1
        if request.action == kmock.action.CREATE:
            object.__setattr__(request, "data", _without_null(request.data))
            meta = request.data.setdefault("metadata", {})
            if generated := meta.pop("generateName", None):
                meta.setdefault("name", generated + uuid.uuid4().hex[:5])
            meta["uid"], meta["creationTimestamp"] = str(uuid.uuid4()), _now()
            meta["generation"] = 1
            if request.namespace:
                meta["namespace"] = request.namespace
            meta["resourceVersion"] = str(Api.version)
        elif request.action == kmock.action.UPDATE and request.name:
            key = (request.resource, request.namespace, request.name)
            if isinstance(request.data, list) and key in self._objects:
                raw = json.loads(json.dumps(dict(self._objects[key].raw)))
                try:
                    patched = jsonpatch.apply_patch(raw, request.data)
                except jsonpatch.JsonPatchException as error:
                    raise kmock.KubernetesError(
                        422, "Invalid", str(error), {}
                    ) from error
                object.__setattr__(request, "data", _merge(raw, patched))
            meta = request.data.setdefault("metadata", {})
            meta["resourceVersion"] = str(Api.version)

    async def _serve_list(self, request: Any) -> Any:
        listed = await super()._serve_list(request)
        listed["items"] = [x for x in listed["items"] if _is_selected(request, x)]
        listed["metadata"]["resourceVersion"] = str(Api.version)
        kind = _RESOURCES[_name_of(request.resource)][0]
        return {"kind": f"{kind}List", "apiVersion": "v1", **listed}

    async def _serve_watch(self, request: Any) -> Any:
        async for event in super()._serve_watch(request):
            if isinstance(event, bytes) or _is_selected(request, event["object"]):
                yield event


def _name_of(resource: Any) -> str:
    group = f"{resource.group}/" if resource.group else ""
    return f"{group}{resource.version}/{resource.plural}"


def _is_selected(request: Any, item: Any) -> bool:
    labels = item.get("metadata", {}).get("labels") or {}
    for term in filter(None, request.params.get("labelSelector", "").split(",")):
        name, _, value = term.partition("=")
        if labels.get(name) != value.lstrip("="):
            return False
    for term in filter(None, request.params.get("fieldSelector", "").split(",")):
        path, _, value = term.partition("=")
        held = item
        for part in path.split("."):
            held = (held or {}).get(part)
        if held != value.lstrip("="):
            return False
    return True


def _bytes(quantity: str) -> int:
    found = re.fullmatch(r"([\d.]+)(\w*)", str(quantity))
    assert found is not None
    number, unit = found.groups()
    powers = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "M": 10**6, "G": 10**9}
    return int(float(number) * powers[unit])


class Node:
    """Scheduler, kubelet and controllers of a cluster with one node."""

    def __init__(self, http: aiohttp.ClientSession, url: str, folder: Path) -> None:
        self.http, self.url, self.folder = http, url, folder
        self.pods: dict[str, asyncio.Task[None]] = {}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.ends: dict[str, str] = {}
        self.ending: set[asyncio.Task[None]] = set()

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        async with self.http.request(
            method,
            self.url + path,
            json=body,
            headers={"Content-Type": "application/merge-patch+json"}
            if method == "PATCH"
            else None,
        ) as answer:
            return await answer.json() if answer.status < 300 else None

    async def items(self, path: str) -> list[Any]:
        found: list[Any] = (await self.call("GET", path) or {}).get("items", [])
        return found

    async def run(self) -> None:
        while True:
            await self.control_deployments()
            await self.collect_garbage()
            await self.serve_services()
            pods = {p["metadata"]["name"]: p for p in await self.items("/api/v1/pods")}
            for name, pod in pods.items():
                if name not in self.pods:
                    self.pods[name] = asyncio.create_task(self.run_pod(pod))
            for name in [n for n in self.processes if n not in pods]:
                await self.stop(name)
            await asyncio.sleep(_LOOK)

    async def control_deployments(self) -> None:
        """Keep one pod for each deployment."""
        pods = await self.items("/api/v1/pods")
        living = {
            o["uid"]
            for p in pods
            for o in p["metadata"].get("ownerReferences", ())
            if p.get("status", {}).get("phase") not in ("Failed", "Succeeded")
            and not p["metadata"].get("deletionTimestamp")
        }
        for each in await self.items("/apis/apps/v1/deployments"):
            meta, template = each["metadata"], each["spec"]["template"]
            if meta["uid"] in living or meta.get("deletionTimestamp"):
                continue
            owner = {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": meta["name"],
                "uid": meta["uid"],
                "controller": True,
            }
            await self.call(
                "POST",
                f"/api/v1/namespaces/{meta['namespace']}/pods",
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "spec": template["spec"],
                    "metadata": {
                        "generateName": f"{meta['name']}-5d9c7bf4c8-",
                        "labels": template["metadata"].get("labels", {}),
                        "ownerReferences": [owner],
                    },
                    "status": {"phase": "Pending"},
                },
            )

    async def collect_garbage(self) -> None:
        """Delete what belongs to objects that are gone."""
        found = []
        for path in (
            "/apis/kubernetes.dask.org/v1/daskclusters",
            "/apis/kubernetes.dask.org/v1/daskworkergroups",
            "/apis/kubernetes.dask.org/v1/daskjobs",
            "/apis/apps/v1/deployments",
            "/api/v1/services",
            "/api/v1/pods",
        ):
            found += [(path, each) for each in await self.items(path)]
        uids = {each["metadata"]["uid"] for _, each in found}
        for path, each in found:
            owners = each["metadata"].get("ownerReferences") or []
            if owners and not any(o["uid"] in uids for o in owners):
                base, _, plural = path.rpartition("/")
                meta = each["metadata"]
                if plural == "pods" and meta["name"] in self.processes:
                    self.ending.add(asyncio.create_task(self.end(each, "")))
                    continue
                await self.call(
                    "DELETE",
                    f"{base}/namespaces/{meta['namespace']}/{plural}/{meta['name']}",
                )

    async def serve_services(self) -> None:
        for each in await self.items("/api/v1/services"):
            if not each.get("status"):
                await self.call(
                    "PATCH",
                    _path(each, "services"),
                    {"status": {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}}},
                )

    # One pod

    async def event(
        self, pod: Any, reason: str, message: str, kind: str = "Warning"
    ) -> None:
        meta = pod["metadata"]
        await self.call(
            "POST",
            f"/api/v1/namespaces/{meta['namespace']}/events",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "reason": reason,
                "message": message,
                "type": kind,
                "metadata": {"name": f"{meta['name']}.{uuid.uuid4().hex[:8]}"},
                "involvedObject": {
                    "kind": "Pod",
                    "name": meta["name"],
                    "uid": meta["uid"],
                },
                "firstTimestamp": _now(),
                "lastTimestamp": _now(),
                "count": 1,
            },
        )

    async def status(self, pod: Any, **fields: Any) -> None:
        await self.call("PATCH", _path(pod, "pods"), {"status": fields})

    async def run_pod(self, pod: Any) -> None:
        container = pod["spec"]["containers"][0]
        resources = container.get("resources") or {}
        wanted = (resources.get("requests") or {}).get("memory", "0")
        if _bytes(wanted) > NODE_MEMORY:
            text = (
                "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are "
                "available: 1 No preemption victims found for incoming pod."
            )
            await self.status(
                pod,
                conditions=[
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": text,
                    }
                ],
            )
            await self.event(pod, "FailedScheduling", text)
            return
        await self.call("PATCH", _path(pod, "pods"), {"spec": {"nodeName": NODE}})
        if "missing" in container["image"]:
            text = f'Back-off pulling image "{container["image"]}"'
            await self.event(
                pod, "Failed", f'Failed to pull image "{container["image"]}": not found'
            )
            await self.status(
                pod, containerStatuses=[_waiting(container, "ImagePullBackOff", text)]
            )
            return
        restarts = 0
        last: dict[str, Any] = {}
        while True:
            started = _now()
            process = await self.start(pod, container)
            ip = "127.0.0.1"
            await self.status(
                pod,
                phase="Running",
                podIP=ip,
                startTime=started,
                containerStatuses=[
                    {
                        "name": container["name"],
                        "ready": True,
                        "restartCount": restarts,
                        "state": {"running": {"startedAt": started}},
                        "lastState": last,
                    }
                ],
                conditions=[
                    {"type": "Ready", "status": "True"},
                    {"type": "ContainersReady", "status": "True"},
                ],
            )
            code, reason = await self.wait(pod, process, resources)
            name = pod["metadata"]["name"]
            ended = {
                "exitCode": code if code >= 0 else 128 - code,
                "reason": reason,
                "startedAt": started,
                "finishedAt": _now(),
            }
            if name in self.ends:
                return
            last = {"terminated": ended}
            restarts += 1
            if pod["spec"].get("restartPolicy", "Always") == "Never":
                await self.status(
                    pod,
                    phase="Failed" if code else "Succeeded",
                    containerStatuses=[
                        {
                            "name": container["name"],
                            "restartCount": 0,
                            "ready": False,
                            "state": last,
                            "lastState": {},
                        }
                    ],
                )
                return
            await self.status(
                pod,
                containerStatuses=[
                    {
                        "name": container["name"],
                        "ready": False,
                        "restartCount": restarts,
                        "state": {
                            "waiting": {
                                "reason": "CrashLoopBackOff",
                                "message": "back-off restarting",
                            }
                        },
                        "lastState": last,
                    }
                ],
            )
            await asyncio.sleep(min(2.0 * restarts, 10))

    async def start(self, pod: Any, container: Any) -> asyncio.subprocess.Process:
        name = pod["metadata"]["name"]
        own = {v["name"]: v.get("value", "") for v in container.get("env") or ()}
        env = {**os.environ, **own, "HOSTNAME": name}
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        words = [re.sub(r"\$\((\w+)\)", lambda m: env.get(m[1], ""), w) for w in words]
        place = self.folder / name
        place.mkdir(exist_ok=True)
        with (place / "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *words,
                env=env,
                cwd=place,
                stdout=log,
                stderr=log,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    async def wait(
        self, pod: Any, process: asyncio.subprocess.Process, resources: Any
    ) -> tuple[int, str]:
        """Wait for a container, and kill it if it uses more memory than it may."""
        limit = (resources.get("limits") or {}).get("memory")
        waiting = asyncio.ensure_future(process.wait())
        killed = False
        while not (await asyncio.wait((waiting,), timeout=0.05))[0]:
            if limit and not killed and _used(process.pid) > _bytes(limit):
                killed = True
                _signal(process.pid, signal.SIGKILL)
        code = waiting.result()
        _signal(process.pid, signal.SIGKILL)
        return (
            (-9, "OOMKilled")
            if killed
            else (code, "Completed" if code == 0 else "Error")
        )

    async def stop(self, name: str) -> None:
        process = self.processes.pop(name)
        self.ends.setdefault(name, "")
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE)
        _signal(process.pid, signal.SIGKILL)

    async def end(self, pod: Any, verb: str) -> None:
        """End a pod as Kubernetes does, for a reason."""
        name = pod["metadata"]["name"]
        if name in self.ends:
            return
        self.ends[name] = verb
        path = _path(pod, "pods")
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastTransitionTime": _now(),
        }
        if verb == "drain":
            target |= {
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
        elif verb == "preempt":
            target |= {
                "reason": "PreemptionByScheduler",
                "message": f"{NODE}: preempting to accommodate a higher priority pod",
            }
            await self.event(
                pod, "Preempted", "Preempted by pod 0b6c on node node-1", "Normal"
            )
        if verb in ("drain", "preempt"):
            await self.call(
                "PATCH",
                path,
                {
                    "status": {"conditions": [target]},
                    "metadata": {
                        "deletionTimestamp": _now(),
                        "finalizers": ["kubelet"],
                    },
                },
            )
        await self.event(pod, "Killing", "Stopping container worker", "Normal")
        if name in self.processes:
            await self.stop(name)
        if verb == "evict":
            text = (
                "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. "
                "Container worker was using 1500Mi, request is 256Mi, has larger consumption of memory. "
            )
            await self.status(pod, phase="Failed", reason="Evicted", message=text)
            await self.event(pod, "Evicted", text)
            return
        if verb:
            await self.call("PATCH", path, {"metadata": {"finalizers": []}})
        await self.call("DELETE", path)


def _path(item: Any, plural: str) -> str:
    meta = item["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/{plural}/{meta['name']}"


def _waiting(container: Any, reason: str, message: str) -> Any:
    return {
        "name": container["name"],
        "ready": False,
        "restartCount": 0,
        "lastState": {},
        "state": {"waiting": {"reason": reason, "message": message}},
    }


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _used(pid: int) -> int:
    total = 0
    for each in _tree(pid):
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _signal(pid: int, number: int) -> None:
    """Send a signal: SIGTERM to the container's first process, SIGKILL to all of them."""
    for each in _tree(pid)[: 1 if number == signal.SIGTERM else None]:
        try:
            each.send_signal(number)
        except psutil.NoSuchProcess:
            continue


async def main(folder: Path) -> None:
    async with Api() as api, kmock.Server(api, host="127.0.0.1") as server:
        for name, (kind, subresources) in _RESOURCES.items():
            plural = name.rpartition("/")[2]
            api.resources[name] = kmock.ResourceInfo(
                kind=kind,
                singular=kind.lower(),
                namespaced=plural not in _WITHOUT_NAMESPACE,
                verbs={"get", "list", "watch", "create", "update", "patch", "delete"},
                subresources=subresources,
            )
        api.objects["v1/namespaces", None, "default"] = {
            "metadata": {"name": "default"}
        }
        url = str(server.url).rstrip("/")
        async with aiohttp.ClientSession() as http:
            node = Node(http, url, folder)

            async def control(request: Any) -> Any:
                verb, name = request.url.path.split("/")[-2:]
                pods = {
                    p["metadata"]["name"]: p for p in await node.items("/api/v1/pods")
                }
                node.ending.add(asyncio.create_task(node.end(pods[name], verb)))
                return {}

            api["get", re.compile(r"/version/")] << {
                "major": "1",
                "minor": "33",
                "gitVersion": "v1.33.0",
            }
            api["post", re.compile(r"/control/\w+/.+")] << control
            print(url, flush=True)
            running = asyncio.ensure_future(node.run())
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGTERM, running.cancel
            )
            try:
                await running
            except asyncio.CancelledError:
                for process in node.processes.values():
                    _signal(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
