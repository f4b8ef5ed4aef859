"""compose/stack.yml on a Swarm of three engines behind compose/haproxy/haproxy.cfg. The tests build on each other:
the last one loses a machine for good."""

import time

import cluster as swarm
import pytest
from sandbox import wait_until

pytestmark = pytest.mark.timeout(240, func_only=True)

LONG, SHORT = {"sleep": 8, "retries": 0}, {"sleep": 0.5, "retries": 0}
STREAMS = {"burst": 3, "sleep": 12, "retries": 1}  # so long that their answers begin before they end
CLIENTS = {"clients": 6, "pause": 0.5}  # a few calls a second in all
ALL = set(swarm.ADDRESSES)


def told(cluster, what, figures):
    cluster.tell("%s: %s", what, ", ".join("%s %s" % pair for pair in figures.items()))
    return figures


def test_calls_are_spread_over_the_nodes(cluster):
    official = told(cluster, "official client", cluster.official(12))
    assert sum(official.values()) == 12 and set(official) == ALL, official
    # More than the balancer keeps of a request.
    assert sum(cluster.official(1, padding=300_000).values()) == 1
    with cluster.load(**CLIENTS) as load:
        time.sleep(6)
        figures = told(cluster, "load", load.finish())
    assert set(figures["served"]) == ALL, figures
    assert min(figures["served"].values()) * 6 >= figures["calls"], figures
    assert not figures["retried"] and not figures["lost"], figures


def test_a_full_node_has_calls_go_elsewhere(cluster):
    full = cluster.nodes[0]
    with cluster.load(full.address, burst=swarm.MAX_RUNNING, **LONG) as filling:
        assert wait_until(lambda: not cluster.ready(full), 7, 0.1)
        with cluster.load(full.address, burst=1, **SHORT) as further, cluster.load(burst=3, **SHORT) as others:
            refused = told(cluster, "asked of the full one", further.finish())
            served = told(cluster, "asked of the balancer", others.finish())
        filled = filling.finish()
    assert filled["lost"] == {} and sum(filled["served"].values()) == swarm.MAX_RUNNING, filled
    assert refused["lost"] == {"status 503 of nobody": 1}, refused
    assert sum(served["served"].values()) == 3 and set(served["served"]) <= ALL - {full.name}, served


def test_an_update_loses_nothing(cluster):
    before = [node.server() for node in cluster.nodes]
    with cluster.load(**CLIENTS) as load:
        time.sleep(2)
        cluster.manager.docker("service", "update", "--force", "--detach", swarm.SERVICE)
        assert wait_until(lambda: cluster.update_state() == "completed", 150, 1), cluster.state()
        figures = told(cluster, "update", load.finish())
    after = [node.server() for node in cluster.nodes]
    assert not set(before) & set(after) and None not in after, (before, after)
    assert set(figures["served"]) == ALL and not figures["lost"], figures
    cluster.await_all_ready()


def test_an_update_that_fails_is_taken_back(cluster):
    with cluster.load(**CLIENTS) as load:
        cluster.manager.docker("service", "update", "--detach", "--no-resolve-image",
                               "--image=python-sandbox-test:none", swarm.SERVICE)
        assert wait_until(lambda: cluster.update_state() == "rollback_completed", 100, 1), cluster.state()
        figures = told(cluster, "update taken back", load.finish())
    assert not figures["lost"], figures
    cluster.await_all_ready()
    assert None not in [node.server() for node in cluster.nodes]


def test_draining_a_node_loses_nothing(cluster):
    drained = cluster.nodes[1]
    with cluster.load(**CLIENTS) as load:
        time.sleep(4)
        cluster.availability(drained, "drain")
        assert wait_until(lambda: drained.server() is None, 60, 0.5), cluster.state()
        cluster.tell("%s has no server any more", drained.name)
        assert drained.engine.containers() == []
        time.sleep(4)
        figures = told(cluster, "drain", load.finish())
    assert set(figures["served"]) == ALL and not figures["lost"], figures
    cluster.availability(drained, "active")
    cluster.await_all_ready()


def test_a_node_that_dies_costs_one_retry(cluster):
    lost = cluster.nodes[2]
    with cluster.load(**STREAMS) as streams:
        time.sleep(1)
        with cluster.load(**CLIENTS) as load:
            time.sleep(6)
            lost.kill()
            cluster.tell("%s is gone", lost.name)
            time.sleep(18)
            figures = told(cluster, "death", load.finish())
        begun = told(cluster, "answers that had begun", streams.finish())
    # That some were tried again shows that the node was at work; short calls go to those with fewer long ones.
    assert begun["served"].keys() <= ALL - {lost.name} and not begun["lost"] and begun["retried"], begun
    assert figures["served"].keys() >= ALL - {lost.name} and not figures["lost"], figures
    with cluster.load(**CLIENTS) as load:
        time.sleep(4)
        figures = told(cluster, "after it", load.finish())
    assert set(figures["served"]) == ALL - {lost.name}, figures
    assert not figures["retried"] and not figures["lost"], figures
