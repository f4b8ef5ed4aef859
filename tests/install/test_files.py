"""make install and uninstall, and what they put there: the manual, the completions, the examples, the unit
and the binary's own account of itself."""

import json
import re
import subprocess

import pytest
import sandbox
from places import EPOCH, ROOTS_TIMEOUT_S, inside, make, run

CLIENTS = ["claude-code", "claude-desktop", "vscode", "cursor", "codex", "gemini", "generic"]
PROFILES = sorted(path.stem for path in (sandbox.ROOT / "docker/images").glob("*.txt"))
FILES = {
    "bin/python-sandbox": 0o755,
    "lib/systemd/system/python-sandbox.service": 0o644,
    "share/bash-completion/completions/python-sandbox": 0o644,
    "share/doc/python-sandbox/LICENSE": 0o644,
    "share/doc/python-sandbox/README.md": 0o644,
    "share/doc/python-sandbox/examples/config.json": 0o644,
    "share/doc/python-sandbox/examples/seccomp.json": 0o644,
    "share/doc/python-sandbox/examples/server.env": 0o644,
    "share/fish/vendor_completions.d/python-sandbox.fish": 0o644,
    "share/man/man1/python-sandbox.1": 0o644,
    "share/zsh/site-functions/_python-sandbox": 0o644,
}


def product(*arguments, **options):
    return run(sandbox.BINARY, *arguments, env=sandbox.environment(), **options)


def listed_verbs():
    """The verbs that --help lists, each with what it says of it."""
    lines = product("--help").stdout.split("Verbs:\n")[1].split("\n\n")[0].splitlines()
    return dict(re.match(r"  ([a-z-]+) +(.*)", line).groups() for line in lines)


VERBS = listed_verbs()
assert {"serve", "run", "doctor", "client-config", "token", "audit", "version"} <= VERBS.keys()


@pytest.fixture(scope="module")
def prefix(build, tmp_path_factory):
    destination = tmp_path_factory.mktemp("installed")
    make(build, "PREFIX=/opt/box", "DESTDIR=%s" % destination, "install")
    return destination / "opt/box"


def files_below(folder):
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o7777
            for path in folder.rglob("*") if path.is_file()}


def test_install_puts_everything_below_the_prefix(prefix):
    assert files_below(prefix) == FILES
    assert [path.name for path in prefix.parent.parent.iterdir()] == ["opt"]
    unit = (prefix / "lib/systemd/system/python-sandbox.service").read_text()
    assert "\nExecStart=/opt/box/bin/python-sandbox serve\n" in unit
    assert "@" not in re.sub(r"@system-service|@resources|@privileged", "", unit)
    seccomp = json.loads((prefix / "share/doc/python-sandbox/examples/seccomp.json").read_text())
    assert seccomp == json.loads(product("policy", "--json").stdout)["seccomp"]
    assert run(str(prefix / "bin/python-sandbox"), "version").stdout.startswith("python-sandbox ")


def test_uninstall_takes_its_own_away_and_nothing_else(build, tmp_path):
    flags = ["PREFIX=/usr", "DESTDIR=%s" % tmp_path]
    make(build, *flags, "install")
    assert set(files_below(tmp_path / "usr")) == set(FILES)
    own = tmp_path / "usr/share/doc/python-sandbox/own"
    own.write_text("kept")
    make(build, *flags, "uninstall")
    assert set(files_below(tmp_path)) == {"usr/share/doc/python-sandbox/own"}
    own.unlink()
    make(build, *flags, "uninstall")
    assert not own.parent.exists()


# The manual and the completions say what --help says.


def words(text):
    return " ".join(text.split())


