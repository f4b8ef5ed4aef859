"""What a script cannot write, and who it is, seen from inside."""

from attacks import PLACES, SYSCALLS, WRITABLE, assert_only_memory_is_writable
from sandbox import Server, py, wait_until

REFUSED = {"EPERM", "EACCES", "ENOSYS"}


# Files


def test_nothing_can_be_written_outside_the_four_places(server):
    assert server.facts(WRITABLE) == PLACES


def test_only_memory_is_mounted_writable(server):
    lines = server.facts("import json; print(json.dumps(open('/proc/self/mountinfo').readlines()))")
    assert_only_memory_is_writable(lines)


def test_the_writable_places_have_the_sizes_of_the_settings(server):
    got = server.facts(
        py(
            """
            import json, os
            def size(path):
                s = os.statvfs(path)
                return [s.f_blocks * s.f_frsize >> 20, s.f_files]
            print(json.dumps({p: size(p) for p in ('/workspace', '/tmp', '/dev/shm')}))
            """
        )
    )
    assert {p: mib for p, (mib, _) in got.items()} == {"/workspace": 256, "/tmp": 64, "/dev/shm": 64}
    assert 0 < got["/workspace"][1] < 1_000_000 and 0 < got["/tmp"][1] < 1_000_000


def test_a_call_sees_nothing_of_the_call_before(server):
    server.run(
        "import os\n"
        "for d in ('/workspace', '/tmp', '/dev/shm', '/dev/mqueue'):\n"
        "    open(d + '/left', 'w').write('x')\n"
    )
    got = server.facts(
        py(
            """
            import json, os
            dirs = ('/workspace', '/tmp', '/dev/shm', '/dev/mqueue')
            print(json.dumps([d for d in dirs if os.path.exists(d + '/left')]))
            """
        )
    )
    assert got == []


# User and privileges


def test_the_script_is_not_root_and_cannot_become_it(server):
    got = server.facts(
        SYSCALLS
        + py(
            """
            import json
            ids = [os.getresuid(), os.getresgid(), os.getgroups()]
            tries = {
                'setuid': attempt(os.setuid, 0),
                'setgid': attempt(os.setgid, 0),
                'setgroups': attempt(os.setgroups, [0]),
                'chroot': attempt(os.chroot, '/workspace'),
                'user namespace': call(UNSHARE, 0x10000000),
                'network namespace': call(UNSHARE, 0x40000000),
                'mount namespace': call(UNSHARE, 0x00020000),
            }
            print(json.dumps([ids, tries]))
            """
        )
    )
    (uids, gids, groups), tries = got
    assert len(set(uids)) == 1 and 60600 <= uids[0] <= 65499
    assert len(set(gids)) == 1 and gids[0] != 0 and 0 not in groups
    assert set(tries.values()) <= REFUSED, tries


UID = "import os, time; print(os.getuid()); time.sleep(1.5)"


def test_two_calls_at_once_have_uids_of_their_own(server):
    calls = [server.start(UID) for _ in range(2)]
    uids = [call.result().stdout for call in calls]
    assert len(set(uids)) == 2, uids


def test_no_live_container_shares_its_uid_even_between_two_servers(server, engine):
    with Server() as other:
        calls = [s.start(UID) for s in (server, other) for _ in range(3)]
        uids = [call.result().stdout for call in calls]
        assert len(set(uids)) == 6, uids

        def users():
            found = engine.inspect_running(server.pid) + engine.inspect_running(other.pid)
            return [facts["Config"]["User"].split(":")[0] for facts in found]

        assert wait_until(lambda: len(engine.containers(other.pid, running=True)) >= 2, 10)
        users = users()
        assert len(set(users)) == len(users) and "" not in users and "0" not in users


def test_no_capabilities_no_new_privileges_seccomp_on(server):
    got = server.facts(
        py(
            """
            import json, subprocess, sys
            READ = "import json; print(json.dumps(dict(l.split(':', 1) for l in open('/proc/self/status'))))"
            own = dict(line.split(':', 1) for line in open('/proc/self/status'))
            child = json.loads(subprocess.check_output([sys.executable, '-c', READ]))
            print(json.dumps([own, child]))
            """
        )
    )
    for status in got:
        status = {k: v.strip() for k, v in status.items()}
        for name in ("CapEff", "CapBnd", "CapPrm", "CapInh", "CapAmb"):
            assert int(status[name], 16) == 0, name
        assert status["NoNewPrivs"] == "1"
        assert status["Seccomp"] == "2"
