"""client-config: the entry of each client, parsed as that client would, and what it starts."""

import json
import os
import subprocess
import tomllib

import pytest
import sandbox
from test_cli import command

VARIABLE = "PYTHON_SANDBOX_TOKEN"
TIMEOUT_S = 330  # to wait, to run as long as a call may ask, to answer
URL = "http://localhost:8000/mcp"

# Client: the member that holds the servers, an entry for a command and one for an address, both
# without what is the same for all. The forms are those of the clients' documentation.
CLIENTS = {
    "claude-code": (
        "mcpServers",
        {"type": "stdio", "timeout": TIMEOUT_S * 1000},
        {"type": "http", "url": URL, "timeout": TIMEOUT_S * 1000,
         "headers": {"Authorization": "Bearer ${%s}" % VARIABLE}},
    ),
    "claude-desktop": (
        "mcpServers",
        {},
        {"command": "npx",
         "args": ["-y", "mcp-remote", URL, "--header", "Authorization:${AUTHORIZATION}"],
         "env": {"AUTHORIZATION": "Bearer <token>"}},
    ),
    "vscode": (
        "servers",
        {"type": "stdio"},
        {"type": "http", "url": URL,
         "headers": {"Authorization": "Bearer ${input:python-sandbox-token}"}},
    ),
    "cursor": (
        "mcpServers",
        {"type": "stdio"},
        {"url": URL, "headers": {"Authorization": "Bearer ${env:%s}" % VARIABLE}},
    ),
    "codex": (
        "mcp_servers",
        {"tool_timeout_sec": TIMEOUT_S},
        {"url": URL, "bearer_token_env_var": VARIABLE, "tool_timeout_sec": TIMEOUT_S},
    ),
    "gemini": (
        "mcpServers",
        {"timeout": TIMEOUT_S * 1000},
        {"httpUrl": URL, "timeout": TIMEOUT_S * 1000,
         "headers": {"Authorization": "Bearer ${%s}" % VARIABLE}},
    ),
    "generic": (
        "mcpServers",
        {},
        {"type": "http", "url": URL, "headers": {"Authorization": "Bearer <token>"}},
    ),
}

pytestmark = pytest.mark.usefixtures("base_image")
each_client = pytest.mark.parametrize("client", CLIENTS)


def printed(client, *flags, env=None):
    """The whole file that is printed, and the notes for people."""
    status, out, err = command("client-config", client, *flags, env=env)
    assert status == 0, err
    return (tomllib.loads if client == "codex" else json.loads)(out), err


def entry(client, *flags, name="python", env=None):
    file, _ = printed(client, *flags, env=env)
    servers = file[CLIENTS[client][0]]
    assert list(servers) == [name]
    return servers[name]


