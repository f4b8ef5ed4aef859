"""A Swarm of engines on this machine, each on a machine of its own as far as the kernel can make one: namespaces
of processes, mounts, network and names, which are gone with their first process. A bridge in one further network
namespace joins them; HAProxy and the clients run there. Nothing is made in the network namespace of the host."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import docker_engine
import sandbox
from sandbox import wait_until

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Those of compose/haproxy/haproxy.cfg.
BALANCER = "192.168.20.1"
ADDRESSES = {"node1": "192.168.20.11", "node2": "192.168.20.12", "node3": "192.168.20.13"}
PORT = 8000
MAX_RUNNING = 5
STACK = "swarmtest"
SERVICE = STACK + "_server"
# What is left where a test was ended without a word; its process id follows.
FOLDER = "ps-swarm-"
CGROUP = "python-sandbox-test-"
# With these, a test that ends without a word takes its machines along.
MORTAL = ["setpriv", "--pdeathsig=KILL"]


def run(*command, check=True, timeout=120, **options):
    options.setdefault("env", sandbox.environment())
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout, check=False, **options)
    assert not check or done.returncode == 0, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done


class Namespaces:
    """A first process in namespaces of its own; .pid is its number here."""

    def __init__(self, kinds, *command):
        flags = ["--%s" % kind for kind in kinds]
        self.keeper = subprocess.Popen(
            [*MORTAL, "unshare", *flags, *command], stdin=subprocess.PIPE, start_new_session=True)
        self.pid = self.keeper.pid
        if "fork" in kinds:
            self.pid = wait_until(self._child, 10, 0.02)
        assert wait_until(self._is_apart, 10, 0.02)

    def _child(self):
        return next((pid for pid, _, parent, _ in sandbox.processes() if parent == self.keeper.pid), None)

    def _is_apart(self):
        return os.readlink("/proc/%d/ns/net" % self.pid) != os.readlink("/proc/self/ns/net")

    def inside(self, *command):
        """The command as it runs in the network namespace."""
        return [*MORTAL, "nsenter", "--net", "--target=%d" % self.pid, "--", *command]

    def run(self, *command, **options):
        return run(*self.inside(*command), **options)

    def kill(self):
        """The machine loses its power: every process in it ends at once."""
        if self.keeper.poll() is None:
            self.keeper.kill()
        self.keeper.wait(30)
        self.keeper.stdin.close()


class Node:
    """One machine with its engine."""

    def __init__(self, lan, number, name, folder):
        self.lan = lan
        self.name = name
        self.address = ADDRESSES[name]
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.cgroup = "%s%d-%s" % (CGROUP, os.getpid(), name)
        self.link = "port%d" % number
        self.alive = True
        kinds = ("net", "mount", "pid", "ipc", "uts", "fork", "kill-child", "mount-proc", "propagation=private")
        self.machine = Namespaces(kinds, HERE / "machine.sh", name, self.folder)
        self.engine = docker_engine.Engine(str(self.folder / "docker.sock"))

    def connect(self):
        peer = ["peer", "name", "eth0", "netns", str(self.machine.pid)]
        self.lan.run("ip", "link", "add", self.link, "type", "veth", *peer)
        self.lan.run("ip", "link", "set", self.link, "up", "master", "lan")
        self.machine.run("ip", "address", "add", self.address + "/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self.machine.run("ip", "link", "set", device, "up")
        self.machine.keeper.stdin.write(b"/" + self.cgroup.encode() + b"\n")
        self.machine.keeper.stdin.flush()

    def await_engine(self):
        assert wait_until(self.engine.answers, 60, 0.2), self.log()

    def log(self):
        return (self.folder / "log").read_text(errors="replace")[-4000:]

    def docker(self, *arguments, **options):
        env = {**sandbox.environment({"DOCKER_HOST": "unix://" + self.engine.path}), **options.pop("env", {})}
        return run("docker", *arguments, env=env, **options).stdout.strip()

    def load(self, archive):
        with open(archive, "rb") as file:
            status, text = self.engine.raw("POST", "/images/load", file, timeout=200, quiet=1)
        assert status == 200, text

    def server(self):
        """The id of the running container of the server; None where there is none."""
        mine = "--filter=label=com.docker.swarm.service.name=" + SERVICE
        return self.docker("ps", "--quiet", "--no-trunc", mine) or None

    def kill(self):
        """First the cable, so that the end of its processes is not told to anyone; then the power."""
        self.alive = False
        self.lan.run("ip", "link", "set", self.link, "down")
        self.machine.kill()

    def clean(self):
        self.machine.kill()
        shutil.rmtree(self.folder)


def remove_groups(pattern):
    """Control groups that no process is in; the true ones, and what is below them."""
    for top in pathlib.Path("/sys/fs/cgroup").glob("*/" + pattern):
        for place, _, _ in os.walk(top, topdown=False):
            try:
                os.rmdir(place)
            except OSError:
                return False  # one that a process has only just left is busy for a moment
    return True


def sweep():
    """Removes what tests left that were ended without a word: their machines went with them."""
    for folder in pathlib.Path("/var/tmp").glob(FOLDER + "*"):
        pid = folder.name[len(FOLDER):].split("-")[0]
        if not os.path.exists("/proc/" + pid):
            shutil.rmtree(folder)
            assert wait_until(lambda: remove_groups(CGROUP + pid + "-*"), 10, 0.2), pid  # noqa: B023


class Cluster:
    def __init__(self, server_image, sandbox_image):
        sweep()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="%s%d-" % (FOLDER, os.getpid()), dir="/var/tmp"))
        self.images = {"server": server_image, "sandbox": sandbox_image}
        self.nodes = []
        self.lan = self.balancer = None
        self.token = "t" * 43
        self.started = time.monotonic()

    def tell(self, text, *values):
        print("[%5.1f s] " % (time.monotonic() - self.started) + text % values, flush=True)

    def start(self):
        self.start_machines()
        self.load_images()
        self.join()
        self.deploy()
        self.start_balancer()
        self.await_all_ready()

    def start_machines(self):
        self.lan = Namespaces(["net"], "cat")
        self.lan.run("ip", "link", "set", "lo", "up")
        self.lan.run("ip", "link", "add", "lan", "type", "bridge")
        self.lan.run("ip", "address", "add", BALANCER + "/24", "dev", "lan")
        self.lan.run("ip", "link", "set", "lan", "up")
        for number, name in enumerate(ADDRESSES, 1):
            self.nodes.append(Node(self.lan, number, name, self.folder))
            self.nodes[-1].connect()
        for node in self.nodes:
            node.await_engine()
        self.tell("three engines answer")

    def load_images(self):
        archive = self.folder / "images.tar"
        run("docker", "save", "--output", archive, *self.images.values(), timeout=200)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(lambda node: node.load(archive), self.nodes))
        archive.unlink()
        self.tell("images loaded")

    @property
    def manager(self):
        return self.nodes[0]

    def join(self):
        manager, *workers = self.nodes
        manager.docker("swarm", "init", "--advertise-addr", manager.address, "--listen-addr", manager.address)
        token = manager.docker("swarm", "join-token", "--quiet", "worker")
        for node in workers:
            node.docker("swarm", "join", "--token", token, "--advertise-addr", node.address,
                        "--listen-addr", node.address, manager.address + ":2377")
        self.tell("swarm of %d", len(self.nodes))

    def deploy(self):
        token = self.folder / "token"
        token.write_text(self.token + "\n")
        env = {
            "DOCKER_GID": str(os.stat(self.manager.engine.path).st_gid),
            "SANDBOX_SERVER_IMAGE": self.images["server"],
            "PYTHON_SANDBOX_IMAGE": self.images["sandbox"],
            "PYTHON_SANDBOX_ALLOWED_HOST": " ".join([BALANCER, *ADDRESSES.values()]),
            "PYTHON_SANDBOX_MAX_RUNNING": str(MAX_RUNNING),
            "SANDBOX_TOKEN_FILE": str(token),
        }
        self.manager.docker("stack", "deploy", "--resolve-image=never", "-c", ROOT / "compose/stack.yml", STACK,
                            env=env)
        self.tell("stack deployed")

    def start_balancer(self):
        with open(self.folder / "balancer.log", "wb") as log:
            self.balancer = subprocess.Popen(
                self.lan.inside("haproxy", "-db", "-f", ROOT / "compose/haproxy/haproxy.cfg"),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def ready(self, node):
        """Whether the balancer would send it a call."""
        url = "http://%s:%d/readyz" % (node.address, PORT)
        return self.lan.run(sandbox.BINARY, "health", url, check=False).returncode == 0

    def await_all_ready(self, timeout=120):
        living = [node for node in self.nodes if node.alive]
        assert wait_until(lambda: all(self.ready(node) for node in living), timeout, 0.5), self.state()
        self.tell("ready: %s", " ".join(node.name for node in living))

    def state(self):
        parts = [self.manager.docker("service", "ps", "--no-trunc", SERVICE, check=False)]
        parts += [self.manager.docker("service", "logs", "--tail=20", SERVICE, check=False, timeout=20)]
        parts += [node.log() for node in self.nodes if node.alive]
        parts += [(self.folder / "balancer.log").read_text()[-2000:]] if self.balancer else []
        return "\n".join(parts)

    def update_state(self):
        service = json.loads(self.manager.docker("service", "inspect", SERVICE))[0]
        return (service.get("UpdateStatus") or {}).get("State")

    def load(self, address=BALANCER, **wish):
        """Clients in the background; finish() of what is returned ends them and returns the figures."""
        return Load(self, {"url": "http://%s:%d/mcp" % (address, PORT), "token": self.token, **wish})

    def availability(self, node, wanted):
        self.manager.docker("node", "update", "--availability=" + wanted, node.name)

    def official(self, calls, padding=0):
        wish = {"url": "http://%s:%d/mcp" % (BALANCER, PORT), "token": self.token, "calls": calls, "padding": padding}
        done = self.lan.run(sys.executable, HERE / "official.py", json.dumps(wish))
        return json.loads(done.stdout)

    def networks(self):
        """The network namespaces, as the kernel calls them."""
        return {os.readlink("/proc/%d/ns/net" % n.pid) for n in [self.lan, *(node.machine for node in self.nodes)]}

    def clean(self):
        self.tell("cleaning")
        if self.balancer:
            self.balancer.kill()
            self.balancer.wait(10)
        for node in self.nodes:
            node.clean()
        if self.lan:
            self.lan.kill()
        shutil.rmtree(self.folder)
        assert wait_until(lambda: remove_groups("%s%d-*" % (CGROUP, os.getpid())), 10, 0.2)
        self.tell("cleaned")


def left_of(pid, networks):
    """Processes in the networks, mounts, control groups, links and folders of the tests of process pid."""
    left = ["process %d" % number for number, _, _, _ in sandbox.processes() if network_of(number) in networks]
    name = "%s%d-" % (FOLDER, pid)
    left += [line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if name in line]
    left += list(pathlib.Path("/sys/fs/cgroup").glob("*/%s%d-*" % (CGROUP, pid)))
    left += list(pathlib.Path("/var/tmp").glob(name + "*"))
    left += [link for link in os.listdir("/sys/class/net") if link == "lan" or link.startswith("port")]
    return left


def network_of(pid):
    try:
        return os.readlink("/proc/%d/ns/net" % pid)
    except OSError:
        return None


class Load:
    def __init__(self, cluster, wish):
        self.process = subprocess.Popen(
            cluster.lan.inside(sys.executable, HERE / "load.py", json.dumps(wish)), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

    def finish(self, timeout=120):
        out, _ = self.process.communicate("", timeout)
        return json.loads(out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()
        self.process.stdout.close()
