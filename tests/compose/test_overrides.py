"""tls.yml with a real nginx, and monitoring.yml with a real Prometheus: the distribution's programs
stand in for the published images."""

import itertools
import json
import re
import shutil
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import stand
from stand import answered, docker, inspect, official, run, wait_until

pytestmark = pytest.mark.skipif(not shutil.which("docker-compose"), reason="no docker-compose")

NAME = "localhost"  # the one name that every machine finds


def certificate(folder):
    """An authority and a certificate of its own for NAME; the authority's file."""
    folder.mkdir(exist_ok=True)
    run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + NAME,
         "-addext", "subjectAltName=DNS:" + NAME, "-keyout", folder / "tls.key", "-out", folder / "tls.crt"])
    return folder / "tls.crt"


@pytest.fixture(scope="module")
def tls(server_image, nginx_image, base_image, tmp_path_factory):
    project = stand.Project(tmp_path_factory.mktemp("tls"), server_image, base_image, "tls", SANDBOX_NAME=NAME,
                            SANDBOX_NGINX_IMAGE=nginx_image)
    project.tls_port = stand.free_port()
    project.env["SANDBOX_TLS_PORT"] = str(project.tls_port)
    project.ca = certificate(project.folder / "secrets")
    project.init()  # the key as openssl writes it is its owner's alone
    project.tls_url = "https://%s:%d/mcp" % (NAME, project.tls_port)
    with project:
        project.up()
        context = ssl.create_default_context(cafile=str(project.ca))
        assert wait_until(lambda: ask(project, "/readyz", context)[0] == 200, 20)
        yield project


def ask(project, path, context=None, headers=None, data=None):
    """Status and body."""
    context = context or ssl.create_default_context(cafile=str(project.ca))
    request = urllib.request.Request("https://%s:%d%s" % (NAME, project.tls_port, path), data, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=20, context=context) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError as error:
        return 0, str(error).encode()


def message(project, code, **params):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "run_python", "arguments": {"code": code}, **params}}
    return json.dumps(body).encode(), {
        "Authorization": "Bearer " + project.token, "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream"}


def test_a_client_is_served_over_tls(tls):
    answer = official(tls.tls_url, tls.token, ca=tls.ca, progress=True)
    assert answered(answer), answer
    assert official(tls.tls_url, None, ca=tls.ca)["statuses"] == [401]


def test_only_what_clients_need_is_passed_on(tls):
    assert ask(tls, "/readyz") == (200, b"ok\n")
    headers = {"Authorization": "Bearer " + tls.token}
    assert ask(tls, "/metrics", headers=headers)[0] == 404
    assert ask(tls, "/healthz")[0] == 404
    body, headers = message(tls, "print(1)")
    assert ask(tls, "/mcp", headers={**headers, "Host": "evil.example.com"}, data=body)[0] in (403, 421)


def events(tls, code, **params):
    """The seconds at which each event of a call came."""
    body, headers = message(tls, code, **params)
    raw = socket.create_connection((NAME, tls.tls_port), 20)
    context = ssl.create_default_context(cafile=str(tls.ca))
    with context.wrap_socket(raw, server_hostname=NAME) as link:
        lines = ["POST /mcp HTTP/1.1", "Host: %s:%d" % (NAME, tls.tls_port), "Connection: close",
                 "Content-Length: %d" % len(body), *("%s: %s" % item for item in headers.items())]
        start = time.monotonic()
        link.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        link.settimeout(60)
        data = b""
        while True:
            piece = link.recv(65536)
            if not piece:
                return
            data += piece
            while b"\n\n" in data:
                event, data = data.split(b"\n\n", 1)
                found = re.search(rb"data: (\{.*)", event)
                if found:
                    yield time.monotonic() - start, json.loads(found.group(1))


def test_events_pass_unbuffered(tls):
    code = "import time\nfor i in range(6):\n    print('line', i, flush=True); time.sleep(1)"
    came = list(events(tls, code, _meta={"progressToken": "t"}))
    told = [seconds for seconds, event in came if event.get("method") == "notifications/progress"]
    result_at, last = came[-1]
    print("events came after", ["%.1f s" % seconds for seconds, _ in came])
    assert last["result"]["structuredContent"]["stdout"].count("line") == 6
    # The server tells of progress every two seconds.
    assert len(told) >= 3 and told[0] < 2 and result_at > 5.5, came
    assert all(1 < b - a < 4 for a, b in itertools.pairwise(told)), told


def test_a_quiet_minute_is_waited_out(tls):
    """Longer than nginx waits unless it is told to: one answer, no progress, no word in between."""
    body, headers = message(tls, "import time; time.sleep(65); print('done')")
    body = json.loads(body)
    body["params"]["arguments"]["timeout_seconds"] = 100
    context = ssl.create_default_context(cafile=str(tls.ca))
    request = urllib.request.Request(tls.tls_url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=100, context=context) as reply:
        assert b"done" in reply.read()


def test_a_client_that_hangs_up_ends_its_script(tls):
    stream = events(tls, "import time; print('on', flush=True); time.sleep(200)", _meta={"progressToken": "t"})
    assert next(stream)
    metric = "python_sandbox_calls_running 1\n"
    assert wait_until(lambda: metric in metrics(tls), 10)
    stream.close()
    assert wait_until(lambda: metric not in metrics(tls), 10)


