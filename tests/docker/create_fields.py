"""Every field of the body of POST /containers/create, and what is decided on it: left out, because an absent field is
closed, or granted with a value, to all or by a profile. And every field of an image's configuration: what the image cannot do with it."""

import dataclasses
import re
import typing

NOTHING = (None, "", 0, False, [], {}, [0, 0])


@dataclasses.dataclass(frozen=True)
class Field:
    why: str
    granted: bool
    # Whether a value is the right one: in the body where it is granted, and in what the engine says of a container.
    asked: typing.Callable
    shown: typing.Callable
    # Whether a value is right where a profile grants more than usual; None: none may.
    by_profile: typing.Callable | None = None


def one_of(*values):
    return lambda value: any(value == v and type(value) is type(v) for v in values)


def closed(why, shown=one_of(*NOTHING), by_profile=None):
    return Field(why, False, lambda value: False, shown, by_profile)


def granted(why, asked, shown=None, by_profile=None):
    test = asked if callable(asked) else one_of(asked)
    return Field(why, True, test, shown or test, by_profile)


def whole(least):
    return lambda value: type(value) is int and value >= least


def ours_first(ours):
    return lambda value: isinstance(value, dict) and ours.items() <= value.items()


def is_user(value):
    found = re.fullmatch(r"(\d+):(\d+)", value)
    return bool(found) and found[1] == found[2] and 60600 <= int(found[1]) < 65536


def is_command(value):
    return is_command_with_modules(value) and len(value) == 4


def is_command_with_modules(value):
    return value[:3] == ["python3", "-I", "-c"] and "PID 1" in value[3] and all(
        re.fullmatch(r"[\w.]+", module) for module in value[4:]
    )


def is_environment(value):
    names = [line.partition("=")[0] for line in value]
    return {"HOME", "USER", "TMPDIR"} <= set(names) and len(names) == len(set(names))


def is_no_check(value):
    """Engines fill in the image's intervals, which then are those of no check."""
    return value["Test"] == ["NONE"]


def is_security(value):
    return len(value) == 2 and value[0] == "no-new-privileges:true" and value[1].startswith("seccomp={")


def is_tmpfs(value, execution="noexec"):
    return set(value) == {"/workspace", "/tmp"} and all(
        options.startswith("rw,nosuid,nodev,%s,size=" % execution) for options in value.values()
    )


def is_executable_tmpfs(value):
    return is_tmpfs(value, "exec")


def is_data(value):
    """Folders of the host, by the engine's local volumes: bind mounts do not take these options."""
    return bool(value) and all(
        set(mount) == {"Type", "Target", "VolumeOptions"}
        and mount["Type"] == "volume"
        and mount["Target"].startswith(("/data/", "/mnt/", "/media/", "/srv/"))
        and set(mount["VolumeOptions"]) == {"NoCopy", "DriverConfig"}
        and mount["VolumeOptions"]["NoCopy"] is True
        and mount["VolumeOptions"]["DriverConfig"]["Name"] == "local"
        and mount["VolumeOptions"]["DriverConfig"]["Options"].items()
        >= {"type": "none", "o": "bind,ro,nosuid,nodev,noexec,private"}.items()
        for mount in value
    )


def is_gpus(value):
    """As tests/system/test_gpus.py has them, way by way."""
    return len(value) == 1 and set(value[0]) <= {"Driver", "Count", "DeviceIDs", "Capabilities"} and (
        value[0].get("Capabilities") == [["gpu"]] or value[0]["Driver"] == "cdi"
    )


def is_ulimits(value):
    found = {limit["Name"]: (limit["Soft"], limit["Hard"]) for limit in value}
    return len(value) == len(found) and found == {
        "nofile": (8192, 8192), "core": (0, 0), "memlock": (65536, 65536), "nice": (0, 0), "rtprio": (0, 0),
    }


