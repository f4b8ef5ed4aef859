"""The official Python client. Usage: python_sdk.py CONFIG"""

import asyncio

from driver import CONFIG, drive, plain
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def server():
    if "url" in CONFIG:
        headers = {"Authorization": "Bearer " + CONFIG["token"]}
        return streamable_http_client(
            CONFIG["url"], http_client=create_mcp_http_client(headers=headers))
    return StdioServerParameters(command=CONFIG["command"][0], args=CONFIG["command"][1:])


async def main():
    client = Client(server(), mode=CONFIG["mode"])
    await drive(
        client,
        lambda c: {"server": c.server_info and plain(c.server_info), "version": c.protocol_version},
        {
            "list": lambda request, progress: client.list_tools(),
            "call": lambda request, progress: client.call_tool(
                request["tool"], request["arguments"], progress_callback=progress),
        },
    )


asyncio.run(main())
