"""What a script may use up, seen from inside."""

import pytest
from sandbox import assert_serves, members, py


def test_fork_bomb(server):
    result = server.run(
        py(
            """
            import os
            print('bomb', flush=True)
            while True:
                try:
                    os.fork()
                except OSError:
                    pass
            """
        ),
        timeout_seconds=2,
    )
    assert result.status == "timed_out", result
    assert result.stdout.startswith("bomb\n")
    assert result.seconds < 6
    assert_serves(server)


def test_the_number_of_processes_is_limited(server):
    got = server.facts(
        py(
            """
            import json, os, signal, time
            pids = []
            try:
                while len(pids) < 1000:
                    pid = os.fork()
                    if pid == 0:
                        time.sleep(60)
                        os._exit(0)
                    pids.append(pid)
            except OSError as e:
                print(json.dumps([len(pids), e.errno]))
            """
        )
    )
    assert 50 <= got[0] <= 128 and got[1] == 11
    assert_serves(server)


def test_memory_bomb(server):
    result = server.run(
        py(
            """
            print('bomb')
            kept = []
            while True:
                kept.append(b'x' * (1 << 24))
            """
        )
    )
    assert result.status == "out_of_memory", result
    assert result.stdout == "bomb\n" and result.data["oom_kills"] >= 1
    assert_serves(server)


@pytest.mark.parametrize("place,mib", [("/workspace", 256), ("/tmp", 64), ("/dev/shm", 64)])
def test_disk_bomb(server, place, mib):
    result = server.run(
        py(
            """
            import os
            written = 0
            with open('%s/bomb', 'wb', 0) as f:
                try:
                    while True:
                        written += f.write(b'x' * (1 << 20))
                finally:
                    print(written >> 20)
            """
        )
        % place
    )
    assert (result.status, result.exit_code) == ("error", 1), result
    assert "No space left on device" in result.stderr
    assert mib - 2 <= int(result.stdout) <= mib
    assert_serves(server)


@pytest.mark.parametrize("place", ["/workspace", "/tmp"])
def test_bomb_of_empty_files(server, place):
    result = server.run(
        py(
            """
            n = 0
            try:
                while True:
                    open('%s/%%d' %% n, 'w').close()
                    n += 1
            finally:
                print(n)
            """
        )
        % place
    )
    assert (result.status, result.exit_code) == ("error", 1), result
    assert "No space left on device" in result.stderr
    assert_serves(server)


def test_output_flood(server):
    result = server.run("while True: print('flood ' * 1000)", timeout_seconds=2)
    assert result.status == "timed_out", result
    assert result.stdout.startswith("flood ") and result.data["truncated"] is True
    assert result.seconds < 6
    assert_serves(server)


def test_the_output_flood_stays_out_of_the_servers_memory(server):
    def resident():
        total = 0
        for pid in members(server.pid):
            with open("/proc/%d/status" % pid) as f:
                total += sum(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        return total

    before = resident()
    server.run("import os\nwhile True: os.write(1, b'x' * 65536)", timeout_seconds=2)
    assert resident() - before < 32 * 1024
