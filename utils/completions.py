#!/usr/bin/env python3
"""Writes the shell completions of a tool from its own --help.

    completions.py FOLDER TOOL...

For each tool: FOLDER/bash/<tool>, FOLDER/zsh/_<tool> and FOLDER/fish/<tool>.fish, with the
options of each subcommand, their values and their help.
"""
import os
import re
import subprocess
import sys
from collections import namedtuple

# kind: '' (no value), '=' (--name=value), '[=]' (the value is optional), ' ' (-o value)
Option = namedtuple("Option", "name kind placeholder help values")
Command = namedtuple("Command", "name help options")

OPTION = re.compile(r"^ {2,6}(--?[A-Za-z][\w-]*)(?:(\[=|=| )<(.*?)>\]?)? +- (.*)")
VALUE = re.compile(r"^ {4}=(\S+) +- (.*)")
# A value in the lines behind a help that ends with a colon, and values as a placeholder: "fast|standard".
NAMED = re.compile(r"^ {8,}([a-z][\w-]*): (.*)")
ALTERNATIVES = re.compile(r"[\w:-]+(\|[\w:-]+)+")
SUBCOMMAND = re.compile(r"^  ([a-z][a-z-]*) +- (.*)")
FILE = re.compile(r"file|path|dir|folder|program")


