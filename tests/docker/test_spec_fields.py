"""Every field that the engine has for a container, and every field of an image's configuration, is decided on in
create_fields.py: one that the engine's description has and the table has not, fails here."""

import json
import os
import pathlib
import platform
import subprocess

import engine_api
import pytest
from create_fields import HOST, IMAGE, TOP
from fixtures import lacking
from sabotage import Proxy
from sandbox import BINARY, Server, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {"top": TOP, "HostConfig": HOST, "NetworkingConfig": {}}
# Nothing of it is ever sent: the field at the top is closed.
NOT_SENT = {"NetworkingConfig": {"EndpointsConfig"}}
ONLY_ASKED = {"HostConfig", "NetworkingConfig"}  # at the top of the body, and a part of its own in an inspection


@pytest.fixture(scope="module")
def described(engine):
    try:
        return engine_api.description(engine.json("GET", "/version")["Version"])
    except (OSError, subprocess.SubprocessError) as error:
        lacking("no description of the engine's API: %s" % error)


@pytest.fixture(scope="module")
def asked_and_found(engine, base_image, tmp_path_factory):
    """The body that the engine got, and what it says of the container."""
    bodies = []
    path = str(tmp_path_factory.mktemp("proxy") / "engine.sock")
    with Proxy(path, engine.path, bodies.append) as proxy, Server(
        "--docker-host=" + proxy.path, "--image=" + base_image, "--warm=1"
    ) as server:
        [found, *_] = wait_until(lambda: engine.inspect_running(server.pid), 30)
        yield bodies[0], found


def undecided(fields):
    """Fields of a description that no table has."""
    return sorted(
        "%s.%s" % (section, name)
        for section, names in fields.items()
        for name in names - set(TABLES[section]) - NOT_SENT.get(section, set())
    )


def faults(table, asked, by_profile=()):
    """What a part of the body has that it should not have, or the other way round. by_profile: the fields that the
    profile grants."""
    found = ["%s: nobody decided on it" % name for name in asked if name not in table]
    for name, field in table.items():
        if name in by_profile:
            if not (name in asked and field.by_profile and field.by_profile(asked[name])):
                found.append("%s: %r, as the profile grants it" % (name, asked.get(name)))
        elif not field.granted and name in asked:
            found.append("%s: to be left out, for it is %s" % (name, field.why))
        elif field.granted and not (name in asked and field.asked(asked[name])):
            found.append("%s: %r" % (name, asked.get(name)))
    return found


def shown_faults(table, shown):
    """What the engine says of a container that it should not say."""
    found = ["%s: nobody decided on it" % name for name in shown if name not in table]
    return found + [
        "%s: %r" % (name, shown.get(name))
        for name, field in table.items()
        if (name in shown or field.granted) and not field.shown(shown.get(name))
    ]


def test_every_field_of_the_description_is_decided_on(described):
    assert undecided(described) == []


def test_the_description_is_read_whole(described):
    """Of each part a field that is there, embedded in another or renamed for JSON."""
    assert {"Image", "Healthcheck", "HostConfig"} <= described["top"]
    assert {"Binds", "Privileged", "Devices", "DeviceCgroupRules", "NanoCpus", "Dns"} <= described["HostConfig"]
    assert described["NetworkingConfig"] == {"EndpointsConfig"}
    assert len(described["top"]) >= 25 and len(described["HostConfig"]) >= 60


TYPES = """
// Inner is embedded.
type Inner struct {
	NewHole []string // a hole
	Kept, Both int64 `json:",omitempty"`
}

type Config struct {
	Image string
	Hidden string `json:"-"`
}

type HostConfig struct {
	// Contains more
	Inner
	DNS map[string]struct{} `json:"Dns,omitempty"`
}

type NetworkingConfig struct {
}
"""

DOCUMENT = """
definitions:
  Inner: {properties: {NewHole: {type: array}}}
  HostConfig: {allOf: [{$ref: "#/definitions/Inner"}, {properties: {Binds: {}}}]}
  NetworkingConfig: {properties: {EndpointsConfig: {}}}
paths:
  /containers/create:
    post:
      parameters:
        - {in: query, name: name}
        - in: body
          schema: {allOf: [{$ref: "#/definitions/Inner"}, {properties: {HostConfig: {}}}]}
"""


def test_a_new_field_fails():
    types = engine_api.of_types([TYPES])
    assert types == {"top": {"Image"}, "HostConfig": {"NewHole", "Kept", "Both", "Dns"}, "NetworkingConfig": set()}
    assert undecided(types) == ["HostConfig.Both", "HostConfig.Kept", "HostConfig.NewHole"]
    document = engine_api.of_document(DOCUMENT)
    assert document["NetworkingConfig"] == {"EndpointsConfig"} and "HostConfig" in document["top"]
    assert undecided(document) == ["HostConfig.NewHole", "top.NewHole"]
    assert shown_faults({}, {"NewHole": None}) == ["NewHole: nobody decided on it"]


@pytest.mark.parametrize(
    "name, value",
    [
        ("Privileged", True), ("CapAdd", ["SYS_ADMIN"]), ("CapAdd", []), ("NewHole", None), ("CapDrop", []),
        ("PidsLimit", 0), ("Memory", None), ("LogConfig", {"Type": "none", "Config": {"x": "y"}}),
        ("Sysctls", {"net.ipv4.ip_unprivileged_port_start": "0", "kernel.msgmax": "1"}),
    ],
)
def test_an_open_field_fails(asked_and_found, name, value):
    asked, _ = asked_and_found
    assert [fault.split(":")[0] for fault in faults(HOST, {**asked["HostConfig"], name: value})] == [name]


