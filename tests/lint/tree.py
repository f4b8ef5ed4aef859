"""What the house checks share: the list of files, and C text without comments and strings."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A comment, a string or a character constant.
SKIPPED = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(*endings):
    """The tracked and the new files of the tree, but not the ignored ones."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = [name for name in found.splitlines() if os.path.isfile(os.path.join(ROOT, name))]
    return sorted(name for name in names if not endings or name.endswith(endings))


def ignored():
    """What is tracked although .gitignore names it, as secrets that were added by force."""
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def code(text):
    """C text with comments and strings blanked; every line keeps its number."""

    def blank(match):
        word = match.group(0)
        if word[0] in "\"'":
            return word[0] * 2
        return " " + "\n" * word.count("\n")

    return SKIPPED.sub(blank, text)


def finish(problems):
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
