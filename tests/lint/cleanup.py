"""Locals that clean up after themselves must be initialised before the function may return."""

import re

import tree

LOCAL = re.compile(r"\bauto_\w+ (?:const )?(?:struct )?\w+ \**(\w+);")


def main():
    problems = []
    for name in tree.files(".c", ".h"):
        text = tree.code(tree.read(name))
        for match in LOCAL.finditer(text):
            end = text.find("\n}", match.end())
            rest = text[match.end():end if end >= 0 else len(text)]
            filled = re.search(r"&%s\b|\b%s =" % (match.group(1), match.group(1)), rest)
            leaves = re.search(r"\breturn\b", rest)
            if leaves and (not filled or leaves.start() < filled.start()):
                number = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{number}: {match.group(1)} may be cleaned up before it is set")
    tree.finish(problems)


main()
