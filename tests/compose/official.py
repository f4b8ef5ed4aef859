"""The official Python client, for one call. Takes one JSON object and prints one: url or command, token,
code, progress (whether it is asked for) and patience (seconds) of the call."""

import asyncio
import json
import sys
import time

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

WISH = json.loads(sys.argv[1])
STATUSES = set()  # of HTTP


async def note(response):
    STATUSES.add(response.status_code)


def server():
    if "command" in WISH:
        return StdioServerParameters(command=WISH["command"][0], args=WISH["command"][1:])
    headers = {"Authorization": "Bearer " + WISH["token"]} if WISH.get("token") else {}
    http = create_mcp_http_client(headers=headers)
    http.event_hooks["response"].append(note)
    return streamable_http_client(WISH["url"], http_client=http)


async def call():
    told = []
    start = time.monotonic()

    async def progress(value, total, message):
        told.append([round(time.monotonic() - start, 2), message])

    async with Client(server()) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        start = time.monotonic()
        result = await client.call_tool("run_python", {"code": WISH["code"], **WISH.get("arguments", {})},
                                        progress_callback=progress if WISH.get("progress") else None)
    return {"tools": tools, "progress": told, "seconds": round(time.monotonic() - start, 2),
            "result": result.model_dump(mode="json", by_alias=True, exclude_none=True)}


def reasons(error):
    """A task group's exception holds the true ones."""
    inner = getattr(error, "exceptions", None)
    return " ".join(reasons(e) for e in inner) if inner else "%s: %s" % (type(error).__name__, error)


def main():
    try:
        answer = asyncio.run(asyncio.wait_for(call(), WISH.get("patience", 60)))
    except BaseException as error:
        answer = {"error": reasons(error)}
    print(json.dumps({**answer, "statuses": sorted(STATUSES)}))


main()
