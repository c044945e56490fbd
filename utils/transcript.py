#!/usr/bin/env python3
"""Runs the commands that a page of the documentation shows.

    utils/transcript.py run PAGE [--replace OLD=NEW]...      what they print, after each command
    utils/transcript.py checks PAGE                          the same as the page has it, for FileCheck
    utils/transcript.py update PAGE [--replace OLD=NEW]...   put what they print into the page
    utils/transcript.py lint PAGE...                         can they be pasted as they are?
    utils/transcript.py try PAGE... --folder=DIR --log=FILE [--skip=FILE] [--replace OLD=NEW]...
                                                             do they succeed?

Commands are the lines behind "$ " in the page's blocks "code-block:: console", with the lines that
"\\" continues, run one after another by one bash where the script was started; what follows them
is what they print, to standard error too. A line "…" stands for any number of lines, a "…" in a line
for any text. Times, hashes and load addresses are never the same; behind a comment ".. numbers vary"
no number of the next block is, and behind ".. times decide" its output is not compared: on a machine with other
work, a search may find another winner, or none.

"try" also takes the commands of other blocks (behind "::", or "```console" in Markdown) that begin with
a program. Each page is run in a copy of DIR of its own; its commands and what they print go to FILE, and
those that fail to standard output. A line of the file for --skip is "PAGE: TEXT  # why": no command of the
page that contains the text is run, and no command of the page at all where it says "PAGE: *".

"lint" looks at the same commands. One with "…", "..." or a placeholder such as "<file>" cannot be pasted.

The pages want to be run in the root of a checkout, with the tools in PATH:

    PATH=$PWD/build/bin:$PATH utils/transcript.py run docs/HowTo/BisectMiscompile.rst
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ANY = "…"
MARKER = "--transcript-end-of-command--"
BLOCK = re.compile(r"^(\s*)\.\. code-block:: console\s*$")
LITERAL = re.compile(r"^(\s*)(?!\.\.).*::\s*$|^(\s*)\.\. code-block:: console\s*$")
FENCE = re.compile(r"^```console\s*$")
# How a block begins that is not called a console but is one.
PROGRAM = re.compile(
    r"(llvm-|mneme-|nvcc-|hipcc-|utils/|cmake |clang|make |ninja |opt |for |printf |echo |exec |git |srun |flux |"
    r"optuna-|[A-Za-z_]+=\S)"
)
# "default<O3>" is a pipeline, and "<(" and "<<" are the shell's.
PLACEHOLDER = re.compile(ANY + r"|\.\.\.|(?<![\w<])<[a-z][\w -]*>")
# What differs from run to run, most specific first.
VARIABLE = [
    (r"\b[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)? (ns|us|ms|s|seconds)\b", "{{[0-9.e+-]+ (ns|us|ms|s|seconds)}}"),
    (r"\b[0-9a-f]{16,32}\b", "{{[0-9a-f]+}}"),
    (r"\b0x[0-9a-f]{8,16}\b", "0x{{[0-9a-f]+}}"),
]
NUMBERS = VARIABLE + [(r"[0-9]+(\.[0-9]+)?", "{{[0-9.]+}}")]


class Step:
    """A command and where the page has its output."""

    def __init__(self, command, vary, is_timed):
        self.command, self.vary, self.is_timed = command, vary, is_timed
        self.first = self.end = 0  # lines of the output
        self.output = []


def parse(lines):
    """All steps of a page, in order."""
    steps, number, vary, is_timed = [], 0, False, False
    while number < len(lines):
        vary = vary or lines[number].strip() == ".. numbers vary"
        is_timed = is_timed or lines[number].strip() == ".. times decide"
        block = BLOCK.match(lines[number])
        number += 1
        if not block:
            continue
        first = len(steps)
        text = next((line for line in lines[number:] if line.strip()), "")
        indent = len(text) - len(text.lstrip())
        if indent <= len(block.group(1)):
            continue
        prefix = " " * indent
        while number < len(lines) and (not lines[number].strip() or lines[number].startswith(prefix)):
            line = lines[number][indent:]
            number += 1
            if line.startswith("$ "):
                command = [line[2:]]
                while command[-1].endswith("\\"):
                    command.append(lines[number][indent:])
                    number += 1
                step = Step(command, vary, is_timed)
                step.first = step.end = number
                steps.append(step)
            elif len(steps) > first:
                steps[-1].output.append(line)
                steps[-1].end = number
        # The empty lines behind a block are not printed by its last command.
        if len(steps) > first:
            while steps[-1].output and not steps[-1].output[-1].strip():
                steps[-1].output.pop()
                steps[-1].end -= 1
        vary = is_timed = False
    return steps


def run(steps, replacements):
    """Lines that each command prints. One shell, so that variables and folders last."""
    script = "exec 2>&1\n"
    for step in steps:
        command = "\n".join(step.command)
        for old, new in replacements:
            command = command.replace(old, new)
        script += command + "\nstatus=$?; echo; echo " + MARKER + "; (exit $status)\n"
    done = subprocess.run(["bash"], input=script, stdout=subprocess.PIPE, text=True, errors="replace")
    outputs = done.stdout.split("\n" + MARKER + "\n")
    if len(outputs) != len(steps) + 1:
        sys.exit("transcript.py: error: the shell ended early:\n" + done.stdout)
    result = []
    for output in outputs[:-1]:
        for old, new in replacements:
            output = output.replace(new, old)
        result.append([line.rstrip() for line in output.splitlines()])
        while result[-1] and not result[-1][-1]:
            result[-1].pop()
    return result


def pattern(line, vary):
    """What FileCheck is to find."""
    # Literal text and expressions in turns; only the former are replaced further.
    parts = [(False, line)]
    for expression, replacement in NUMBERS if vary else VARIABLE:
        split = []
        for done, text in parts:
            if done:
                split.append((done, text))
                continue
            at = 0
            for match in re.finditer(expression, text):
                split += [(False, text[at : match.start()]), (True, replacement)]
                at = match.end()
            split.append((False, text[at:]))
        parts = split
    text = ""
    for done, part in parts:
        if not done:
            part = part.replace("{{", "{{[{][{]}}").replace("[[", r"{{\[\[}}").replace(ANY, "{{.*}}")
        text += part
    return text


def checks(steps):
    lines = []
    for step in steps:
        lines.append("CHECK: $ " + pattern(step.command[0], False))
        kind = "CHECK-NEXT"
        for line in step.command[1:] + ([] if step.is_timed else step.output):
            if line.strip() == ANY:
                kind = "CHECK"
            elif not line.strip():
                lines.append("CHECK-EMPTY:")
                kind = "CHECK-NEXT"
            else:
                lines.append(kind + ": " + pattern(line, step.vary))
                kind = "CHECK-NEXT"
    return lines


def find_blocks(lines):
    """(first line's number from 0, lines) of the literal blocks of a page."""
    number = 0
    while number < len(lines):
        literal, fence = LITERAL.match(lines[number]), FENCE.match(lines[number])
        number += 1
        if not literal and not fence:
            continue
        first, block = number, []
        if fence:
            while number < len(lines) and not lines[number].startswith("```"):
                block.append(lines[number])
                number += 1
        else:
            outer = len(literal.group(1) or literal.group(2) or "")
            text = next((line for line in lines[number:] if line.strip()), "")
            indent = len(text) - len(text.lstrip())
            if indent <= outer:
                continue
            while number < len(lines) and (not lines[number].strip() or lines[number].startswith(" " * indent)):
                block.append(lines[number][indent:])
                number += 1
        yield first, block


def is_whole(command):
    return subprocess.run(["bash", "-n"], input=command, stderr=subprocess.PIPE, text=True).returncode == 0


def find_commands(lines):
    """(line's number from 1, text) of each command of a page."""
    for first, block in find_blocks(lines):
        has_prompts = any(line.startswith("$ ") for line in block)
        if not has_prompts and not PROGRAM.match(next((line for line in block if line.strip()), "")):
            continue
        number = 0
        while number < len(block):
            at, line = number, block[number]
            number += 1
            if not line.strip() or (has_prompts and not line.startswith("$ ")):
                continue
            command = line[2:] if has_prompts else line
            while (command.endswith("\\") or not is_whole(command)) and number < len(block):
                command += "\n" + block[number]
                number += 1
            yield first + at + 1, command


def read_skips(path):
    skips = []
    for line in open(path, encoding="utf-8") if path else []:
        text = line.split("  #")[0].strip()
        if text and not text.startswith("#"):
            page, _, part = text.partition(": ")
            skips.append((page, part))
    return skips


def try_pages(pages, folder, log, skips, replacements):
    """Lines about what went wrong."""
    problems, used, count = [], set(), 0
    for page in pages:
        with open(page, encoding="utf-8") as file:
            lines = file.read().splitlines()
        script = "exec 2>&1\n"
        commands = []
        for number, command in find_commands(lines):
            matching = [s for s in skips if page.endswith(s[0]) and (s[1] == "*" or s[1] in command)]
            used.update(matching)
            if matching:
                continue
            commands.append((number, command))
            for old, new in replacements:
                command = command.replace(old, new)
            script += command + "\nstatus=$?; echo; echo %s $status\n" % MARKER
        if not commands:
            continue
        with tempfile.TemporaryDirectory() as directory:
            copy = os.path.join(directory, "copy")
            shutil.copytree(folder, copy, symlinks=True)
            done = subprocess.run(["bash"], input=script, stdout=subprocess.PIPE, text=True, errors="replace",
                                  cwd=copy)
        outputs = re.split(MARKER + " ([0-9]+)\n", done.stdout)
        if len(outputs) != 2 * len(commands) + 1:
            problems.append("%s: the shell ended early:\n%s" % (page, done.stdout))
        for (number, command), output, status in zip(commands, outputs[::2], outputs[1::2]):
            count += 1
            log.write("%s:%d: exit code %s: %s\n%s" % (page, number, status, command, output))
            if status != "0":
                problems.append("%s:%d: exit code %s: %s\n%s" % (page, number, status, command, output))
    for page, part in skips:
        if (page, part) not in used and any(p.endswith(page) for p in pages):
            problems.append("no command of %s contains '%s'" % (page, part))
    print("%d commands were run" % count)
    return problems


def lint_pages(pages):
    """Lines about commands that cannot be pasted."""
    problems = []
    for page in pages:
        with open(page, encoding="utf-8") as file:
            for number, command in find_commands(file.read().splitlines()):
                for match in PLACEHOLDER.finditer(command):
                    problems.append("%s:%d: '%s' cannot be pasted: %s" % (page, number, match[0], command))
    return problems


def replacement(text):
    old, separator, new = text.partition("=")
    if not separator or not old or not new:
        raise argparse.ArgumentTypeError("'%s' is not OLD=NEW" % text)
    return old, new


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["run", "checks", "update", "lint", "try"])
    parser.add_argument("page", nargs="+")
    parser.add_argument("--folder")
    parser.add_argument("--log", type=argparse.FileType("w", encoding="utf-8"))
    parser.add_argument("--skip")
    parser.add_argument("--replace", metavar="OLD=NEW", type=replacement, action="append", default=[])
    args = parser.parse_args()
    if args.mode == "try":
        if not args.folder or not args.log:
            parser.error("try needs --folder and --log")
        problems = try_pages(args.page, args.folder, args.log, read_skips(args.skip), args.replace)
        sys.exit("\n".join(problems) or 0)
    if args.mode == "lint":
        sys.exit("\n".join(lint_pages(args.page)) or 0)
    if len(args.page) != 1:
        parser.error("one page at a time")
    page = args.page[0]
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    steps = parse(lines)
    if not steps:
        sys.exit("transcript.py: error: '%s' shows no commands" % page)
    if args.mode == "checks":
        print("\n".join(checks(steps)))
        return
    outputs = run(steps, args.replace)
    if args.mode == "run":
        for step, output in zip(steps, outputs):
            print("\n".join(["$ " + step.command[0]] + step.command[1:] + output))
        return
    for step, output in reversed(list(zip(steps, outputs))):
        indent = len(lines[step.first - 1]) - len(lines[step.first - 1].lstrip())
        if len(step.command) > 1:
            first = lines[step.first - len(step.command)]
            indent = len(first) - len(first.lstrip())
        lines[step.first : step.end] = [(" " * indent + line).rstrip() for line in output]
    with open(page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