TOP = {
    "Image": granted("the id, so that a tag that moves changes nothing", lambda v: v.startswith("sha256:")),
    "Entrypoint": granted("that of the image would replace the supervisor", []),
    "Cmd": granted("the supervisor, and modules to preload", is_command, None, is_command_with_modules),
    "User": granted("a user and group of its own, never root", is_user),
    "WorkingDir": granted("not one that the engine makes for the image", "/workspace"),
    "Hostname": granted("not the host's; attested", "sandbox"),
    "Env": granted("exact; attested", is_environment),
    "Healthcheck": granted(
        "that of the image would run beside the supervisor", {"Test": ["NONE"]}, is_no_check
    ),
    "NetworkDisabled": granted("no network", True),
    "Tty": granted("output stays apart by stream", False),
    "AttachStdin": granted("the script comes this way", True),
    "AttachStdout": granted("the verdict goes this way", True),
    "AttachStderr": granted("the supervisor's own failure goes this way", True),
    "OpenStdin": granted("the script comes this way", True),
    "StdinOnce": granted("the container ends with the server's connection", True),
    "Labels": granted(
        "whose container it is", lambda v: list(v) == ["python-sandbox.owner"],
        lambda v: "python-sandbox.owner" in v,
    ),
    "HostConfig": granted("the table below", lambda v: isinstance(v, dict)),
    "ArgsEscaped": closed("for Windows"),
    "Domainname": closed("no name beside the host name"),
    "ExposedPorts": closed("no port"),
    "MacAddress": closed("no interface to have one"),
    "NetworkingConfig": closed("no network to be connected to"),
    "OnBuild": closed("for builds"),
    "Shell": closed("for commands that are text; ours is a list"),
    "StopSignal": closed("containers are killed, not stopped"),
    "StopTimeout": closed("containers are killed, not stopped"),
    "Volumes": closed("a folder on the host's disk without limit; those of the image are covered"),
}

HOST = {
    "AutoRemove": granted("nothing stays", True),
    "CapDrop": granted("no capability; attested", ["ALL"]),
    "CgroupnsMode": granted("attested", "private"),
    "Init": granted("the supervisor is process 1", False),
    "IpcMode": granted("no memory shared with others", "private"),
    "LogConfig": granted(
        "output on no disk", {"Type": "none"}, one_of({"Type": "none"}, {"Type": "none", "Config": {}})
    ),
    "Memory": granted("attested", whole(1 << 22)),
    "MemorySwap": granted("memory and swap together: the same as memory alone", whole(1 << 22)),
    "NanoCpus": granted("attested", whole(1)),
    "NetworkMode": granted("attested", "none"),
    "PidsLimit": granted("attested", whole(1)),
    "Privileged": granted("never", False),
    "ReadonlyRootfs": granted("attested", True),
    "SecurityOpt": granted("no new privileges, and our own seccomp profile; attested", is_security),
    "ShmSize": granted("attested", whole(1)),
    "Sysctls": granted(
        "the supervisor answers look-ups on port 53", {"net.ipv4.ip_unprivileged_port_start": "0"}
    ),
    "Tmpfs": granted("the writable places; attested", is_tmpfs, None, is_executable_tmpfs),
    "Ulimits": granted("attested", is_ulimits),
    "Annotations": closed("nothing for a runtime to act on"),
    "Binds": closed("a folder of the host"),
    "BlkioDeviceReadBps": closed("no disk to be slow"),
    "BlkioDeviceReadIOps": closed("no disk to be slow"),
    "BlkioDeviceWriteBps": closed("no disk to be slow"),
    "BlkioDeviceWriteIOps": closed("no disk to be slow"),
    "BlkioWeight": closed("no share beyond the usual one"),
    "BlkioWeightDevice": closed("no share beyond the usual one"),
    "CapAdd": closed("a capability"),
    "Cgroup": closed("the cgroup of another container"),
    "CgroupParent": closed("a cgroup of others, with their limits"),
    "ConsoleSize": closed("for Windows, or a terminal"),
    "ContainerIDFile": closed("for the client alone"),
    "CpuCount": closed("for Windows"),
    "CpuPercent": closed("for Windows"),
    "CpuPeriod": closed("NanoCpus says it"),
    "CpuQuota": closed("NanoCpus says it"),
    "CpuRealtimePeriod": closed("real-time scheduling stops everybody else"),
    "CpuRealtimeRuntime": closed("real-time scheduling stops everybody else"),
    "CpuShares": closed("no share beyond the usual one"),
    "CpusetCpus": closed("the engine's own choice"),
    "CpusetMems": closed("the engine's own choice"),
    "DeviceCgroupRules": closed("a device; attested on cgroup version 1"),
    "DeviceRequests": closed("a device; attested", by_profile=is_gpus),
    "Devices": closed("a device; attested"),
    "Dns": closed("no network to ask in"),
    "DnsOptions": closed("no network to ask in"),
    "DnsSearch": closed("no network to ask in"),
    "ExtraHosts": closed("no name of another machine"),
    "GroupAdd": closed("a group of the host; attested"),
    "IOMaximumBandwidth": closed("for Windows"),
    "IOMaximumIOps": closed("for Windows"),
    "Isolation": closed("for Windows", one_of("", "default")),
    "KernelMemory": closed("counted with the rest"),
    "KernelMemoryTCP": closed("counted with the rest"),
    "Links": closed("another container"),
    "MaskedPaths": closed(
        "the engine's own list; attested", lambda v: {"/proc/kcore", "/proc/keys", "/sys/firmware"} <= set(v)
    ),
    "MemoryReservation": closed("no limit but the hard one"),
    "MemorySwappiness": closed("no swap", one_of(None, -1)),
    "Mounts": closed("a folder of the host; attested", by_profile=is_data),
    "OomKillDisable": closed("a script that fills its memory would hang, not end"),
    "OomScoreAdj": closed("no shelter from the host's own want of memory"),
    "PidMode": closed("processes of the host or of another container"),
    "PortBindings": closed("a port of the host"),
    "PublishAllPorts": closed("a port of the host"),
    "ReadonlyPaths": closed("the engine's own list; attested", lambda v: {"/proc/sys", "/proc/bus"} <= set(v)),
    "RestartPolicy": closed(
        "each container serves one script",
        one_of({"Name": "", "MaximumRetryCount": 0}, {"Name": "no", "MaximumRetryCount": 0}),
    ),
    "Runtime": closed(
        "the engine's own choice", lambda v: isinstance(v, str), lambda v: isinstance(v, str) and bool(v)
    ),
    "StorageOpt": closed("nothing is written to the root"),
    "UTSMode": closed("the host's name"),
    "UsernsMode": closed("the engine's own choice, never the host's by our wish"),
    "VolumeDriver": closed("a folder of the host"),
    "VolumesFrom": closed("folders of another container"),
}


