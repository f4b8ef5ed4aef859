"""A profile with GPUs, and every answer that an engine may give to it."""

import json

import pytest

from served import is_ok, is_refused, run
from engine import hello, status, well

USUAL = ["null", "zero", "full", "random", "urandom", "tty"]
CARD = [*USUAL, "nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
RUNTIMES = {"Runtimes": {"runc": {"path": "runc"}, "nvidia": {"path": "nvidia-container-runtime"}}}
CDI = {"Runtimes": {"runc": {}}, "CDISpecDirs": ["/etc/cdi"]}
FOUND = {**CDI, "DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}]}


def configuration(folder, gpus):
    path = folder / "config.json"
    path.write_text(json.dumps({"profiles": {"gpu": {"gpus": gpus}}}))
    return "--config=%s" % path


def with_devices(devices, **variables):
    """A supervisor in whose container these devices are, and what NVIDIA's runtime sets."""
    def play(supervisor):
        environ = {**hello(supervisor.container)["environ"], **variables}
        nodes = {"/dev/" + name: "c 195:%d" % number for number, name in enumerate(devices) if name not in USUAL}
        supervisor.hello(devices=devices, environ=environ, nodes=nodes)
        supervisor.job()
        supervisor.started()
        supervisor.out(b"hello\n")
        supervisor.exit(out=6)
        supervisor.hold()

    return play


def created(engine):
    body, = [json.loads(request.body) for _, request in engine.requests if request.step == "create"]
    return body


@pytest.mark.parametrize("info, gpus, request_, variables", [
    (RUNTIMES, "all", {"Driver": "", "Count": -1, "Capabilities": [["gpu"]]},
     {"NVIDIA_VISIBLE_DEVICES": "all"}),
    (RUNTIMES, 2, {"Driver": "", "Count": 2, "Capabilities": [["gpu"]]},
     {"NVIDIA_VISIBLE_DEVICES": "0,1"}),
    (RUNTIMES, ["0", "GPU-1"], {"Driver": "", "DeviceIDs": ["0", "GPU-1"], "Capabilities": [["gpu"]]},
     {"NVIDIA_VISIBLE_DEVICES": "0,GPU-1"}),
    ({**FOUND, **RUNTIMES}, ["nvidia.com/gpu=0"], {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"]}, {}),
    (FOUND, "all", {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}, {}),
    (CDI, 1, {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"]}, {}),
])
def test_the_engine_is_asked_in_the_way_that_it_offers(engine, tmp_path, info, gpus, request_, variables):
    engine.info.update(info)
    engine.play = with_devices(CARD, **variables)
    is_ok(run(engine, configuration(tmp_path, gpus)))
    body = created(engine)
    assert body["HostConfig"]["DeviceRequests"] == [request_]
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in body["Env"]
    assert not {"Devices", "DeviceCgroupRules", "Binds", "Mounts"} & set(body["HostConfig"])


@pytest.mark.parametrize("info, gpus, parts", [
    ({}, "all", ["no runtime for GPUs", "it has none", "nvidia-ctk runtime configure"]),
    ({"Runtimes": {"runc": {}, "crun": {}}}, 1, ["it has runc, crun", "nvidia-smi"]),
    ({**CDI, "DiscoveredDevices": []}, "all", ["knows CDI, and no GPU by it", "cdi generate"]),
    ({"Runtimes": {"nvidia": {}}}, ["nvidia.com/gpu=0"], ["does not offer CDI"]),
])
def test_what_the_engine_lacks_is_named_before_anything_is_asked_of_it(engine, tmp_path, info, gpus, parts):
    engine.info.update(info)
    is_refused(run(engine, configuration(tmp_path, gpus)), *parts)
    assert engine.count("create") == 0


@pytest.mark.parametrize("step, message, mend", [
    ("start", 'could not select device driver "" with capabilities: [[gpu]]', "install the NVIDIA"),
    ("start", "OCI runtime create failed: nvidia-container-cli: initialization error: load library "
              "failed: libnvidia-ml.so.1: cannot open shared object file", "check the driver"),
    ("start", "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7", "cdi list"),
    ("create", "unknown or invalid runtime name: nvidia", "lists the runtimes"),
])
def test_the_engines_refusal_comes_with_its_mend(engine, tmp_path, step, message, mend):
    engine.info.update(RUNTIMES)
    engine.fail(step, status(500, message), count=None)
    is_refused(run(engine, configuration(tmp_path, "all")), message.split(":")[0], mend)


@pytest.mark.parametrize("devices, variables, parts", [
    (USUAL, {}, ["'gpus'", "asked for all", "no device of a GPU", "nvidia-smi"]),
    ([*USUAL, "nvidiactl"], {}, ["'gpus'"]),
    ([*CARD, "sda"], {}, ["'devices'", "sda"]),
    (CARD, {"NVIDIA_VISIBLE_DEVICES": "0"}, ["'environment'", "NVIDIA_VISIBLE_DEVICES"]),
])
def test_what_came_is_measured(engine, tmp_path, devices, variables, parts):
    engine.info.update(RUNTIMES)
    engine.play = with_devices(devices, **variables)
    is_refused(run(engine, configuration(tmp_path, "all")), *parts)


def test_a_gpu_that_nobody_granted_closes_the_profile(engine):
    engine.info.update(RUNTIMES)
    engine.play = with_devices(CARD)
    is_refused(run(engine), "'devices'", "nvidia0")
    assert "DeviceRequests" not in created(engine)["HostConfig"]


def test_without_gpus_the_runtime_for_them_does_not_matter(engine):
    engine.info.update(RUNTIMES)
    engine.play = well
    is_ok(run(engine))
