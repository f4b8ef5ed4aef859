"""PID 1 of every container: runs one script in a child process and relays what it does.

Started as `python3 -I -c <this text> MODULE...` in /workspace, with the modules to be imported ahead, by an unprivileged user, with standard library
only, on Python 3.8 or later. It speaks the protocol of frame.h on its stdin and stdout; its stderr
carries nothing but its own failure. The script has the same user id and must not be able to read,
trace, signal, slow or forge it:

  * PID 1 is not dumpable, so /proc/1 is closed to the script.
  * The script holds pipes only. Who holds the container's stdout is believed, and that is PID 1.
  * Signals stay at SIG_DFL, from which the kernel shields PID 1. SIGCHLD is blocked and read from
    a signalfd: a handler could be kept busy for ever by a script that sends SIGCHLD in a loop.
  * The verdict is the wait status of the child.

The payload of H, a JSON object with the facts that the executor compares with what it asked for:
  python "3.12.4", executable, uid, gid, groups [n], hostname, environ {name: text}
  CapInh CapPrm CapEff CapBnd CapAmb: hexadecimal text
  no_new_privs, seccomp: numbers as in /proc/PID/status
  interfaces [name], mountinfo: the whole text of /proc/self/mountinfo
  refused {name: errno}: what happens to calls that the profile of this server refuses; 0 is success
  devices [name]: everything in /dev
  nodes {path: "c 1:3"}: device nodes in /, in its folders and in those of /dev, where they work
  cgroup_roots [path]: of /proc/self/cgroup
  unmasked [path]: those of MASKED and READ_ONLY that are neither; swap_bytes: of the host
  rlimits {"RLIMIT_NOFILE": [soft, hard]}: -1 is no limit
  cgroup {file name: text}: those files of CGROUP_FILES that exist, without the newline at the end
  resolver: whether localhost resolves
  modules "numpy pandas": importable top-level names beside the standard library, sorted
"""

import sys

PLAIN_MODULES = frozenset(sys.modules)  # that every start of Python brings

import ast
import atexit
import codecs
import collections
import contextlib
import ctypes
import fcntl
import functools
import gc
import importlib.machinery
import io
import itertools
import json
import linecache
import math
import os
import resource
import select
import signal
import socket
import stat
import struct
import threading
import time
import tokenize  # noqa: F401  for the script: tracebacks read source lines with it
import traceback
import types
import warnings
import weakref
import __future__

PROGRAM = "python-sandbox"
WORKSPACE = "/workspace"
OUTPUTS = WORKSPACE + "/outputs"
# Where the script's process puts the figures; the size of MORE is the number of those left out.
FIGURES = WORKSPACE + "/.figures"
FIGURES_MORE = FIGURES + "/more"
# Font caches of the image, made when it was built, for MPLCONFIGDIR.
MATPLOTLIB_SEED = "/opt/python-sandbox/matplotlib"

# The limits that limits.h and frame.h name.
FRAME_MAX = 262144
CODE_MAX = 16 << 20
STDIN_MAX = 16 << 20
KEEP_MAX = 8 << 20
VALUE_MAX = 65536
ERROR_TEXT_MAX = 300
TIMEOUT_MS_MAX = 86400000
FILES_MAX = 256
PATH_MAX = 512
FILE_BYTES_MAX = 64 << 20
ARTIFACTS_MAX = 10000
ARTIFACT_BYTES_MAX = 1 << 30
ARTIFACT_NAME_MAX = 1024

HEADER_MAX = 1 << 20
HELLO_MAX = 200 << 10
MODULES_MAX = 32768
# The preload of a profile: seconds for all of it, bytes of a message, characters shown of a print.
PRELOAD_S = 60
PRELOAD_TEXT_MAX = 1000
PRELOAD_SHOWN = 200
# The lock and the stack of a process that does nothing.
KEEPER_ROOM = 16384
# How often it is looked at once it has its SIGKILL, and seconds between the looks: waking takes some.
KEEPER_LOOKS = 20
KEEPER_LOOK_S = 0.0001
# What is told of what the child said before it ended.
WAITING_MAX = 8192
# A stream that is forwarded is not read while more than this waits for the reader of our stdout.
PENDING_MAX = 1 << 20
READ_SIZE = FRAME_MAX
INPUT_SIZE = 65536
# Streamed input that the script has not taken yet. While it is full, the engine's own buffers fill
# up, and behind what lies there the end of our stdin cannot be seen.
INPUT_MAX = 16 << 20
PIPE_SIZE = 1 << 20
# A syntax tree takes up to 500 times the memory of its text: longer scripts have no value.
VALUE_SOURCE_MAX = 128 << 10
# What is looked at of what the script leaves: entries, folders in folders, bytes to hash, seconds.
LOOK_MAX = 10000
DEPTH_MAX = 16
HASH_MAX = 256 << 20
COLLECT_S = 5
# And a second more for so many bytes that may come along.
COLLECT_PACE = 8 << 20
# From so many bytes on the faster hash is worth its import.
FAST_HASH_FROM = 1 << 20
# Pixels a side that models see without scaling; more for what the script saved itself, where
# images of a conversation are still taken.
FIGURE_SIDE_MAX = 1568
SAVED_SIDE_MAX = 2000
SAVED_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
FIGURE_BYTES_MAX = 2 << 20
FIGURES_MAX = 24
FIGURES_COUNTED_MAX = 1000000
PNG_START = b"\x89PNG\r\n\x1a\n"
WARNINGS_MAX = 6
# Where the classes are of what plotting functions return.
HANDLES = {
    "matplotlib.animation",
    "matplotlib.artist",
    "matplotlib.colorbar",
    "matplotlib.container",
    "matplotlib.streamplot",
    "seaborn.axisgrid",
}
# Rounds of these are bounded, so that a flood of one kind does not hold up the others.
REAP_ROUND = 256
DNS_ROUND = 16
# Out of the way of the descriptors that a script counts on.
VALUE_FD_FROM = 500

PR_SET_DUMPABLE = 4
F_SETPIPE_SZ = 1031
CLONE_VM = 0x100
PF_EXITING = 0x4
CLONE_PARENT = 0x8000
SET_TID_ADDRESS = {"x86_64": 218, "aarch64": 96}

# Where each file is on cgroup v1, then on v2.
CGROUP = "/sys/fs/cgroup/"
CGROUP_FILES = {
    "memory.limit_in_bytes": ("memory/memory.limit_in_bytes",),
    "memory.memsw.limit_in_bytes": ("memory/memory.memsw.limit_in_bytes",),
    "cpu.cfs_quota_us": ("cpu/cpu.cfs_quota_us", "cpu,cpuacct/cpu.cfs_quota_us"),
    "cpu.cfs_period_us": ("cpu/cpu.cfs_period_us", "cpu,cpuacct/cpu.cfs_period_us"),
    "pids.max": ("pids/pids.max", "pids.max"),
    "memory.max": ("memory.max",),
    "memory.swap.max": ("memory.swap.max",),
    "cpu.max": ("cpu.max",),
    "devices.list": ("devices/devices.list",),
}
OOM_FILES = ("memory/memory.oom_control", "memory.events")
PEAK_FILES = ("memory/memory.max_usage_in_bytes", "memory.peak")


def fail(message):
    """Ends the container without a verdict."""
    try:
        os.write(2, ("supervisor: %s\n" % message).encode("utf-8", "backslashreplace"))
    finally:
        os._exit(1)


def set_dumpable(libc, value):
    if libc.prctl(PR_SET_DUMPABLE, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) is refused")


def read_text(path):
    with open(path, encoding="utf-8", errors="backslashreplace") as file:
        return file.read()