def lines(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def call_as_client(command_line):
    """Starts a server as clients do, with next to no environment; what a script printed."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {},
              "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "run_python", "arguments": {"code": "print(6 * 7)"}}
    process = subprocess.Popen(
        command_line, env={"PATH": "/usr/bin:/bin", "HOME": "/"}, cwd="/", start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sandbox.STARTED.append(process.pid)
    process.stdin.write(lines(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    _, err = process.communicate(timeout=10)
    assert process.returncode == 0, err
    assert answers[0]["result"]["serverInfo"]["name"] == "python-sandbox", answers[0]
    return answers[1]["result"]["structuredContent"]["stdout"]


@each_client
def test_the_command_is_as_the_client_wants_it(client):
    args = ["serve", "--memory=128m", "--pids", "64"]
    wanted = {"command": sandbox.BINARY, "args": args, **CLIENTS[client][1]}
    assert entry(client, *args[1:]) == wanted
    file, notes = printed(client)
    assert list(file) == [CLIENTS[client][0]] and notes.startswith("For ")
    assert VARIABLE not in notes


@each_client
def test_what_is_printed_starts_a_server_that_runs_scripts(client):
    found = entry(client, "--warm=0", *sandbox.engine_flags())
    assert call_as_client([found["command"], *found["args"]]) == "42\n"


@each_client
def test_the_address_is_as_the_client_wants_it(client):
    flag = "--http=" + URL
    assert entry(client, flag) == CLIENTS[client][2]
    file, notes = printed(client, flag)
    assert "token" in notes
    bare = entry(client, flag, "--no-token")
    assert "uthorization" not in json.dumps(bare) and VARIABLE not in json.dumps(bare)
    if client == "vscode":
        question = file["inputs"][0]
        assert question["id"] == "python-sandbox-token"
        assert (question["type"], question["password"]) == ("promptString", True)
        assert "inputs" not in printed(client, flag, "--no-token")[0]


@pytest.mark.parametrize(
    "text,url",
    [
        (":8000", URL),
        ("localhost:8000", URL),
        ("http://localhost:8000/", URL),
        ("[::1]:80", "http://[::1]:80/mcp"),
        ("http://[::1]", "http://[::1]/mcp"),
        ("https://box:443", "https://box:443/mcp"),
        ("https://sandbox.example.com", "https://sandbox.example.com/mcp"),
        ("https://sandbox.example.com/a/b", "https://sandbox.example.com/a/b"),
    ],
)
def test_addresses(text, url):
    assert entry("cursor", "--http", text)["url"] == url
    assert "--allow-http" not in entry("claude-desktop", "--http", text)["args"]


def test_an_address_where_the_token_can_be_read_is_told():
    _, notes = printed("codex", "--http=box:8000")
    assert "https" in notes
    assert "https" not in printed("codex", "--http=https://box")[1]
    assert "--allow-http" in entry("claude-desktop", "--http=box:8000")["args"]


def test_the_time_follows_the_settings():
    flags = ["--timeout-max=600", "--queue-timeout=50"]
    assert entry("codex", *flags)["tool_timeout_sec"] == 660
    assert entry("gemini", "--http=:1", *flags)["timeout"] == 660000


def test_flags_for_a_server_that_is_not_started_here_are_told():
    _, notes = printed("gemini", "--http=:1", "--memory=1g")
    assert "settings of its own" in notes
    assert "settings of its own" not in printed("gemini", "--http=:1")[1]
    assert "settings of its own" not in printed("gemini", "--memory=1g")[1]


def test_a_file_of_settings_is_named_by_its_whole_path(tmp_path):
    file = tmp_path / "config.json"
    file.write_text("{}")
    assert entry("codex", "--config=%s" % file)["args"] == ["serve", "--config=%s" % file]
    assert entry("codex", "--config=none")["args"] == ["serve", "--config=none"]
    for flag in ["--config=%s" % os.path.relpath(file)], ["--config", os.path.relpath(file)]:
        status, out, err = command("client-config", "codex", *flag)
        assert (status, out) == (2, "") and "config: give the whole path" in err


def test_the_time_is_that_of_the_most_patient_profile(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"profiles": {"quick": {"timeout_max": 60}, "slow": {"timeout_max": 900}}}')
    assert entry("codex", "--config=%s" % file)["tool_timeout_sec"] == 930


def test_a_name_and_texts_that_need_escapes():
    for client in CLIENTS:
        log = '/tmp/a "b" \\ \x7f\u00e9'
        found = entry(client, "--audit-log=" + log, "--name", "box_1", name="box_1")
        assert found["args"] == ["serve", "--audit-log=" + log]


def test_the_engine_of_this_environment_is_named():
    found = entry("generic", env={"DOCKER_HOST": "unix:///run/other.sock"})
    assert found["args"] == ["serve", "--docker-host=unix:///run/other.sock"]
    env = {"DOCKER_HOST": "unix:///run/other.sock"}
    assert entry("generic", "--docker-host=/run/d.sock", env=env)["args"] == [
        "serve", "--docker-host=/run/d.sock"]
    env = {"DOCKER_HOST": "tcp://engine:2376", "DOCKER_CERT_PATH": "/nothing/there"}
    assert entry("generic", env=env)["args"] == ["serve", "--docker-host=tcp://engine:2376"]


def test_variables_that_the_client_will_not_have_are_told():
    env = {"PYTHON_SANDBOX_MEMORY": "1g"}
    assert "give --memory=1g" in printed("codex", env=env)[1]
    assert "MEMORY" not in printed("codex", "--memory=2g", env=env)[1]
    assert "MEMORY" not in printed("codex", "--http=:1", env=env)[1]
    env = {"PYTHON_SANDBOX_CONFIG": "none", "PYTHON_SANDBOX_MEMORY": ""}
    assert "give --config=none" in printed("codex", env=env)[1] and "MEMORY" not in printed("codex", env=env)[1]
    assert "CONFIG" not in printed("codex", "--config=none", env=env)[1]


@pytest.mark.parametrize(
    "arguments,word",
    [
        ([], "claude-code"),
        (["claude-code", "cursor"], "one client"),
        (["emacs"], "emacs"),
        (["codex", "--memory=1"], "memory"),
        (["codex", "--fly"], "--fly"),
        (["codex", "--name", "a b"], "--name"),
        (["codex", "--name"], "--name"),
        (["codex", "--name", "x" * 65], "--name"),
        (["codex", "--http"], "--http"),
        (["codex", "--http=ftp://localhost/"], "ftp"),
        (["codex", "--http=http:///mcp"], "--http"),
        (["codex", "--http=nonsense"], "localhost:8000"),
        (["codex", "--http=localhost:0"], "localhost:8000"),
        (["codex", "--http=localhost:65536"], "localhost:8000"),
        (["codex", "--http=localhost:8o"], "localhost:8000"),
        (["codex", "--http=http://:80"], "localhost:8000"),
        (["codex", "--http=[::1:80"], "localhost:8000"),
        (["codex", "--no-token"], "--no-token"),
        (["codex", "--http=localhost:1/${HOME}"], "character"),
        (["codex", "--http=http://a b/"], "character"),
        (["codex", "--http=http://%s/" % ("x" * 2000)], "2000"),
        (["codex", "--audit-log=audit.log"], "whole path"),
    ],
)
def test_what_makes_no_sense_is_told(arguments, word):
    status, out, err = command("client-config", *arguments)
    assert (status, out) == (2, "") and word in err