def read_help(tool, *subcommand):
    """The subcommands and the options that --help lists."""
    text = subprocess.run([tool, *subcommand, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    subcommands, options, section, last = [], {}, "", None
    for line in text.splitlines():
        if re.match(r"[A-Z]", line):
            section = line.split(":")[0]
            continue
        if section in ("EXAMPLES", "EXIT CODES"):
            continue
        match = SUBCOMMAND.match(line)
        if section == "SUBCOMMANDS" and match:
            subcommands.append(match.groups())
        match = OPTION.match(line)
        if match:
            name, kind, placeholder, help = match.groups()
            # --print-changed is listed twice: without a value and with one.
            kind = {"[=": "[=]", None: ""}.get(kind, kind)
            if name in options and kind != options[name].kind:
                kind = "[=]"
            last = options[name] = Option(name, kind, placeholder or "", help, [])
            if ALTERNATIVES.fullmatch(last.placeholder):
                # "N" and "METRIC" stand for other values.
                last.values.extend((v, "") for v in last.placeholder.split("|") if not re.fullmatch("[A-Z]+", v))
        match = NAMED.match(line)
        if match and last and last.help.endswith(":"):
            last.values.append(match.groups())
        match = VALUE.match(line)
        if match and match[1] != "<empty>":
            last.values.append((match[1], match[2].strip()))
    for o in options.values():
        o.values[:] = [(re.sub(":[A-Z]+$", ":", value), help) for value, help in o.values]
        # --list-samplers prints the values of --sampler.
        lister = "--list-" + o.name.strip("-") + "s"
        if not o.values and lister in options and not subcommand:
            listed = subprocess.run([tool, lister], stdout=subprocess.PIPE, check=True, text=True).stdout
            o.values.extend((line.split()[0], "") for line in listed.splitlines() if re.match(r"[a-z]", line))
    return subcommands, sorted(options.values())


def read_commands(tool):
    """The tool itself, without a name, and its subcommands."""
    subcommands, options = read_help(tool)
    commands = [Command("", "", options)]
    for name, help in subcommands:
        commands.append(Command(name, help, read_help(tool, name)[1]))
    return commands


def takes_file(option):
    return not option.values and FILE.search(option.placeholder)


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


HEAD = "# Completion of {tool} for {shell}, generated from its --help.\n"

BASH = r"""{function}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
  local option='' options i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      # The application's own words.
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      else
        mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
      fi
      return
    fi
  done
  # '=' is a word of its own.
  if [[ $cur == = ]]; then
    option=$prev cur=
  elif [[ $prev == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  elif [[ $prev == -? ]]; then
    option=$prev
  fi
  case $option in
{values}    -*)
      return
      ;;
  esac
  case ${{COMP_WORDS[1]}} in
{options}  esac
  if [[ -z $option && $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    [[ ${{COMPREPLY[*]}} == *= ]] && compopt -o nospace 2>/dev/null
  else
    compopt -o filenames 2>/dev/null
    # Before the first letter, subcommands alone: files would hide them.
    if [[ $COMP_CWORD != 1 || -n $cur || -z "{subcommands}" ]]; then
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    if [[ $COMP_CWORD == 1 ]]; then
      mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -W "{subcommands}" -- "$cur")
    fi
  fi
}}
complete -F {function} {tool}
"""


def print_bash(tool, commands):
    options = {o.name: o for c in commands for o in c.options}
    values = ""
    for o in options.values():
        if o.values:
            values += "    {})\n      mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$cur\")\n      return\n      ;;\n".format(
                o.name, " ".join(v for v, _ in o.values))
    files = sorted(o.name for o in options.values() if takes_file(o))
    if files:
        values += "    " + " | ".join(files) + ")\n      ;;\n"
    lists = ""
    for c in commands[1:] + commands[:1]:
        words = [w for o in c.options for w in {"": [o.name], "=": [o.name + "="], "[=]": [o.name, o.name + "="],
                                                 " ": [o.name]}[o.kind]]
        lists += '    {})\n      options="{}"\n      ;;\n'.format(c.name or "*", " ".join(words))
    return BASH.format(tool=tool, function="_" + tool.replace("-", "_"), values=values, options=lists,
                       subcommands=" ".join(c.name for c in commands[1:]))


def print_zsh(tool, commands):
    def escape(text):
        return re.sub(r"([\[\]:\\])", r"\\\1", text)

    def print_option(o):
        action = "_files" if takes_file(o) else "(%s)" % " ".join(v for v, _ in o.values) if o.values else " "
        spec = o.name + {"=": "=-", "[=]": "=-", " ": "+", "": ""}[o.kind] + "[" + escape(o.help) + "]"
        if o.kind:
            spec += (":" if o.kind != "[=]" else "::") + escape(o.placeholder or "value") + ":" + action
        return "        " + quote("*" + spec) + "\n"

    text = "#compdef " + tool + "\n"
    cases = ""
    for c in commands[1:] + commands[:1]:
        rest = "*:file:_files" if c.name or tool != "llvm-mneme-record" else "*:::application: _normal"
        cases += "    {})\n      options=(\n{}        {}\n      )\n      ;;\n".format(
            c.name or "*", "".join(print_option(o) for o in c.options), quote(rest))
    text += "local -a options commands\n"
    if commands[1:]:
        text += "commands=(\n" + "".join("  " + quote(c.name + ":" + c.help) + "\n" for c in commands[1:]) + ")\n"
        text += "if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n  _describe command commands\nfi\n"
    return text + "case $words[2] in\n" + cases + "esac\n_arguments $options\n"


def print_fish(tool, commands):
    names = " ".join(c.name for c in commands[1:])
    text = ""
    for c in commands:
        condition = "__fish_seen_subcommand_from " + c.name if c.name else "not __fish_seen_subcommand_from " + names
        condition = " -n " + quote(condition) if names else ""
        if c.name:
            text += "complete -c {} -n {} -a {} -d {}\n".format(
                tool, quote("__fish_use_subcommand"), c.name, quote(c.help))
        for o in c.options:
            line = "complete -c " + tool + condition + (" -l " if o.name.startswith("--") else " -s ") + o.name.lstrip("-")
            if o.values:
                line += " -x -a " + quote(" ".join(v for v, _ in o.values))
            elif o.kind in ("=", " "):
                line += " -r -F" if takes_file(o) else " -x"
            text += line + " -d " + quote(o.help) + "\n"
    return text


def main():
    folder, tools = sys.argv[1], sys.argv[2:]
    for path in tools:
        tool = os.path.basename(path)
        commands = read_commands(path)
        for shell, name, printer in [("bash", tool, print_bash), ("zsh", "_" + tool, print_zsh),
                                     ("fish", tool + ".fish", print_fish)]:
            text = printer(tool, commands)
            head = HEAD.format(tool=tool, shell=shell)
            # zsh looks for #compdef in the first line.
            text = text.replace("\n", "\n" + head, 1) if shell == "zsh" else head + text
            os.makedirs(os.path.join(folder, shell), exist_ok=True)
            with open(os.path.join(folder, shell, name), "w") as file:
                file.write(text)


main()