@dataclasses.dataclass(frozen=True)
class ImageField:
    why: str
    value: object  # that an image has
    shown: typing.Callable  # whether the container shows what it should


def overridden(name, value):
    """Ours takes its place."""
    return ImageField(TOP[name].why, value, TOP[name].shown)


def ignored(why, value):
    return ImageField(why, value, one_of(*NOTHING))


def kept(why, value):
    return ImageField(why, value, lambda found: found in (None, value))


IMAGE_LABEL = {"label.of.the.image": "yes"}

IMAGE = {
    "Entrypoint": overridden("Entrypoint", ["/bin/sh", "-c", "echo from the entrypoint; sleep 1000"]),
    "Cmd": overridden("Cmd", ["echo", "from the command"]),
    "User": overridden("User", "0:0"),
    "WorkingDir": overridden("WorkingDir", "/opt"),
    "Healthcheck": overridden("Healthcheck", {"Test": ["CMD", "sleep", "1000"], "Interval": 10**9}),
    "Image": overridden("Image", "sha256:" + "0" * 64),
    "Hostname": overridden("Hostname", "image"),
    "AttachStdin": overridden("AttachStdin", False),
    "AttachStdout": overridden("AttachStdout", False),
    "AttachStderr": overridden("AttachStderr", False),
    "OpenStdin": overridden("OpenStdin", False),
    "StdinOnce": overridden("StdinOnce", False),
    "Tty": overridden("Tty", True),
    "NetworkDisabled": overridden("NetworkDisabled", False),
    "Env": ImageField(
        "beside ours, which win; attested", ["FROM_THE_IMAGE=1", "HOME=/root"],
        lambda found: "FROM_THE_IMAGE=1" in found and "HOME=/workspace" in found and "HOME=/root" not in found,
    ),
    "Labels": ImageField("of no effect", IMAGE_LABEL, ours_first(IMAGE_LABEL)),
    "Volumes": ImageField("covered", {"/data": {}}, lambda found: found in (None, {}, {"/data": {}})),
    "ArgsEscaped": kept("for Windows", True),
    "ExposedPorts": kept("a note: no port is published without PublishAllPorts", {"22/tcp": {}}),
    "OnBuild": kept("for builds", ["RUN true"]),
    "Shell": kept("for commands that are text; ours is a list", ["/bin/false"]),
    "StopSignal": kept("containers are killed, not stopped", "SIGCONT"),
    "StopTimeout": kept("containers are killed, not stopped", 1000),
    "Domainname": ignored("not taken from images", "example.com"),
    "MacAddress": ignored("no interface to have one", "02:42:ac:11:00:02"),
}
