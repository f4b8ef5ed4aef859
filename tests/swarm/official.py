"""Calls with the official Python client. Takes one JSON object (url, token, calls; padding, bytes that each script
is longer) and prints one: how many were answered by which server."""

import asyncio
import collections
import json
import sys

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

WISH = json.loads(sys.argv[1])


async def main():
    served = collections.Counter()

    async def note(response):
        if b"run_python" in response.request.content:
            served[response.headers.get("X-Served-By")] += 1

    headers = {"Authorization": "Bearer " + WISH["token"]}
    web = create_mcp_http_client(headers=headers)
    web.event_hooks = {"response": [note]}
    async with Client(streamable_http_client(WISH["url"], http_client=web)) as client:
        for number in range(WISH["calls"]):
            code = "print(%d)#" % number + "x" * WISH.get("padding", 0)
            result = await client.call_tool("run_python", {"code": code})
            assert result.structured_content["stdout"] == "%d\n" % number, result
    print(json.dumps(dict(sorted(served.items()))))


asyncio.run(main())
