"""help.py TOOL...: checks the examples and the exit codes in the --help of tools."""
import os
import re
import shlex
import subprocess
import sys


def read_help(*command):
    return subprocess.run([*command, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()


def section(text, title):
    match = re.search(r"^%s:\n\n((?:  .*\n)+)" % title, text, re.M)
    assert match, "no section " + title + " in:\n" + text
    return [line.strip() for line in match[1].splitlines()]


for path in sys.argv[1:]:
    tool = os.path.basename(path)
    top = read_help(path)
    commands = re.findall(r"^  ([a-z-]+) +- ", top.split("SUBCOMMANDS:")[1].split("OPTIONS:")[0], re.M) \
        if "SUBCOMMANDS:" in top else []
    count = 0
    for command in [None] + commands:
        text = read_help(path, *filter(None, [command]))
        known = set(re.findall(r"^ +(--?[A-Za-z][\w-]*)", text.split("EXAMPLES:")[0], re.M))
        assert section(text, "EXIT CODES")
        for example in section(text, "EXAMPLES"):
            words = shlex.split(example)
            if words[0] != tool:
                continue
            count += 1
            words = words[1:words.index("--")] if "--" in words else words[1:]
            assert not command or words.pop(0) == command, example
            for word in words:
                option = word.split("=")[0]
                assert not word.startswith("-") or option in known, "'%s' in: %s" % (option, example)
    assert count > len(commands), "a command without an example"
    print("%s: %d examples in %d helps" % (tool, count, len(commands) + 1))
