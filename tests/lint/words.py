"""Names at the top of the tree, and words that belong to one machine or one tracker."""

import re

import tree

TOP = {".ci", ".clang-format", ".clang-tidy", ".dockerignore", ".gitignore", "LICENSE", "Makefile",
       "README.md", "cmd", "compose", "docker", "src", "tests"}

# Written with brackets, so that this file does not find itself.
WORDS = {
    "a path of one machine": r"(?<![\w.])/(?:wor[k]|hom[e]/\w+)/",
    "a tracker's number": r"\b[Ii]ssu[e]s? ?#?\d+\b|(?:^|[\s(])#\d+\b",
    "a registry's host": r"registry\.n[p]mjs|p[y]pi\.org|python[h]osted|registry-\d\.d[o]cker"
                         r"|(?:deb|security|snapshot)\.d[e]bian",
}


def main():
    problems = [f"{name}: is ignored, and tracked all the same" for name in tree.ignored()]
    for name in tree.files():
        if name.split("/")[0] not in TOP:
            problems.append(f"{name}: '{name.split('/')[0]}' has no place at the top of the tree")
        if name.startswith("tests/fuzz/corpus/"):
            continue
        for number, line in enumerate(tree.read(name).splitlines(), 1):
            for what, pattern in WORDS.items():
                if re.search(pattern, line):
                    problems.append(f"{name}:{number}: {what}: {line.strip()[:80]}")
    tree.finish(problems)


main()
