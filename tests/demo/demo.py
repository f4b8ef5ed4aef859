"""Drives the server as an MCP client does, over stdio, and shows what it answers and how fast:
demo.py [SERVER]. Needs nothing but Python and a Docker Engine."""

import json
import subprocess
import sys
import time

SERVER = sys.argv[1] if len(sys.argv) > 1 else "build/python-sandbox"
WIDTH = 78
EXIT_WAIT_S = 10
# A model thinks between two calls; meanwhile the server gets the next container ready.
PAUSE_S = 1

# Title, expected status, arguments.
SCRIPTS = [
    (
        "A computation",
        "ok",
        {
            "code": "import math, statistics\n"
            "digits = str(math.factorial(1000))\n"
            "print('1000! has', len(digits), 'digits')\n"
            "print('their mean is', statistics.mean(map(int, digits)))\n"
        },
    ),
    (
        "An exception, with its traceback",
        "error",
        {
            "code": "def price(basket):\n"
            "    return sum(item['price'] for item in basket)\n"
            "\n"
            "print(price([{'price': 3}, {'cost': 4}]))\n"
        },
    ),
    (
        "An attempt to get out: the network, the root file system, the user",
        "ok",
        {
            "code": "import os, socket\n"
            "def attempt(what, action):\n"
            "    try:\n"
            "        print(f'{what}: {action()}')\n"
            "    except OSError as error:\n"
            "        print(f'{what}: {type(error).__name__}: {error}')\n"
            "attempt('connect', lambda: socket.create_connection(('1.1.1.1', 443), 5))\n"
            "attempt('resolve', lambda: socket.getaddrinfo('example.com', 443))\n"
            "attempt('write', lambda: open('/usr/lib/planted.py', 'w'))\n"
            "attempt('become root', lambda: os.setuid(0))\n"
        },
    ),
    (
        "A runaway loop, cut after two seconds; what it printed is kept",
        "timed_out",
        {
            "code": "n = 0\n"
            "while True:\n"
            "    n += 1\n"
            "    if n in (1, 1000):\n"
            "        print('round', n)\n",
            "timeout_seconds": 2,
        },
    ),
    ("The next one, in a fresh container", "ok", {"code": "print(6 * 7)\n"}),
]

IMAGE = "python-sandbox:datascience"
DATA_SCRIPTS = [
    (
        "Data work: a file comes along, a table and a figure come back",
        "ok",
        {
            "code": "import matplotlib.pyplot as plt\n"
            "import pandas as pd\n"
            "visits = pd.read_csv('visits.csv', parse_dates=['day'], index_col='day')\n"
            "visits.plot(title='Visits')\n"
            "plt.show()\n"
            "visits.describe()\n",
            "files": [{"path": "visits.csv", "text": "day,visits\n2024-05-01,40\n2024-05-02,60\n2024-05-03,50\n"}],
            "timeout_seconds": 120,
        },
    ),
]


class Client:
    def __init__(self, flags):
        self.server = subprocess.Popen(
            [SERVER, "serve", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.last_id = 0

    def send(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def request(self, method, params):
        """The result of a request, and the milliseconds it took."""
        self.last_id += 1
        start = time.monotonic()
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    sys.exit(f"{method} failed: {answer['error']['message']}")
                return answer["result"], (time.monotonic() - start) * 1000
        sys.exit(f"the server ended during {method}; what it wrote above says why")

    def close(self):
        """Closes the server's stdin, as a client that leaves; returns its exit status."""
        self.server.stdin.close()
        return self.server.wait(timeout=EXIT_WAIT_S)


def show(title, text, mark):
    print(title)
    for line in text.rstrip("\n").splitlines():
        print(f"  {mark} {line}")


def containers(pid):
    """The containers, in any state, of the server with this process id."""
    command = ["docker", "ps", "-a", "--filter", "label=python-sandbox.owner"]
    command += ["--format", '{{.ID}} {{.Label "python-sandbox.owner"}}']
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if f" pid={pid} " in f"{line} "]


def has_image(name):
    return subprocess.run(["docker", "image", "inspect", name], capture_output=True).returncode == 0


def begin(flags):
    """A client that has said hello."""
    client = Client(flags)
    print(f"{' '.join([SERVER, 'serve', *flags])}, process {client.server.pid}")
    result, ms = client.request(
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "demo", "version": "1"},
        },
    )
    client.send({"method": "notifications/initialized"})
    info = result["serverInfo"]
    print(f"initialize: {info['name']} {info['version']}, {ms:.1f} ms")
    result, ms = client.request("tools/list", {})
    print(f"tools/list: {', '.join(tool['name'] for tool in result['tools'])}, {ms:.1f} ms")
    return client


def demonstrate(client, title, expected, arguments):
    """Runs one script; 1 where its status is not the expected one."""
    print(f"\n{'-' * WIDTH}\n{title}\n", flush=True)
    extra = "".join(f", {name} {value}" for name, value in arguments.items() if name != "code")
    show(f"run_python{extra}", arguments["code"], ">")
    result, ms = client.request("tools/call", {"name": "run_python", "arguments": arguments})
    facts = result["structuredContent"]
    show("\nresult", result["content"][0]["text"], "|")
    for block in result["content"][1:]:
        print(f"  + {block['type']} {block.get('mimeType', '')}")
    print(f"\nstatus {facts['status']}, exit code {facts['exit_code']}, {ms:.1f} ms")
    if facts["status"] == expected:
        return 0
    print(f"this should have been: {expected}")
    return 1


def session(flags, scripts):
    """One server from its start to its end; how much was not as expected."""
    client = begin(flags)
    surprises = 0
    for script in scripts:
        time.sleep(PAUSE_S)
        surprises += demonstrate(client, *script)

    print("\n" + "-" * WIDTH)
    start = time.monotonic()
    status = client.close()
    ms = (time.monotonic() - start) * 1000
    print(f"stdin closed: the server ended with status {status} after {ms:.0f} ms")
    left = containers(client.server.pid)
    print(f"containers left: {len(left)}")
    return surprises + bool(status) + len(left)


def main():
    surprises = session([], SCRIPTS)
    print()
    if has_image(IMAGE):
        surprises += session([f"--image={IMAGE}"], DATA_SCRIPTS)
    else:
        print(f"For scripts with pandas and figures: {SERVER} image build, then make demo again")
    sys.exit(1 if surprises else 0)


main()
