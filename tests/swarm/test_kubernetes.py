"""compose/kubernetes/ against the schemas of Kubernetes, and what they cannot say. No cluster runs here."""

import re
import subprocess

import kubernetes_validate
import pytest
import sandbox
import yaml

FOLDER = sandbox.ROOT / "compose/kubernetes"
FILES = {"daemonset.yaml": "DaemonSet", "service.yaml": "Service", "secret.example.yaml": "Secret"}
VERSIONS = ("1.30", "1.37")  # the oldest that the files are for, and the newest that the package knows


def read(name):
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.fixture(scope="module")
def pod():
    return read("daemonset.yaml")["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def server(pod):
    return pod["containers"][0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FILES)
def test_the_files_are_what_kubernetes_takes(name, version):
    assert set(FILES) == {path.name for path in FOLDER.iterdir()}
    kubernetes_validate.validate(read(name), version, strict=True)
    assert read(name)["kind"] == FILES[name]


def test_a_typing_error_is_found():
    broken = read("daemonset.yaml")
    broken["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSIONS[0], strict=True)


def test_the_service_finds_the_pods():
    labels = read("daemonset.yaml")["spec"]["template"]["metadata"]["labels"]
    assert read("service.yaml")["spec"]["selector"].items() <= labels.items()
    assert read("daemonset.yaml")["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_secret_is_the_one_that_is_mounted(pod):
    secret = read("secret.example.yaml")
    (name,) = [v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v]
    assert name == secret["metadata"]["name"] and list(secret["stringData"]) == ["token"]


def test_the_server_takes_its_variables(server):
    env = {entry["name"]: entry["value"] for entry in server["env"]}
    done = subprocess.run([sandbox.BINARY, "policy", "--json"], env={
        name: value for name, value in env.items() if "HTTP" not in name and "TOKEN" not in name},
        capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    text = subprocess.run([sandbox.BINARY, "serve", "--help"], capture_output=True, text=True, timeout=30).stdout
    flags = {"PYTHON_SANDBOX_" + flag.upper().replace("-", "_") for flag in re.findall(r"--([a-z-]+)", text)}
    assert set(env) <= flags, set(env) - flags


def test_a_pod_that_is_stopped_ends_no_script(pod, server):
    env = {entry["name"]: entry["value"] for entry in server["env"]}
    drain = int(env["PYTHON_SANDBOX_DRAIN"])
    assert drain > int(env["PYTHON_SANDBOX_TIMEOUT_MAX"])
    assert pod["terminationGracePeriodSeconds"] > drain + server["lifecycle"]["preStop"]["sleep"]["seconds"]


def test_the_pod_is_hardened(pod, server):
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 60599
    assert pod["automountServiceAccountToken"] is False
    # Variables of a Service called python-sandbox are none of the server's settings.
    assert pod["enableServiceLinks"] is False
    assert server["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
