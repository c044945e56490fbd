"""manage-errors.py TOOL RECORDING EXPORTED SCRATCH: what managing refuses. Each
time exit code 1, one error that matches, and nothing lost."""
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "Inputs"))
from recordings import unseal

tool, recording, exported, scratch = sys.argv[1:]


def path(name):
    return os.path.join(scratch, name)


def contents(folder):
    return {
        name: open(os.path.join(folder, name), "rb").read()
        for name in sorted(os.listdir(folder))
        if name != ".lock" and not os.path.isdir(os.path.join(folder, name))
    }


def refuse(expected, *arguments):
    run = subprocess.run([tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         universal_newlines=True)
    said = [line for line in run.stderr.splitlines() if "error: " in line]
    if run.returncode != 1 or len(said) != 1 or not re.search(expected, run.stderr):
        sys.exit("%s: exit code %d, expected one '%s', got: %s%s"
                 % (" ".join(arguments), run.returncode, expected, run.stderr, run.stdout))


def damaged(pattern, change):
    folder = path("damaged")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(recording, folder)
    name = sorted(glob.glob(os.path.join(folder, pattern)))[0]
    data = bytearray(open(name, "rb").read())
    open(name, "wb").write(change(data))
    return folder


def flip(data):
    data[len(data) // 3] ^= 0x10
    return data


before = contents(recording)
refuse("nosuch': [Nn]o such file", "copy", path("nosuch"), path("to"))
refuse("is both source and destination", "copy", recording, recording)
refuse("holds no such recording", "copy", "--kernel=nobody", recording, path("to"))
refuse("holds no such recording", "move", "--instance=0000", recording, path("to"))
refuse("holds no such recording", "prune", "--hash=00000000", recording)
refuse("holds no such recording", "export", "--kernel=nobody", "-o", path("x"), recording)
refuse(r"invalid regular expression '\('", "copy", "--kernel=(", recording, path("to"))
refuse("'xyz' is not the beginning of a static hash", "copy", "--hash=xyz", recording, path("to"))
refuse("'g' is not the beginning of a dynamic hash", "prune", "--instance=g", recording)
refuse("[Nn]ot a directory|[Ff]ile exists", "copy", recording, exported)
refuse("[Nn]o such file", "export", "-o", path("no/where"), recording)
for name in before:
    refuse("is a name for files of recordings", "export", "-o", os.path.join(recording, name),
           recording)
# The lock, say.
for name in [".lock", ".x"]:
    refuse("names that start with '.' are reserved in a folder of recordings", "export", "-o",
           os.path.join(recording, name), recording)
    assert not os.path.exists(os.path.join(recording, ".x"))
refuse("nosuch': [Nn]o such file", "prune", path("nosuch"))
refuse("nosuch': [Nn]o such file", "import", path("nosuch"), path("to"))
assert contents(recording) == before
assert not os.path.exists(path("to")), os.listdir(path("to"))
assert not os.path.exists(path("x"))

# Damaged recordings are not copied, and not pruned as if nobody needed them.
for pattern in ["DeviceState.prologue.*", "Pages.*", "*.json"]:
    folder = damaged(pattern, lambda data: data[: len(data) // 2])
    whole = contents(folder)
    refuse("truncated|rror|xpected", "copy", folder, path("copies"))
    refuse("truncated.*nothing is removed|xpected|nterminated|JSON", "prune", folder)
    assert contents(folder) == whole
folder = damaged("*.bc", lambda data: data[: len(data) // 2])
refuse(r"RecordedIR_.*\.bc': ", "copy", folder, path("copies"))
folder = damaged("Pages.*", flip)
refuse("Pages.*: pages 0 to", "export", "-o", path("x"), folder)
assert not os.path.exists(path("x"))
if os.path.exists(path("copies")):
    for name in glob.glob(path("copies/*.json")):
        subprocess.check_call([tool, "check", name], stdout=subprocess.DEVNULL)

# Somebody records into it.
folder = path("busy")
shutil.copytree(recording, folder)
staging = os.path.join(folder, ".recording-XYZXYZ")
os.mkdir(staging)
lock = os.open(staging, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
refuse("busy': is being recorded into, or copied to", "prune", folder)
assert contents(folder) == before and os.path.exists(staging)
os.close(lock)

# The lock that launchers take, too: while somebody holds it nothing changes.
folder = path("locked")
shutil.copytree(recording, folder)
lock = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
waiting = subprocess.Popen([tool, "prune", "--kernel=.", folder], stdout=subprocess.DEVNULL)
try:
    waiting.wait(0.2)
    sys.exit("prune did not wait for the lock")
except subprocess.TimeoutExpired:
    pass
assert contents(folder) == before
os.close(lock)
assert waiting.wait() == 0
assert contents(folder) == {}

# Copying needs it only at the end, and then looks again at what is there.
folder = path("shared")
os.mkdir(folder)
lock = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
waiting = subprocess.Popen([tool, "copy", recording, folder], stdout=subprocess.PIPE,
                           universal_newlines=True)
while not glob.glob(os.path.join(folder, ".recording-*", "DeviceState.*")):
    assert waiting.poll() is None
    time.sleep(0.01)
assert contents(folder) == {}
for name in before:
    shutil.copy(os.path.join(recording, name), folder)
os.close(lock)
said = waiting.communicate()[0]
assert re.search("copied 0 instances .*; already there: 3 instances", said), said
assert {name: data for name, data in contents(folder).items() if name in before} == before
subprocess.check_call([tool, "check", folder], stdout=subprocess.DEVNULL)

# Nothing is moved away that the target does not have whole.
module = os.path.basename(sorted(glob.glob(os.path.join(recording, "RecordedIR_*")))[0])
static = module[len("RecordedIR_"):-len(".bc")]
folder, target = path("source"), path("target")
shutil.copytree(recording, folder)
shutil.copytree(recording, target)
open(os.path.join(target, module), "wb").close()
refuse("is not the same as in", "move", folder, target)
assert contents(folder) == before
shutil.rmtree(target)
os.mkdir(target)
open(os.path.join(target, module), "wb").close()
subprocess.check_call([tool, "copy", recording, target], stdout=subprocess.DEVNULL)
subprocess.check_call([tool, "check", target], stdout=subprocess.DEVNULL)

# What was there already stays where it is.
said = subprocess.check_output([tool, "move", folder, target], universal_newlines=True)
assert re.search("moved 0 instances .*; already there: 3 instances", said), said
assert contents(folder) == before
# Pages that the target has, as far as it knows, but damaged.
pages = sorted(glob.glob(os.path.join(target, "Pages.*")))
for name in pages:
    data = flip(bytearray(open(name, "rb").read()))
    open(name, "wb").write(data)
for name in glob.glob(os.path.join(target, "*.json")):
    os.remove(name)
refuse("Pages.*: nothing is removed from the source", "move", folder, target)
assert contents(folder) == before

# A foreign recording replaces its own files only.
def renamed(change):
    folder = path("renamed")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(recording, folder)
    name = os.path.join(folder, static + ".json")
    kernel = json.load(open(name))
    unseal(kernel)
    change(folder, kernel)
    json.dump(kernel, open(name, "w"))
    return folder


def overwrite_pages(folder, kernel):
    dynamic = sorted(kernel["instances"])[0]
    old = kernel["instances"][dynamic]["Prologue"]
    new = os.path.basename(sorted(glob.glob(os.path.join(recording, "Pages.*")))[0])
    os.rename(os.path.join(folder, old), os.path.join(folder, new))
    kernel["instances"][dynamic]["Prologue"] = new


def overwrite_module(folder, kernel):
    os.rename(os.path.join(folder, module), os.path.join(folder, "RecordedIR_0.bc"))
    kernel["Modules"] = ["RecordedIR_0.bc"]


for change, expected in [(overwrite_pages, "file 'Pages.* where 'DeviceState.prologue"),
                         (overwrite_module, "file 'RecordedIR_0.bc' where 'RecordedIR_")]:
    shutil.rmtree(target)
    shutil.copytree(recording, target)
    os.remove(os.path.join(target, static + ".json"))
    whole = contents(target)
    refuse(expected, "copy", renamed(change), target)
    assert contents(target) == whole

# What was not exported is not imported.
data = open(exported, "rb").read()
for change in range(0, len(data), max(1, len(data) // 60)):
    name = path("cut")
    open(name, "wb").write(data[:change])
    refuse("cut'", "import", name, path("to"))
    assert not os.path.exists(path("to"))
open(path("foreign"), "wb").write(b"ELF, or whatever")
open(path("short"), "wb").write(b"!<arch>")
for name in ["foreign", "short"]:
    refuse(name + "': not an archive", "import", path(name), path("to"))
# What may have no end is not read.
for name in ["/dev/zero", "/dev/null"]:
    refuse(name + "': a device, expected a regular file", "import", name, path("to"))
pipe = path("pipe")
os.mkfifo(pipe)
refuse("pipe': a pipe, expected a regular file", "import", pipe, path("to"))
assert not os.path.exists(path("to"))
with open(exported, "rb") as file:
    subprocess.check_call([tool, "import", "/dev/stdin", path("redirected")], stdin=file,
                          stdout=subprocess.DEVNULL)
subprocess.check_call([tool, "check", path("redirected")], stdout=subprocess.DEVNULL)
escape = data.replace(b"RecordedIR_", b"../ordedIR_", 1)
assert escape != data
open(path("escape"), "wb").write(escape)
refuse("is not part of a recording", "import", path("escape"), path("to"))
assert not os.path.exists(path("to"))
