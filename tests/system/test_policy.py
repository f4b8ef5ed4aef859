"""`policy` and `audit verify`: what they print, and how they exit. Neither asks an engine."""

import hashlib
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.path.abspath(os.environ.get("PYTHON_SANDBOX_BINARY") or ROOT / "build/python-sandbox")
GOLDEN = ROOT / "tests/unit/golden/spec_default.json"
UID_FIRST, UID_LAST = 60600, 65499
ZEROES = "0" * 64


def run(*arguments, **variables):
    return subprocess.run([BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=10, env=variables)


def printed(*arguments, **variables):
    done = run(*arguments, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def policy(*flags):
    return json.loads(printed("policy", "--json", *flags))


# --- policy


def test_the_body_is_the_golden_one():
    shown = policy()
    assert set(shown) == {"profile", "create", "seccomp"}
    assert shown["profile"] == "default"
    # What differs from container to container, and the two long texts.
    text = (GOLDEN.read_text().replace("60601", str(UID_FIRST))
            .replace("sha256:0123", "<id of the image>")
            .replace("SUPERVISOR", "<the supervisor>")
            .replace("seccomp=PROFILE", "seccomp=<the profile below>"))
    expected = json.loads(text)
    expected["Labels"] = shown["create"]["Labels"]
    assert shown["create"] == expected
    assert list(shown["create"]["Labels"]) == ["python-sandbox.owner"]


def test_the_seccomp_profile_denies_by_default():
    profile = policy()["seccomp"]
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"
               for name in rule["names"]}
    assert {"read", "write", "execve", "futex"} <= allowed
    assert not {"bpf", "mount", "setns", "unshare", "keyctl", "io_uring_setup"} & allowed


def test_flags_and_variables_change_the_limits():
    for shown in (policy("--memory", "1g", "--cpus", "2.5"),
                  json.loads(printed("policy", "--json", PYTHON_SANDBOX_MEMORY="1g",
                                     PYTHON_SANDBOX_CPUS="2.5"))):
        host = shown["create"]["HostConfig"]
        assert host["Memory"] == host["MemorySwap"] == 1 << 30
        assert host["NanoCpus"] == 2500000000
        assert "OMP_NUM_THREADS=3" in shown["create"]["Env"]


def test_the_grants_are_in_plain_words():
    text = printed("policy", "--memory", "1g", "--cpus", "1.5", "--timeout", "45")
    words, _, rest = text.partition("\nPOST /containers/create:\n\n")
    assert words.startswith("profile default: everything is denied but\n")
    for line in ("  write      /workspace 256 MB, /tmp 64 MB, /dev/shm 64 MB, /dev/mqueue: ",
                 "  memory     1024 MB, the writable places included; no swap\n",
                 "  CPU        1.5 of one or more processors\n",
                 "  processes  128, threads included\n",
                 "  time       45 s; a call may ask for up to 300 s\n",
                 "  identity   a user id of its own from %d to %d; no capability" % (
                     UID_FIRST, UID_LAST),
                 "  network    lo alone"):
        assert line in words
    body, _, seccomp = rest.partition("\nseccomp profile:\n\n")
    shown = policy("--memory", "1g", "--cpus", "1.5", "--timeout", "45")
    assert json.loads(body) == shown["create"]
    assert json.loads(seccomp) == shown["seccomp"]


def test_each_profile_is_shown(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"pids": 99, "profiles": {
        "plain": {"memory": "128m"},
        "shaped": {"exec": True, "runtime": "runsc", "preload": ["pandas", "os.path"], "shm": "1m"},
    }}))
    flag = "--config=%s" % path
    shown = policy(flag)
    assert set(shown) == {"profiles", "seccomp"}
    plain, shaped = shown["profiles"]
    assert (plain["profile"], shaped["profile"]) == ("plain", "shaped")
    assert plain["create"]["Cmd"] == ["python3", "-I", "-c", "<the supervisor>"]
    assert shaped["create"]["Cmd"] == ["python3", "-I", "-c", "<the supervisor>", "pandas", "os.path"]
    assert plain["create"]["HostConfig"]["Memory"] == 128 << 20
    host = shaped["create"]["HostConfig"]
    assert (host["Runtime"], host["ShmSize"], host["PidsLimit"]) == ("runsc", 1 << 20, 99)
    assert ",exec," in host["Tmpfs"]["/workspace"]
    text = printed("policy", flag)
    words, _, rest = text.partition("\nprofile plain: POST /containers/create:\n\n")
    assert words.count("everything is denied but") == 2 and "profile shaped: everything" in words
    for line in ("  execute    what the image holds (nothing from the writable places)\n",
                 "  execute    what the image holds (and what is in /workspace and /tmp; nothing from",
                 "  preload    pandas, os.path: imported before there is a script\n",
                 "  runtime    runsc\n"):
        assert words.count(line) == 1, line
    body, _, rest = rest.partition("\nprofile shaped: POST /containers/create:\n\n")
    assert json.loads(body) == plain["create"]
    assert json.loads(rest.partition("\nseccomp profile:\n\n")[0]) == shaped["create"]


@pytest.mark.parametrize("arguments, named", [
    (["default"], '"default"'), (["--json", "x"], '"x"'), (["--nonsense"], "nonsense"),
    (["--memory", "lots"], "lots")])
def test_bad_arguments_are_named(arguments, named):
    done = run("policy", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("python-sandbox: ") and named in done.stderr


# --- audit verify


def log_of(*texts):
    """A whole log with these members, and the hash of its last line."""
    lines, previous = [], ZEROES
    for text in texts:
        line = json.dumps({"client": text, "previous": previous}).encode()
        previous = hashlib.sha256(line).hexdigest()
        lines.append(line + b"\n")
    return lines, previous


def verify(path):
    return run("audit", "verify", str(path))


def test_a_whole_log_is_whole(tmp_path):
    for texts in ([], ["one"], ["one", "two", "three é\n"]):
        lines, last = log_of(*texts)
        (tmp_path / "log").write_bytes(b"".join(lines))
        done = verify(tmp_path / "log")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("%d lines, " % len(texts))
        assert done.stdout.endswith("SHA-256 of the last: %s\n" % last)


def test_harm_is_named_by_its_line(tmp_path):
    path = tmp_path / "log"
    good, _ = log_of("one", "two", "three", "four")
    changed = [good[0], good[1].replace(b"two", b"TWO"), *good[2:]]
    for lines, named in ((changed, "line 3: "), (good[:1] + good[2:], "line 2: "),
                         (good[1:], "line 1: "), (good[:2] + good[1:], "line 3: "),
                         ([*good[:3], good[3][:-5]], "line 4: it is cut short"),
                         ([*good, b"hello\n"], "line 5: ")):
        path.write_bytes(b"".join(lines))
        done = verify(path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("python-sandbox: %s: %s" % (path, named))


def test_no_log_is_no_whole_log(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe", "/dev/zero", ""):
        done = verify(path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("python-sandbox: %s: " % path)


@pytest.mark.parametrize("arguments", [[], ["verify"], ["check", "x"], ["verify", "x", "y"]])
def test_usage(arguments):
    done = run("audit", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: python-sandbox audit verify FILE\n"
