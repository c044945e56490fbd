"""What nvcc-as-clang and hipcc-as-clang share: inputs and their languages, Mneme's own paths, running clang."""
import os
import re
import shlex
import subprocess
import sys

# The file that is run, if a link is called.
PROGRAM = os.path.realpath(sys.argv[0])
TOOL = os.path.basename(PROGRAM)

LANGUAGES = {".c": "c", ".i": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".c++": "c++", ".C": "c++", ".ii": "c++",
             ".s": "assembler", ".S": "assembler-with-cpp"}
LINKED = re.compile(r"\.(o|obj|a|lo|lib|so(\.\d+)*)$")
# Options of clang with a value behind a space, which is no input.
SEPARATE = {"-Xclang", "-mllvm", "-iquote", "-idirafter", "-imacros", "-include-pch", "-isysroot", "-MQ", "-T", "-u", "-z", "-B",
            "-target", "-Xarch_host", "-Xarch_device", "-Xassembler", "-Xpreprocessor", "-Xoffload-linker"}

LLVM = "22"  # the version of MnemePass.so; that of others is in their names


def fail(message):
    sys.exit(f"{TOOL}: error: {message}")


def split_words(text, place):
    """As a shell would."""
    try:
        return shlex.split(text)
    except ValueError as error:
        fail(f"{str(error).lower()} in '{place}'")


class Input:
    def __init__(self, path, language):
        self.path = path
        self.language = language  # None: an object or a library

    def words(self):
        """clang++ would take C for C++."""
        suffix = os.path.splitext(self.path)[1]
        implied = {".cu": "cuda", ".hip": "hip"}.get(suffix, LANGUAGES.get(suffix))
        if self.language is None or (self.language != "c" and implied == self.language) or suffix == ".i":
            return [self.path]
        return ["-x", self.language, self.path, "-x", "none"]


def find_compatibility(header):
    """A header of ours, or none: in an install tree as in the source tree it lies in include, beside this file's folder."""
    path = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), "include/mneme", header)
    return path if os.path.exists(path) else None


def find_beside(tool):
    """That of the program's folder, or of what it is a link to; else the one in PATH."""
    here = os.path.abspath(sys.argv[0])
    while True:
        beside = os.path.join(os.path.dirname(here), tool)
        if os.path.exists(beside):
            return beside
        if not os.path.islink(here):
            return tool
        here = os.path.join(os.path.dirname(here), os.readlink(here))


def ask_record(keys):
    """The values of --print-config, a line each."""
    tool = find_beside("llvm-mneme-record")
    try:
        said = subprocess.run([tool, "--print-config=" + ",".join(keys)], stdout=subprocess.PIPE)
    except OSError as error:
        fail(f"no {tool} to ask ({error.strerror}), and MNEME_PASS is not set")
    if said.returncode:
        sys.exit(said.returncode)
    return said.stdout.decode().splitlines()


def find_clang(plugin):
    """clang of the environment, which must be able to load the plugin. Headers would fail first with another version."""
    named = re.search(r"-(\d+)\.so$", plugin)
    version = named[1] if named else LLVM
    clang = os.environ.get("MNEME_CLANG", "clang++-" + version)
    if plugin:
        try:
            said = subprocess.run([clang, "-dumpversion"], stdout=subprocess.PIPE, universal_newlines=True).stdout.strip()
        except OSError as error:
            fail(f"cannot run '{clang}' ({error.strerror}): set MNEME_CLANG")
        if re.fullmatch(r"[0-9.]+", said) and said.split(".")[0] != version:
            fail(f"'{clang}' is clang {said}, but the pass '{plugin}' is for clang {version}: set MNEME_CLANG")
    return clang


def add_plugin(command, plugin):
    """Loads the pass once. ccache looks into the file of -fplugin alone."""
    if plugin and "-fpass-plugin=" + plugin not in command:
        command += ["-fplugin=" + plugin, "-fpass-plugin=" + plugin]


def run(command, is_dry=False, may_replace=False):
    """Runs clang, or prints the command as it would run; may end this process, and does if clang fails."""
    if is_dry:
        print("#$ " + shlex.join(command), file=sys.stderr)
    elif may_replace:
        os.execvp(command[0], command)
    elif code := subprocess.call(command):
        sys.exit(code)
