"""The client of FastMCP. Usage: fastmcp_client.py CONFIG"""

import asyncio

from driver import CONFIG, drive, plain
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def transport():
    if "url" in CONFIG:
        return StreamableHttpTransport(CONFIG["url"], auth=CONFIG["token"])
    return StdioTransport(CONFIG["command"][0], CONFIG["command"][1:], keep_alive=False)


async def main():
    client = Client(transport(), mode=CONFIG["mode"])
    await drive(
        client,
        lambda c: {"server": c.server_info and plain(c.server_info), "version": c.protocol_version},
        {
            "list": lambda request, progress: client.list_tools_mcp(),
            "call": lambda request, progress: client.call_tool_mcp(
                request["tool"], request["arguments"], progress_handler=progress),
        },
    )


asyncio.run(main())
