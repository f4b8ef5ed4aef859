"""An engine that weakens the mount of a granted folder: caught before a script runs, and named."""

import json

import hostmount
import pytest
from test_sabotage import MOUNTS, Sabotage, assert_caught, by_name, proxy  # noqa: F401

WHERE = "/data/sales"


def without_option(name):
    def change(body):
        options = body["HostConfig"]["Mounts"][0]["VolumeOptions"]["DriverConfig"]["Options"]
        options["o"] = ",".join(option for option in options["o"].split(",") if option != name)

    return change


def mount(**values):
    return lambda body: body["HostConfig"]["Mounts"][0].update(values)


def bound(body):
    folder = body["HostConfig"]["Mounts"][0]["VolumeOptions"]["DriverConfig"]["Options"]["device"]
    body["HostConfig"]["Mounts"] = [{"Type": "bind", "Source": folder, "Target": WHERE, "ReadOnly": True}]


ROWS = [
    *(
        Sabotage("without " + name, without_option(name), MOUNTS + ".*%s is not mounted %s" % (WHERE, name))
        for name in ("ro", "nosuid", "nodev", "noexec", "private")
    ),
    Sabotage("bind mount", bound, MOUNTS + ".*" + WHERE),
    Sabotage("elsewhere", mount(Target="/data/other"), MOUNTS + ".*/data/other"),
    Sabotage("over the image", mount(Target="/usr/share"), MOUNTS + ".*/usr/share"),
    Sabotage("not at all", lambda body: body["HostConfig"].pop("Mounts"), MOUNTS + ".*is not mounted"),
]


@pytest.mark.parametrize("proxy", by_name(ROWS), indirect=True)
def test_sabotage_of_a_grant(engine, base_image, proxy, tmp_path, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("sales")
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"image": base_image, "profiles": {"a": {"data": {WHERE: str(folder)}}}}))
    with hostmount.shared(folder):
        assert_caught(engine, proxy, "--config=%s" % config)