def help_of(verb):
    """The flags of a verb, each with what --help says of it, and those in the usage line."""
    done = product(verb, "--help", check=False)
    flags = {}
    for line in done.stdout.splitlines():
        start = re.match(r" +(?:-h, )?(--[a-z-]+)(\S*)(?: +(.*))?$", line)
        if start:
            flag = start.group(1)
            flags[flag] = start.group(3) or ""
        elif re.match(r" {20,}\S", line) and flags:
            flags[flag] += " " + line.strip()
    usage = done.stdout.split("\n\n")[0]
    return {flag: words(text) for flag, text in flags.items()}, set(re.findall(r"\[(--[a-z-]+)", usage))


@pytest.fixture(scope="module")
def helps():
    found = {verb: help_of(verb) for verb in VERBS}
    assert len(found["serve"][0]) > 30 and found["serve"][0]["--pids"].startswith("Processes")
    return found


@pytest.mark.timeout(ROOTS_TIMEOUT_S)
def test_the_manual_has_every_verb_and_setting(prefix, helps, roots):
    page = (prefix / "share/man/man1/python-sandbox.1").read_text()
    done = inside(roots.tools, "man", "--warnings", "-l", "-", input=page)
    assert done.stderr == ""
    text = words(done.stdout.replace("\u2010", "-"))
    for verb, (flags, own) in helps.items():
        meaning = VERBS[verb]
        assert meaning[0].upper() + meaning[1:] + "." in text, verb
        for flag in flags.keys() - {"--help", "--usage"} | own:
            assert re.search(r" %s[ =\[]" % flag, text), flag
    for flag, meaning in helps["serve"][0].items():
        if flag in ("--help", "--usage"):
            continue
        variable = "PYTHON_SANDBOX_" + flag[2:].upper().replace("-", "_")
        assert re.search(r" %s\S* %s" % (flag, re.escape(meaning)), text), (flag, meaning)
        assert "Variable %s." % variable in text
    assert "1970" not in text and "2026-09-21" in text


def completed(script, *line):
    """What the completion of bash offers for the last word."""
    call = """
        compopt() { :; }
        source %s
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _python_sandbox
        printf '%%s\\n' "${COMPREPLY[@]}"
    """ % script
    return run("bash", "-c", call, "bash", "python-sandbox", *line).stdout.split()


def test_bash_completes(prefix, helps, tmp_path):
    script = prefix / "share/bash-completion/completions/python-sandbox"
    assert completed(script, "") == list(VERBS)
    assert completed(script, "po") == ["policy"]
    for verb, (flags, own) in helps.items():
        assert {flag.rstrip("=") for flag in completed(script, verb, "-")} == set(flags) | own, verb
    assert completed(script, "--mem") == ["--memory=", "--memory-budget="]
    assert completed(script, "run", "--audit-c") == ["--audit-code"]
    assert completed(script, "serve", "--pull", "=", "") == ["missing", "never"]
    assert completed(script, "serve", "--pull", "=", "n") == ["never"]
    assert completed(script, "serve", "--log-level", "w") == ["warn"]
    assert completed(script, "serve", "--audit-code", "=", "") == ["no", "yes"]
    assert completed(script, "client-config", "") == CLIENTS
    assert completed(script, "client-config", "--memory=1g", "cl") == ["claude-code", "claude-desktop"]
    (tmp_path / "script.py").write_text("")
    path = str(tmp_path / "scr")
    for line in (["run", path], ["serve", "--token-file", "=", path], ["run", "--config", path],
                 ["audit", "verify", path], ["run", "--file", "=", path], ["run", "--file", "=", "a.py", "=", path],
                 ["image", "build", "--requirements", "=", path], ["image", "build", "--requirements", path]):
        assert completed(script, *line) == [path + "ipt.py"], line
    assert sorted(completed(script, "image", "build", "--profile", "=", "")) == PROFILES
    assert completed(script, "image", "build", "--tag", "=", "") == []
    assert completed(script, "client-config", "--name", "") == []
    assert completed(script, "run", "script.py", "--mem") == []
    assert completed(script, "fly", "") == []


