"""How a run ended, and how the result says so."""

import pytest
from sandbox import py, wait_for_processes, wait_until


def ended(result):
    return result.status, result.exit_code


def test_ok(server):
    result = server.run("print('hello')")
    assert ended(result) == ("ok", 0)
    assert (result.stdout, result.stderr) == ("hello\n", "")
    assert "hello" in result.text
    assert result.data["oom_kills"] == 0 and result.data["truncated"] is False


def test_the_result_says_how_much_was_used(server, base_image):
    result = server.run(
        py(
            """
            import time
            kept = b'x' * (100 << 20)
            end = time.process_time() + 0.5
            while time.process_time() < end:
                pass
            time.sleep(0.5)
            """
        )
    )
    assert ended(result) == ("ok", 0), result
    assert 900 <= result.data["duration_ms"] <= 10000
    assert 400 <= result.data["cpu_ms"] <= 5000
    assert result.data["cpu_ms"] < result.data["duration_ms"]
    assert 100 << 20 <= result.data["peak_memory_bytes"] <= 512 << 20
    assert result.data["image"] == base_image
    assert result.data["python"].startswith("3.")


@pytest.mark.parametrize("code", ["exit(3)", "import sys; sys.exit(3)", "import os; os._exit(3)"])
def test_exit_status(server, code):
    result = server.run(code)
    assert ended(result) == ("error", 3), result
    assert result.stderr == ""


@pytest.mark.parametrize("code", ["exit()", "exit(0)", "exit(None)", "raise SystemExit"])
def test_exit_without_a_fault(server, code):
    assert ended(server.run(code)) == ("ok", 0)


def test_exit_status_is_cut_to_a_byte_as_by_the_system(server):
    assert ended(server.run("exit(256 + 7)")) == ("error", 7)
    assert ended(server.run("exit(-1)")) == ("error", 255)


def test_uncaught_exception(server):
    result = server.run("print('before')\nraise ValueError('the reason')\n")
    assert ended(result) == ("error", 1), result
    assert result.stdout == "before\n"
    assert result.stderr.startswith("Traceback (most recent call last):\n")
    assert result.stderr.endswith("ValueError: the reason\n")
    assert "ValueError: the reason" in result.text and "before" in result.text


def test_syntax_error(server):
    result = server.run("print('a')\nif True print('b')\n")
    assert ended(result) == ("error", 1), result
    assert "SyntaxError" in result.stderr and "if True print('b')" in result.stderr
    assert result.stdout == ""


def test_exit_with_a_text(server):
    result = server.run("import sys; sys.exit('no such luck')")
    assert ended(result) == ("error", 1), result
    assert result.stderr == "no such luck\n"


@pytest.mark.parametrize(
    "code,exit_code",
    [
        ("import ctypes; print('before'); ctypes.string_at(0)", 139),
        ("import os; print('before'); os.abort()", 134),
        ("import os; print('before'); os.kill(os.getpid(), 9)", 137),
        ("import os; print('before'); os.kill(os.getpid(), 15)", 143),
    ],
    ids=["SIGSEGV", "abort", "SIGKILL", "SIGTERM"],
)
def test_ended_by_a_signal(server, code, exit_code):
    result = server.run(code)
    assert ended(result) == ("killed", exit_code), result
    assert result.stdout == "before\n"
    assert result.data["oom_kills"] == 0


@pytest.mark.parametrize(
    "code",
    [
        "print('partial', flush=True)\nwhile True: pass",
        "print('partial')\nwhile True: pass",
        "print('partial', end='')\nwhile True: pass",
        "print('partial')\nimport time\ntime.sleep(1000)",
        "import os\nos.write(1, b'partial')\nwhile True: pass",
    ],
    ids=["flush", "line", "no newline", "asleep", "raw"],
)
def test_timed_out_keeps_the_partial_output(server, code):
    result = server.run(code, timeout_seconds=1)
    assert result.status == "timed_out", result
    assert result.stdout.rstrip("\n") == "partial"
    assert "partial" in result.text
    assert 0.9 <= result.seconds < 4


def test_timed_out_in_a_script_that_ignores_every_signal(server):
    result = server.run(
        py(
            """
            import signal
            for number in signal.valid_signals():
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            print('partial')
            while True:
                pass
            """
        ),
        timeout_seconds=1,
    )
    assert (result.status, result.stdout) == ("timed_out", "partial\n"), result
    assert result.seconds < 4


def test_timed_out_keeps_both_streams_and_says_the_deadline(server):
    code = "import sys\nprint('out')\nprint('err', file=sys.stderr)\nwhile True: pass"
    result = server.run(code, timeout_seconds=1)
    assert (result.status, result.stdout, result.stderr) == ("timed_out", "out\n", "err\n"), result
    assert "1 s" in result.text or "1 second" in result.text or "1.0" in result.text


def test_out_of_memory(server):
    result = server.run("print('before')\nkept = []\nwhile True: kept.append(b'x' * (1 << 24))")
    assert ended(result) == ("out_of_memory", 137), result
    assert result.stdout == "before\n"
    assert result.data["oom_kills"] >= 1
    assert result.data["peak_memory_bytes"] > 400 << 20
    assert "memory" in result.text


