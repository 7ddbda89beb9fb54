"""The tools of `agent_tools` as a server of the Model Context Protocol (MCP)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib.metadata import version

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp

from dask_blackbox.errors import BlackboxError
from dask_blackbox.serve.agent_tools import NOTE, AgentTools
from dask_blackbox.serve.shield import Shield
from dask_blackbox.store import Store

PATH = "/mcp"

_INSTRUCTIONS = (
    "Recordings of scheduled Dask runs: why each failed, with evidence, and what changed. "
    "Begin with `list_runs` or `why`. A verdict says how sure it is; `unknown` is an answer. "
    f"{NOTE}"
)


def mcp_server(store: Store) -> MCPServer:
    """Return a server whose tools read one store, to be run over standard input and output."""
    server = MCPServer(
        "dask-blackbox",
        instructions=_INSTRUCTIONS,
        version=version("dask-blackbox"),
        log_level="WARNING",
    )
    for tool in AgentTools(store).all():
        server.add_tool(
            _reporting(tool),
            annotations=ToolAnnotations(
                read_only_hint=True, destructive_hint=False, open_world_hint=False
            ),
            structured_output=False,
        )
    return server


def _reporting(tool: Callable[..., str]) -> Callable[..., str]:
    """Return a tool whose errors of ours are answers: others stay in the server's log."""

    @functools.wraps(tool)
    def asked(*args: object, **named: object) -> str:
        try:
            return tool(*args, **named)
        except BlackboxError as error:
            raise ToolError(str(error)) from error

    return asked


def mcp_app(store: Store, *, hosts: Sequence[str] | None, token: str | None) -> ASGIApp:
    """Return the same over HTTP at `PATH`, behind the token of the viewer.

    Args:
        hosts: The names under which it may be asked for, besides addresses; None: any.
        token: What clients send (`Authorization: Bearer TOKEN`); None: nothing.
    """
    app = mcp_server(store).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        # The shield checks the names of hosts.
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=False
        ),
    )
    return Shield(app, hosts=hosts, token=token)