@pytest.mark.timeout(ROOTS_TIMEOUT_S)
def test_fish_completes(prefix, helps, roots):
    script = (prefix / "share/fish/vendor_completions.d/python-sandbox.fish").read_text()

    def offered(line):
        done = inside(roots.tools, "fish", "--no-config", "-c",
                      'source -; complete -C "python-sandbox %s"' % line, input=script)
        assert done.stderr == ""
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    assert set(offered("")) == set(VERBS)
    for verb in ("serve", "doctor", "token", "client-config"):
        flags, own = helps[verb]
        # It shows a long flag with a value as "--flag=".
        assert {flag.rstrip("=") for flag in offered(verb + " --")} == set(flags) | own, verb
    assert offered("serve --pull=n") == ["--pull=never"]
    assert set(offered("client-config c")) == {"claude-code", "claude-desktop", "codex", "cursor"}
    assert "verify" in offered("audit v")
    for line in ("run --file=/etc/pass", "run --outputs=/etc/pass", "image build --requirements=/etc/pass"):
        assert line.split()[-1] + "wd" in offered(line), line
    assert sorted(offered("image build --profile=")) == ["--profile=" + name for name in PROFILES]


ZSH = """
setopt extended_glob
_describe() { print -rl -- ${names%%%%:*} }
_arguments() { print -rl -- "$@" }
_files() { print files }
complete_it() {
%s
}
words=(%s)
CURRENT=$#words
complete_it
"""


@pytest.mark.timeout(ROOTS_TIMEOUT_S)
def test_zsh_completes(prefix, helps, roots):
    script = (prefix / "share/zsh/site-functions/_python-sandbox").read_text()
    assert script.startswith("#compdef python-sandbox\n")

    def offered(line):
        done = inside(roots.tools, "zsh", "-f", "-s", input=ZSH % (script, line))
        assert done.stderr == ""
        return done.stdout.splitlines()

    assert offered('python-sandbox ""') == list(VERBS)
    for verb, (flags, own) in helps.items():
        specs = offered("python-sandbox %s --" % verb)
        assert {re.match(r"--[a-z-]+", spec).group() for spec in specs if spec.startswith("--")} == (
            set(flags) | own), verb
    specs = offered("python-sandbox serve --")
    assert "--http=[Serve HTTP" in "\n".join(specs) and r":ADDRESS\:PORT: " in "\n".join(specs)
    assert any(re.match(r"--pull=\[.*\]:WHEN:\(missing never\)$", spec) for spec in specs)
    assert any(re.match(r"--token-file=\[.*\]:FILE:_files$", spec) for spec in specs)
    for verb, pattern in (("run", r"--file=\[.*\]:.*PATH:_files"), ("run", r"--outputs=\[.*\]:DIR:_files"),
                          ("image", r"--requirements=\[.*\]:FILE:_files"),
                          ("image", r"--profile=\[.*\]:NAME:\(datascience gpu slim\)")):
        assert any(re.fullmatch(pattern, spec) for spec in offered("python-sandbox %s --" % verb)), pattern
    assert "1:word:(%s)" % " ".join(CLIENTS) in offered('python-sandbox client-config ""')
    assert "1:file:_files" in offered('python-sandbox run ""')


# The examples


def test_the_example_configuration(prefix, helps, tmp_path):
    path = prefix / "share/doc/python-sandbox/examples/config.json"
    text = path.read_text()
    assert product("policy", "--config=%s" % path).stdout == product("policy", "--config=none").stdout
    keys = dict(re.findall(r'^    // "([a-z_]+)": (.*),$', text, re.M))
    flags = {flag[2:].replace("-", "_") for flag in helps["serve"][0]} - {"config", "help", "usage"}
    assert keys.keys() == flags
    # Those with a value of their own say the default.
    lines = ['"%s": %s' % item for item in keys.items() if not re.match(r'"[A-Z]', item[1])]
    assert len(lines) > 20
    whole = tmp_path / "config.json"
    whole.write_text("{%s}" % ",\n".join(lines))
    assert product("policy", "--config=%s" % whole).stdout == product("policy", "--config=none").stdout
    variables = (prefix / "share/doc/python-sandbox/examples/server.env").read_text()
    for name, value in re.findall(r"^#(PYTHON_SANDBOX_\w+)=(.*)$", variables, re.M):
        run(sandbox.BINARY, "policy", env=sandbox.environment({name: value}))