def test_a_memory_error_is_an_error_like_others(server):
    result = server.run("x = bytearray(1 << 50)")
    assert ended(result) == ("error", 1), result
    assert "MemoryError" in result.stderr and result.data["oom_kills"] == 0


# Fills part of the memory by files, then spreads the rest over 90 processes.
SPREAD = """
import os, signal, sys, time
with open('/workspace/filler', 'wb') as f:
    f.write(b'x' * (200 << 20))
pids = []
for _ in range(90):
    pid = os.fork()
    if pid == 0:
        kept = [b'y' * (1 << 20) for _ in range(%d)]
        time.sleep(%d)
        os._exit(0)
    pids.append(pid)
killed = sum(os.waitpid(pid, 0)[1] == signal.SIGKILL for pid in pids)
print('killed', killed)
"""


def test_memory_spread_over_90_children(server):
    result = server.run(SPREAD % (12, 2))
    assert result.data["oom_kills"] >= 1, result
    if result.status == "ok":  # the kernel chose among the children only
        assert result.stdout == "killed %d\n" % result.data["oom_kills"]
    else:
        assert ended(result) == ("out_of_memory", 137), result
    assert server.run("print('next')").status == "ok"


def test_memory_spread_over_90_children_that_all_grow(server):
    code = SPREAD.replace("print('killed', killed)", "kept = [b'z' * (1 << 24) for _ in range(99)]")
    result = server.run(code % (12, 2))
    assert ended(result) == ("out_of_memory", 137), result
    assert result.data["oom_kills"] >= 2


def test_out_of_memory_in_one_child_only(server):
    result = server.run(
        py(
            """
            import subprocess, sys
            bomb = 'kept = []\\nwhile True: kept.append(b"x" * (1 << 24))'
            print(subprocess.run([sys.executable, '-c', bomb]).returncode)
            """
        )
    )
    assert ended(result) == ("ok", 0), result
    assert result.stdout == "-9\n"
    assert result.data["oom_kills"] == 1


def test_a_container_that_is_ended_from_outside(cold, engine):
    """The end of the stream without the supervisor's word is never success, and is told at once."""
    call = cold.start("import time; print('x', flush=True); time.sleep(60)")
    wait_for_processes(engine, cold.pid, 2)
    engine.raw("POST", "/containers/%s/kill" % engine.containers(cold.pid)[0]["Id"])
    result = call.result(5)
    assert ended(result) == ("sandbox_error", -1), result
    assert result.stdout == "x\n"
    assert cold.run("print('next')").stdout == "next\n"


def test_cancelled(cold, engine):
    call = cold.start("import time; print('x', flush=True); time.sleep(60)")
    wait_for_processes(engine, cold.pid, 2)
    cold.cancel(call)
    assert wait_until(lambda: not engine.containers(cold.pid), 5), "the container is still there"
    assert cold.request("ping") == {}
    assert not call.done.wait(2), "an answer to a cancelled request: %s" % call.message
    assert cold.run("print('next')").stdout == "next\n"
    assert not call.answered()


def test_cancelled_at_once(server):
    calls = []
    for _ in range(5):
        call = server.start("import time; time.sleep(60)")
        server.cancel(call)
        calls.append(call)
    assert server.run("print('next')").stdout == "next\n"
    assert not any(call.answered() for call in calls)


def test_a_late_or_unknown_cancellation_is_ignored(server):
    call = server.start("print('done')")
    assert call.result().stdout == "done\n"
    server.cancel(call)
    server.notify("notifications/cancelled", {"requestId": "never-seen"})
    server.notify("notifications/cancelled", {})
    server.notify("notifications/cancelled")
    assert server.run("print('next')").stdout == "next\n"


# Arguments


def refused(server, **arguments):
    """The text of a result that refuses the arguments."""
    result = server.request("tools/call", {"name": "run_python", "arguments": arguments})
    assert result["isError"] is True, result
    return result["content"][0]["text"]


@pytest.mark.parametrize("value", [0, -1, 301, 10**12, "soon", "", None, [], True, "1e9", 1e300])
def test_a_wrong_deadline_is_refused_by_name_and_range(server, value):
    if value is None:
        assert server.run("print(1)", timeout_seconds=None).status == "ok"
        return
    text = refused(server, code="print(1)", timeout_seconds=value)
    assert "timeout_seconds" in text and "300" in text


def test_a_number_given_as_text_is_accepted(server):
    result = server.run("while True: pass", timeout_seconds="1")
    assert result.status == "timed_out" and result.seconds < 4, result


def test_wrong_code_is_refused_by_name(server):
    for arguments in ({}, {"code": 1}, {"code": None}, {"code": ["print(1)"]}):
        assert "code" in refused(server, **arguments)
    text = refused(server, code="#" * (2 << 20))
    assert "code" in text and ("1048576" in text.replace(",", "") or "1 MiB" in text), text


def test_wrong_stdin_is_refused_by_name(server):
    assert "stdin" in refused(server, code="print(1)", stdin=5)


def test_unknown_arguments_are_ignored_and_named(server):
    result = server.run("print(1)", purpose="for the record")
    assert (result.status, result.stdout) == ("ok", "1\n")
    assert "purpose" in result.text


def test_an_unknown_tool_is_a_protocol_error(server):
    message = server.send("tools/call", {"name": "run_perl", "arguments": {}}).response()
    assert message["error"]["code"] == -32602
