"""Files up to 400 lines (tests, which are tables and cases, up to 1000), functions up to 60, and the
supervisor, which goes to the interpreter as one argument."""

import ast
import re

import tree

FILE_LINES = 400
TEST_FILE_LINES = 1000
# Of the 128 KiB that Linux takes in one argument.
SUPERVISOR = "src/sandbox/supervisor/"
SUPERVISOR_BYTES = 112 * 1024
FUNCTION_LINES = 60
SHELL_START = re.compile(r"^(\w+)\(\) \{$")


def c_functions(text):
    """(line, lines, name) of each function; the formatter puts its braces in the first column."""
    start = None
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("{") and before.rstrip().endswith(")"):
            start = (number, before)
        elif line.startswith("}") and start:
            yield start[0], number - start[0] + 1, start[1].strip()
            start = None
        if line.strip():
            before = line


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def shell_functions(text):
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        match = SHELL_START.match(line)
        if match:
            start = (number, match.group(1))
        elif line == "}" and start:
            yield start[0], number - start[0] + 1, start[1]
            start = None


def functions(name, text):
    if name.endswith((".c", ".h")):
        return c_functions(tree.code(text))
    if name.endswith(".py"):
        return python_functions(text)
    return shell_functions(text)


def main():
    problems = []
    supervisor = 0
    for name in tree.files(".c", ".h", ".py", ".sh"):
        text = tree.read(name)
        count = text.count("\n")
        limit = TEST_FILE_LINES if name.startswith("tests/") else FILE_LINES
        if name.startswith(SUPERVISOR):
            supervisor += len(text.encode())
        if count > limit:
            problems.append(f"{name}: {count} lines, more than {limit}")
        for number, lines, what in functions(name, text):
            if lines > FUNCTION_LINES:
                problems.append(f"{name}:{number}: {lines} lines, more than {FUNCTION_LINES}: {what}")
    if supervisor > SUPERVISOR_BYTES:
        problems.append(f"{SUPERVISOR}: {supervisor} bytes, more than {SUPERVISOR_BYTES}")
    tree.finish(problems)


main()
