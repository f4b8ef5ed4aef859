"""A small client of the Docker Engine, with what tests ask of it."""

import http.client
import json
import os
import socket
import urllib.parse

LABEL = "python-sandbox.owner"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("docker", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class EngineError(Exception):
    pass


class Engine:
    def __init__(self, path=None):
        host = os.environ.get("DOCKER_HOST", "")
        default = host[len("unix://") :] if host.startswith("unix://") else "/var/run/docker.sock"
        self.path = path or default

    def raw(self, method, path, body=None, timeout=60, **query):
        """Status and body; a body that is neither bytes nor a file goes as JSON."""
        headers = {}
        if body is not None and not isinstance(body, bytes) and not hasattr(body, "read"):
            body = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        elif body is not None:
            headers["Content-Type"] = "application/x-tar"
        if query:
            path += "?" + urllib.parse.urlencode(query)
        connection = UnixConnection(self.path, timeout)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, timeout=60, **query):
        status, text = self.raw(method, path, body, timeout, **query)
        if status >= 400:
            raise EngineError("%s %s: %d %s" % (method, path, status, text[:500]))
        return json.loads(text) if text.strip() else None

    def answers(self):
        try:
            return self.raw("GET", "/_ping", timeout=5)[0] == 200
        except OSError:
            return False

    def containers(self, owner=None, running=False):
        """Containers with the label, in any state; with owner, those of the server with that pid."""
        filters = {"label": [LABEL]}
        if running:
            filters["status"] = ["running"]
        found = self.json("GET", "/containers/json", all=1, filters=json.dumps(filters))
        if owner is None:
            return found
        return [c for c in found if c["Labels"][LABEL].startswith("pid=%d " % owner)]

    def inspect_running(self, owner):
        """What the engine says of each running container of a server; one may go in between."""
        answers = [
            self.raw("GET", "/containers/%s/json" % c["Id"]) for c in self.containers(owner, running=True)
        ]
        return [json.loads(text) for status, text in answers if status == 200]

    def process_count(self, ident):
        """Processes in a container; 0 where it is not running any more."""
        status, text = self.raw("GET", "/containers/%s/top" % ident)
        return len(json.loads(text)["Processes"] or []) if status == 200 else 0

    def create(self, body, name=None):
        query = {"name": name} if name else {}
        return self.json("POST", "/containers/create", body, **query)["Id"]

    def remove(self, ident):
        self.raw("DELETE", "/containers/%s" % ident, force=1, v=1)

    def has_image(self, name):
        return self.raw("GET", "/images/%s/json" % name)[0] == 200

    def commit(self, base, tag, changes):
        """A new image: base with Dockerfile instructions on top. No build, so no registry."""
        ident = self.create({"Image": base, "Cmd": ["true"]})
        try:
            repo, _, version = tag.partition(":")
            query = {"container": ident, "repo": repo, "tag": version, "changes": "\n".join(changes)}
            self.json("POST", "/commit", **query)
        finally:
            self.remove(ident)

    def remove_image(self, tag):
        self.raw("DELETE", "/images/%s" % tag, force=1)

    def volumes(self):
        return {v["Name"] for v in self.json("GET", "/volumes")["Volumes"] or []}