def test_a_server_that_was_made_anew_is_found(tls):
    tls.compose("up", "--detach", "--force-recreate", "--no-deps", "server")
    assert wait_until(lambda: answered(official(tls.tls_url, tls.token, ca=tls.ca)), 40)


def test_nginx_finds_no_fault_in_its_configuration(tls):
    done = docker("exec", tls.ident("proxy"), "nginx", "-t", "-c", "/etc/nginx/python-sandbox.conf")
    assert "successful" in done.stderr and "warn" not in done.stderr, done.stderr


def metrics(project):
    request = urllib.request.Request("http://127.0.0.1:%d/metrics" % project.port,
                                     headers={"Authorization": "Bearer " + project.token})
    with urllib.request.urlopen(request, timeout=10) as reply:
        return reply.read().decode()


# --- monitoring


@pytest.fixture(scope="module")
def monitoring(server_image, prometheus_image, base_image, tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitoring")
    with stand.Project(folder, server_image, base_image, "monitoring", SANDBOX_PROMETHEUS_IMAGE=prometheus_image) as project:
        file = project.folder / "prometheus/prometheus.yml"
        file.write_text(file.read_text().replace("15s", "1s"))
        project.up("server", "prometheus")
        networks = inspect(project.ident("prometheus"))["NetworkSettings"]["Networks"]
        project.prometheus = next(iter(networks.values()))["IPAddress"]
        yield project


def prometheus(project, path, **query):
    """Asked at its address on the bridge: its port is not published."""
    url = "http://%s:9090/api/v1/%s?%s" % (project.prometheus, path, urllib.parse.urlencode(query))
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return json.load(reply)["data"]
    except urllib.error.HTTPError as error:
        return {"error": error.read().decode()}
    except OSError:
        return {}


def dashboard():
    return json.loads((stand.ROOT / "compose/grafana/dashboards/python-sandbox.json").read_text())


def expressions():
    """Every query of the dashboard as Grafana sends it."""
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$instance", ".*").replace("$__rate_interval", "10s")


def test_prometheus_reads_the_server(monitoring):
    assert wait_until(lambda: prometheus(monitoring, "query", query="up == 1").get("result"), 30)
    assert answered(official(monitoring.url, monitoring.token))
    query = 'python_sandbox_calls_total{status="ok"} >= 1'
    assert wait_until(lambda: prometheus(monitoring, "query", query=query).get("result"), 20)


def test_every_panel_shows_something(monitoring):
    assert answered(official(monitoring.url, monitoring.token))
    assert wait_until(lambda: prometheus(monitoring, "query", query="up == 1").get("result"), 30)
    for title, expression in expressions():
        found = wait_until(lambda e=expression: prometheus(monitoring, "query", query=e).get("result"), 20)
        assert found, (title, expression, prometheus(monitoring, "query", query=expression))
        values = [series["value"][1] for series in found]
        if "histogram_quantile" not in expression:
            assert "NaN" not in values, (title, values)


def test_the_dashboard_knows_every_metric(monitoring):
    names = set(re.findall(r"^(python_sandbox_\w+?)(?:_bucket|_sum|_count)?[ {]", metrics(monitoring), re.M))
    used = set(re.findall(r"python_sandbox_[a-z_]+", json.dumps([e for _, e in expressions()])))
    used = {re.sub(r"_bucket$", "", name) for name in used}
    assert used == names, (used ^ names)


def test_the_rules_are_loaded_and_quiet(monitoring):
    rules = prometheus(monitoring, "rules")["groups"][0]["rules"]
    assert len(rules) >= 5
    assert wait_until(lambda: all(r["health"] == "ok" for r in prometheus(monitoring, "rules")["groups"][0]["rules"]), 15)
    assert [r["name"] for r in rules if r["state"] == "firing"] == []
    names = set(re.findall(r"python_sandbox_[a-z_]+", json.dumps([r["query"] for r in rules])))
    assert names and all("\n%s" % name in metrics(monitoring) for name in names)


def test_prometheus_is_refused_without_the_token(monitoring):
    request = urllib.request.Request("http://127.0.0.1:%d/metrics" % monitoring.port)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=10)


def test_grafana_is_told_where_everything_is():
    yaml = pytest.importorskip("yaml")
    folder = stand.ROOT / "compose/grafana/provisioning"
    source = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"][0]
    provider = yaml.safe_load((folder / "dashboards/dashboards.yml").read_text())["providers"][0]
    service = yaml.safe_load((stand.ROOT / "compose/monitoring.yml").read_text())["services"]["grafana"]
    assert provider["options"]["path"] + "/python-sandbox.json" == \
        service["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert "./grafana/dashboards:%s:ro" % provider["options"]["path"] in service["volumes"]
    board = dashboard()
    panels = board["panels"]
    uids = {p["datasource"]["uid"] for p in panels} | {t["datasource"]["uid"] for p in panels for t in p["targets"]}
    assert uids == {source["uid"]} and board["templating"]["list"][0]["datasource"]["uid"] == source["uid"]
    assert len({p["id"] for p in panels}) == len(panels)
    places = [p["gridPos"] for p in panels]
    for a, b in itertools.combinations(places, 2):
        assert a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or \
            a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (a, b)
