"""The Inspector's command line, one process for each operation; to cancel is to interrupt it.
Usage: inspector_cli.py CONFIG, with `node` and `script` in the configuration, too."""

import json
import signal
import subprocess
import sys
import tempfile
import threading

CONFIG = json.loads(sys.argv[1])
AT_ONCE = threading.Semaphore(6)  # each is a process of its own, with a second of start-up
LOCK = threading.Lock()
running = {}


def tell(ident, **facts):
    with LOCK:
        print(json.dumps({"id": ident, **facts}), flush=True)


def command(request):
    # Nothing but the target may come after the target.
    options = ["--cli", "--format=json", "--quiet", "--stored-auth-only",
               "--connect-timeout=60000", "--protocol-era=" + CONFIG["mode"]]
    if request["op"] == "list":
        options += ["--method=tools/list", "--strict"]
    else:
        options += ["--method=tools/call", "--tool-name=" + request["tool"],
                    "--tool-args-json=" + json.dumps(request["arguments"])]
    if request.get("progress"):
        options.append("--tool-metadata=progressToken=token-%d" % request["id"])
    if "url" in CONFIG:
        target = ["--transport=http", "--server-url=" + CONFIG["url"],
                  "--header=Authorization: Bearer " + CONFIG["token"]]
    else:
        target = ["--", *CONFIG["command"]]
    return [CONFIG["node"], CONFIG["script"], *options, *target]


def run(request, home):
    ident = request["id"]
    with AT_ONCE:
        process = subprocess.Popen(command(request), stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=home)
        running[ident] = process
        output, errors = process.communicate()
    if output.strip():
        tell(ident, result=json.loads(output)["result"], exit=process.returncode)
    else:
        tell(ident, error=errors or "exit %d" % process.returncode, exit=process.returncode)


def main():
    threads = []
    with tempfile.TemporaryDirectory() as folder:
        home = {"HOME": folder, "PATH": "/usr/bin:/bin"}
        tell("connected")
        for line in sys.stdin:
            request = json.loads(line)
            if request["op"] == "cancel":
                running[request["call"]].send_signal(signal.SIGINT)
                continue
            thread = threading.Thread(target=run, args=(request, home))
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
    tell("closed", milliseconds=0, errors=[])


main()
