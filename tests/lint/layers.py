"""Includes go one way: base <- wire <- front, base <- {wire, sandbox} <- executor, cmd on top."""

import os
import re

import tree

MAY_INCLUDE = {
    "base": {"base"},
    "wire": {"base", "wire"},
    "sandbox": {"base", "sandbox"},
    "front": {"base", "wire", "front"},
    "executor": {"base", "wire", "sandbox", "executor"},
    "config": {"base", "config"},
    "cmd": {"base", "wire", "sandbox", "front", "executor", "config", "cmd"},
}
# The supervisor as a C array, made by the build.
GENERATED = {"supervisor_py.h": "sandbox"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def layer_of(name):
    parts = name.split("/")
    if parts[0] == "cmd":
        return "cmd"
    # The files beside the folders of src are the settings.
    return parts[1] if len(parts) > 2 else "config"


def target(name, included):
    """The layer that an include of file NAME leads to, or None when it leads nowhere."""
    if included in GENERATED:
        return GENERATED[included]
    if os.path.isfile(os.path.join(tree.ROOT, "src", included)):
        return layer_of("src/" + included)
    beside = os.path.join(os.path.dirname(name), included)
    if name.startswith("cmd/") and os.path.isfile(os.path.join(tree.ROOT, beside)):
        return "cmd"
    return None


def main():
    problems = []
    for name in tree.files(".c", ".h"):
        if not name.startswith(("src/", "cmd/")):
            continue
        layer = layer_of(name)
        if layer not in MAY_INCLUDE:
            problems.append(f"{name}: no layer is called '{layer}'")
            continue
        for number, line in enumerate(tree.read(name).splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            to = target(name, match.group(1))
            if to is None:
                problems.append(f"{name}:{number}: {match.group(1)} is no path under src/")
            elif to not in MAY_INCLUDE[layer]:
                problems.append(f"{name}:{number}: {layer} may not include {match.group(1)}")
    tree.finish(problems)


main()
