"""What the Python drivers share. A driver takes one argument, a JSON object with `mode` and either
`command` or `url` and `token`. It reads JSON lines and writes JSON lines:

    {"id": 1, "op": "list"}                                     the tools
    {"id": 2, "op": "call", "tool": ..., "arguments": ..., "progress": true}
    {"id": 3, "op": "cancel", "call": 2}                        gives call 2 up, and is not answered

It answers with the same id and `result` or `error`, and calls run at the same time. Further lines
have the ids `connected` and `closed`; the end of the input closes the client."""

import asyncio
import json
import sys
import time

CONFIG = json.loads(sys.argv[1])


def tell(ident, **facts):
    print(json.dumps({"id": ident, **facts}), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def run(request, work):
    """Runs one operation; work takes the request and a progress callback."""
    told = []

    async def progress(value, total, message):
        told.append({"progress": value, "total": total, "message": message})

    try:
        result = await work(request, progress if request.get("progress") else None)
    except asyncio.CancelledError:
        tell(request["id"], error="cancelled", progress=told)
        raise
    except Exception as error:
        tell(request["id"], error="%s: %s" % (type(error).__name__, error), progress=told)
    else:
        tell(request["id"], result=plain(result), progress=told)


async def requests():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        yield json.loads(line)


async def drive(client, facts, operations):
    """client is entered and left; facts(client) tells the server and the version."""
    tasks = {}
    async with client:
        tell("connected", **facts(client))
        async for request in requests():
            if request["op"] == "cancel":
                tasks[request["call"]].cancel()
            else:
                work = operations[request["op"]]
                tasks[request["id"]] = asyncio.create_task(run(request, work))
        start = time.monotonic()
    tell("closed", milliseconds=round(1000 * (time.monotonic() - start)), errors=[])
