"""Names of services, where there is no DNS of a cluster: each is this machine.

    kopf run kubernetes_names.py -m MODULE

lets an operator find the services of the namespace `default`, as it would in a pod.
"""

from __future__ import annotations

import socket
from typing import Any

_asked = socket.getaddrinfo


def _of_services(host: Any, *more: Any, **options: Any) -> Any:
    is_service = isinstance(host, str) and host.endswith(".default")
    return _asked("127.0.0.1" if is_service else host, *more, **options)


socket.getaddrinfo = _of_services
