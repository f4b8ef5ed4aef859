"""Functions that have a safer form in this code base, and what to use."""

import re

import tree

BANNED = {
    "sprintf": "snprintf or buf_printf",
    "vsprintf": "vsnprintf",
    "strcpy": "buf_add or memcpy with a checked length",
    "strcat": "buf_add",
    "strtok": "strchr or strspn",
    "gets": "fgets",
    "atoi": "text_to_int",
    "sscanf": "text_to_int or strchr",
    "rand": "getrandom",
    "srand": "getrandom",
    "system": "nothing: the server starts no shell",
    "popen": "nothing: the server starts no shell",
    "alloca": "a fixed array or mem_alloc",
    "cJSON_GetObjectItem": "cJSON_GetObjectItemCaseSensitive behind base/json",
    "cJSON_Parse": "json_parse",
}
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")


def main():
    problems = []
    for name in tree.files(".c", ".h"):
        for number, line in enumerate(tree.code(tree.read(name)).splitlines(), 1):
            for match in CALL.finditer(line):
                word = match.group(1)
                problems.append(f"{name}:{number}: {word}() is banned; use {BANNED[word]}")
    tree.finish(problems)


main()
