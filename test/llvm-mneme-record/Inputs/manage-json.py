"""manage-json.py TOOL RECORDING EXPORTED SCRATCH: what managing prints with --json."""
import json
import os
import subprocess
import sys

tool, recording, exported, scratch = sys.argv[1:]
os.makedirs(scratch)


def path(name):
    return os.path.join(scratch, name)


def said(command, *arguments):
    text = subprocess.check_output([tool, command, "--json", *arguments], universal_newlines=True)
    return json.loads(text)


def expect(stats, kernels, instances, there, removed=False):
    numbers = [stats["Kernels"], stats["Instances"], stats["AlreadyThere"]]
    assert numbers == [kernels, instances, there], stats
    assert bool(stats["Removed"]) == removed, stats
    assert (stats["Bytes"] > 0) == (instances > 0), stats
    assert len(stats) == 5, stats


expect(said("copy", recording, path("a")), 2, 3, 0)
expect(said("copy", recording, path("a")), 2, 0, 3)
expect(said("move", "--kernel=scale", path("a"), path("b")), 1, 2, 0)
expect(said("export", "-o", path("x"), path("b")), 1, 2, 0)
assert open(path("x"), "rb").read() == open(exported, "rb").read()
expect(said("import", path("x"), path("a")), 1, 2, 0)
would = said("prune", "--dry-run", "--kernel=scale", path("a"))
expect(would, 1, 2, 0, removed=True)
assert all(os.path.exists(os.path.join(path("a"), name)) for name in would["Removed"])
assert said("prune", "--kernel=scale", path("a")) == would
assert not any(os.path.exists(os.path.join(path("a"), name)) for name in would["Removed"])
run = subprocess.run([tool, "copy", "--json", path("nosuch"), path("c")], stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL)
assert run.returncode == 1 and not run.stdout
