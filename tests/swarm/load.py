"""Clients that call until stdin ends, a few calls a second in all, each with one retry. Takes one JSON object (url,
token, clients, pause) and prints one: what became of the calls. With "burst" instead of clients and pause, that many
calls at the same time, each of "sleep" seconds and with so many "retries"."""

import collections
import http.client
import json
import random
import statistics
import sys
import threading
import time
import urllib.parse

WISH = json.loads(sys.argv[1])
# Seconds that scripts sleep. After five the answer becomes an event stream, which no balancer can ask for again.
SLEEPS = (0, 0, 0, 0, 0.5, 1, 2, 7)
ANSWER_S = 90
RETRY_S = 1


class Failed(Exception):
    """The call was not answered with what its script prints."""


def message_of(response):
    """The answer to the request, plain or as the last event of a stream."""
    body = response.read().decode()
    if response.getheader("Content-Type", "").startswith("text/event-stream"):
        events = [e for e in body.split("\n\n") if e.startswith("event: message\ndata: ")]
        body = events[-1].split("data: ", 1)[1] if events else "{}"
    return json.loads(body)


def attempt(number, code):
    """The name of the server that answered; Failed with a word and the seconds that it asks to wait."""
    url = urllib.parse.urlsplit(WISH["url"])
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": "run_python", "arguments": {"code": code}}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2025-11-25", "Authorization": "Bearer " + WISH["token"]}
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=ANSWER_S)
    try:
        connection.request("POST", url.path, json.dumps(body), headers)
        response = connection.getresponse()
        server = response.getheader("X-Served-By", "nobody")
        if response.status != 200:
            wait = int(response.getheader("Retry-After", RETRY_S))
            raise Failed("status %d of %s" % (response.status, server), wait)
        message = message_of(response)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Failed(type(error).__name__, RETRY_S) from error
    finally:
        connection.close()
    facts = message.get("result", {}).get("structuredContent", {})
    if facts.get("status") != "ok" or facts.get("stdout") != "%d\n" % number:
        raise Failed("answer %s" % (facts.get("status") or message), RETRY_S)
    return server


class Figures:
    def __init__(self):
        self.lock = threading.Lock()
        self.number = 0
        self.served = collections.Counter()
        self.first = collections.Counter()
        self.lost = collections.Counter()
        self.seconds = []

    def next_number(self):
        with self.lock:
            self.number += 1
            return self.number

    def call(self, number, sleep, retries):
        code = "import time; time.sleep(%s); print(%d)" % (sleep, number)
        start = time.monotonic()
        try:
            try:
                server = attempt(number, code)
            except Failed as error:
                if not retries:
                    raise
                why, wait = error.args
                with self.lock:
                    self.first[why] += 1
                time.sleep(wait)
                server = attempt(number, code)
        except Failed as error:
            with self.lock:
                self.lost[error.args[0]] += 1
            return
        with self.lock:
            self.served[server] += 1
            self.seconds.append(time.monotonic() - start - sleep)

    def summary(self):
        seconds = sorted(self.seconds) or [0]
        return {"calls": self.number, "served": dict(sorted(self.served.items())),
                "retried": dict(self.first), "lost": dict(self.lost),
                "median": round(statistics.median(seconds), 3), "p95": round(seconds[int(len(seconds) * 0.95)], 3),
                "longest": round(seconds[-1], 3)}


def client(figures, stop, seed):
    pause = random.Random(seed)
    while not stop.wait(pause.uniform(0, 2 * WISH["pause"])):
        number = figures.next_number()
        figures.call(number, SLEEPS[number % len(SLEEPS)], 1)


def main():
    figures, stop = Figures(), threading.Event()
    if "burst" in WISH:
        clients = [threading.Thread(target=figures.call, args=(figures.next_number(), WISH["sleep"], WISH["retries"]))
                   for _ in range(WISH["burst"])]
    else:
        clients = [threading.Thread(target=client, args=(figures, stop, seed)) for seed in range(WISH["clients"])]
    for thread in clients:
        thread.start()
    sys.stdin.read()
    stop.set()
    for thread in clients:
        thread.join()
    print(json.dumps(figures.summary()))


main()
