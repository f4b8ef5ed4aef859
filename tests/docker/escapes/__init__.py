"""What scripts try in order to get out, as tables: one row is one attempt and its exact refusal."""

import dataclasses
import os
import platform

from attacks import SYSCALLS
from sandbox import py

ARM = platform.machine() == "aarch64"


@dataclasses.dataclass(frozen=True)
class Attempt:
    name: str
    script: str  # leaves in `got` what became of it
    refusal: object  # what `got` must be, or a function that says whether it is right

    def is_refused(self, got):
        return self.refusal(got) if callable(self.refusal) else got == self.refusal


@dataclasses.dataclass(frozen=True)
class Bomb:
    """An attempt to use more than there is. The server serves the next call all the same."""

    name: str
    script: str
    status: str
    output: str = ""  # a pattern in what it printed, the traceback included
    seconds: int = 20


PRELUDE = SYSCALLS + py(
    """
    import json, signal, socket, stat, struct, sys, time

    def text(data):
        return ctypes.create_string_buffer(data)

    def opened(path, flags=os.O_WRONLY | os.O_NONBLOCK):
        return attempt(lambda: os.close(os.open(path, flags)))

    def written(path, data=b'1'):
        def write():
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
        return attempt(write)

    def read(path):
        def whole():
            with open(path, 'rb', 0) as f:
                return f.read(4096).decode('latin-1')
        try:
            return whole()
        except OSError as e:
            return name_of(e.errno)

    def connected(family, kind, address, protocol=0):
        def connect():
            with socket.socket(family, kind, protocol) as s:
                s.settimeout(3)
                s.connect(address)
                if kind != socket.SOCK_STREAM:
                    s.send(b'x' * 64)
        return attempt(connect)

    def fate(function):
        # What becomes of a process that does it: 0, the error's name, or the signal's.
        pid = os.fork()
        if pid == 0:
            answer = function()
            os._exit(getattr(errno, answer) if answer else 0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code < 0:
            return signal.Signals(-code).name
        return name_of(code) if code else 0
    """
)

REPORT = "\nprint(json.dumps(got))\n"


def attempt(name, script, refusal):
    return Attempt(name, py(script), refusal)


def everywhere(answer):
    """Every single answer of the attempt is this one, and there is at least one."""
    return lambda got: bool(got) and set(got.values()) == {answer}


def unwritable(path):
    """What the attempt to write to a file of the kernel answers, seen from the host: one that is
    open for everyone is still on a read-only mount."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "ENOENT"
    return "EROFS" if mode & 0o002 else "EACCES"


def raw(name, calls, refusal="EPERM"):
    """System calls by number. A row: name, number on x86_64, on aarch64 (None: it has none),
    arguments."""
    tries = []
    for label, x86, arm, arguments in calls:
        number = arm if ARM else x86
        if number is not None:
            tries.append("    %r: call(%d, %s),\n" % (label, number, arguments))
    return Attempt(name, "got = {\n%s}\n" % "".join(tries), everywhere(refusal))
