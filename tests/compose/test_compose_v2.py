"""The same files with Docker Compose v2."""

import os
import shutil

import pytest
import stand
from stand import official, run, wait_until
from test_compose import (  # noqa: F401
    project,
    test_a_client_with_the_token_is_served,
    test_a_client_without_the_token_is_refused,
    test_compose_builds_an_image_for_scripts,
    test_compose_builds_the_image,
    test_every_service_is_walled_in,
    test_it_listens_on_loopback_alone,
    test_the_image_for_scripts_came_with_it,
    test_the_server_is_walled_in,
    test_what_is_missing_is_asked_for,
)
from test_overrides import (  # noqa: F401
    monitoring,
    test_a_client_is_served_over_tls,
    test_a_server_that_was_made_anew_is_found,
    test_only_what_clients_need_is_passed_on,
    test_prometheus_reads_the_server,
    tls,
)

V2 = os.environ.get("PYTHON_SANDBOX_TEST_COMPOSE")

pytestmark = pytest.mark.skipif(not V2 or not shutil.which(V2), reason="no Docker Compose v2")


@pytest.fixture(scope="module", autouse=True)
def with_v2():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stand, "COMPOSE", V2)
        yield


def test_it_is_the_one():
    assert run([V2, "version", "--short"]).stdout.startswith("2.")


def test_a_socket_that_is_not_there_is_told(server_image, base_image, tmp_path):
    """Compose makes a directory in its place."""
    with stand.Project(tmp_path, server_image, base_image) as project:
        project.env["DOCKER_SOCKET"] = str(tmp_path / "nowhere/docker.sock")
        project.compose("up", "--detach")
        for text in ("/var/run/docker.sock: is a directory, not a socket", "path on the host is wrong"):
            assert wait_until(lambda t=text: t in project.compose("logs", "--no-color", "server").stdout, 20), text
        answer = official(project.url, project.token)
        assert "is a directory, not a socket" in answer["result"]["content"][0]["text"]