def test_the_body_holds_what_is_granted_and_nothing_else(asked_and_found):
    asked, _ = asked_and_found
    assert faults(TOP, asked) == []
    assert faults(HOST, asked["HostConfig"]) == []
    assert asked["HostConfig"]["MemorySwap"] == asked["HostConfig"]["Memory"] == 512 << 20


def test_the_engine_has_what_is_granted_and_nothing_else(asked_and_found):
    _, found = asked_and_found
    table = {name: field for name, field in TOP.items() if name not in ONLY_ASKED}
    assert shown_faults(table, found["Config"]) == []
    assert shown_faults(HOST, found["HostConfig"]) == []
    assert found["Mounts"] == [] and found["NetworkSettings"]["Networks"] in ({}, None)


def test_a_profile_grants_what_it_names_and_nothing_else(engine, base_image, tmp_path):
    """All that this engine can give."""
    folder = tmp_path / "granted"
    folder.mkdir()
    profile = {"data": {"/data/granted": str(folder)}, "exec": True, "preload": ["json"]}
    config = tmp_path / "config.json"
    runtime = engine.json("GET", "/info")["DefaultRuntime"]
    config.write_text(json.dumps({"profiles": {"all": {**profile, "runtime": runtime}}}))
    bodies = []
    with Proxy(str(tmp_path / "engine.sock"), engine.path, bodies.append) as proxy, Server(
        "--docker-host=" + proxy.path, "--image=" + base_image, "--config=%s" % config, "--warm=0"
    ) as server:
        assert wait_until(lambda: server.run("print(1)").status != "busy", 60)
    asked = bodies[0]
    assert faults(TOP, asked, {"Cmd"}) == []
    assert faults(HOST, asked["HostConfig"], {"Mounts", "Runtime", "Tmpfs"}) == []
    assert faults(HOST, asked["HostConfig"])[0].startswith("Tmpfs: ")
    options = asked["HostConfig"]["Mounts"][0]["VolumeOptions"]["DriverConfig"]["Options"]
    assert options == {"type": "none", "device": str(folder), "o": "bind,ro,nosuid,nodev,noexec,private"}


def policy(*flags):
    shown = subprocess.run([BINARY, "policy", "--json", *flags], capture_output=True, text=True, check=True,
                           env={"PATH": os.environ["PATH"]})
    return json.loads(shown.stdout)


@pytest.mark.parametrize("gpus", ["all", 2, ["GPU-1"], ["nvidia.com/gpu=0"]])
def test_a_profile_with_gpus_asks_for_nothing_else(tmp_path, gpus):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"profiles": {"plain": {}, "gpu": {"gpus": gpus}}}))
    plain, gpu = (profile["create"]["HostConfig"] for profile in policy("--config=%s" % config)["profiles"])
    assert HOST["DeviceRequests"].by_profile(gpu.pop("DeviceRequests"))
    assert gpu == plain


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the printed profile is that of x86_64")
def test_the_printed_seccomp_profile_is_the_one_in_use(asked_and_found):
    profile = policy()["seccomp"]
    assert json.loads((ROOT / "docker/seccomp.json").read_text()) == profile
    _, found = asked_and_found
    in_use = [text for text in found["HostConfig"]["SecurityOpt"] if text.startswith("seccomp=")]
    assert [json.loads(text.partition("=")[2]) for text in in_use] == [profile]


def test_every_field_of_an_image_is_decided_on(described):
    """An image's configuration has the fields of the body's top."""
    assert described["top"] - ONLY_ASKED - set(IMAGE) == set()


@pytest.fixture
def open_image(engine, base_image):
    """An image that sets every field."""
    tag = "python-sandbox-test:every-field"
    ident = engine.create({"Image": base_image, "Cmd": ["true"]})
    try:
        config = {name: field.value for name, field in IMAGE.items()}
        repo, _, version = tag.partition(":")
        engine.json("POST", "/commit", config, container=ident, repo=repo, tag=version)
    finally:
        engine.remove(ident)
    yield tag
    engine.remove_image(tag)


def test_an_image_opens_nothing(engine, open_image):
    """Where the image cannot have the field at all, the row stands for an engine that lets it."""
    config = engine.json("GET", "/images/%s/json" % open_image)["Config"]
    for name in ("Entrypoint", "Cmd", "User", "WorkingDir", "Healthcheck", "Volumes", "ExposedPorts", "StopSignal"):
        assert config[name] == IMAGE[name].value, name
    volumes = engine.volumes()
    with Server("--image=" + open_image, "--warm=1") as server:
        result = server.run("print('ours')")
        assert (result.status, result.stdout) == ("ok", "ours\n"), result
        [found, *_] = wait_until(lambda: engine.inspect_running(server.pid), 30)
        shown = {name: found["Config"].get(name) for name in IMAGE}
        assert [name for name, field in IMAGE.items() if not field.shown(shown[name])] == [], shown
        assert shown_faults(HOST, {**found["HostConfig"], "Tmpfs": without_cover(found)}) == []
        assert found["Mounts"] == [] and not found["NetworkSettings"]["Ports"]
    assert wait_until(lambda: engine.volumes() <= volumes, 5), "a volume is left"


def without_cover(found):
    """The writable places, without what covers the image's volume."""
    tmpfs = dict(found["HostConfig"]["Tmpfs"])
    assert tmpfs.pop("/data").startswith("ro,")
    return tmpfs