def test_a_longer_drain_comes_with_a_longer_stop(prefix):
    unit = (prefix / "lib/systemd/system/python-sandbox.service").read_text()
    example = (prefix / "share/doc/python-sandbox/examples/server.env").read_text()
    (drain,), (stop,) = (re.findall(r"^%s=(\d+)$" % name, unit, re.M)
                         for name in ("Environment=PYTHON_SANDBOX_DRAIN", "TimeoutStopSec"))
    (longer,), (longer_stop,) = (re.findall(r"^# *%s=(\d+)$" % name, example, re.M)
                                 for name in ("PYTHON_SANDBOX_DRAIN", "TimeoutStopSec"))
    assert int(longer) > int(stop) > int(drain)
    assert int(longer_stop) - int(longer) == int(stop) - int(drain)
    page = (prefix / "share/man/man1/python-sandbox.1").read_text()
    assert "    TimeoutStopSec=%s\n" % longer_stop in page


# What the binary says of itself


def test_version_says_what_it_was_built_with(build):
    make(build, "all")
    text = run(str(build / "python-sandbox"), "version").stdout
    facts = dict(re.findall(r"^(\S+) +(.*)$", text, re.M))
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["python-sandbox"])
    assert facts["built"] == "2026-09-21T14:13:20Z" and int(EPOCH) == 1790000000
    git = run("git", "-C", str(sandbox.ROOT), "describe", "--always", "--abbrev=12", "--dirty", check=False)
    assert facts["revision"] == (git.stdout.strip() or "unknown")
    assert facts["flavour"] == "plain"
    compiler = run("gcc", "-dumpfullversion").stdout.strip()
    assert facts["compiler"] == "gcc " + compiler
    for library in ("libcjson", "libmicrohttpd", "libseccomp", "libcurl"):
        assert facts[library].split()[0] == run("pkg-config", "--modversion", library).stdout.strip()
    assert run("pkg-config", "--modversion", "nettle").stdout.startswith(facts["nettle"])
    assert "glibc" in facts and "linked" not in facts
    again = make(build, "all", REVISION="package 7")
    assert again.stderr == ""
    assert "revision       package 7\n" in run(str(build / "python-sandbox"), "version").stdout


def test_root_finds_the_revision_of_a_tree_that_is_a_users(build):
    make(build, "all")
    before = (build / "python-sandbox").read_bytes()
    nothing = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    other = {**nothing, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    plain = run("git", "-C", str(sandbox.ROOT), "describe", "--always", env=sandbox.environment(other), check=False)
    assert plain.returncode != 0
    make(build, "all", **other)
    assert (build / "python-sandbox").read_bytes() == before


def test_libraries_are_linked_in_where_they_come_as_archives(build, base_image):
    make(build, "STATIC=1", "all")
    binary = str(build / "python-sandbox")
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", binary).stdout)
    linked = re.search(r"^linked in +(.*)$", run(binary, "version").stdout, re.M).group(1).split()
    assert {"libmicrohttpd", "libnettle", "libseccomp"} <= set(linked)
    assert not [name for name in needed if name.split(".so")[0] in linked]
    flags = sandbox.engine_flags()
    done = subprocess.run([binary, "run", *flags, "-"], input=b"print(6 * 7)", capture_output=True,
                          env=sandbox.environment(), timeout=60)
    assert (done.returncode, done.stdout) == (0, b"42\n"), done.stderr
    make(build, "all")
    assert "linked in" not in run(binary, "version").stdout
