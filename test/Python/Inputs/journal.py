"""A journal continues the search that it is of, and no other."""
import json
import os
import sys

import llvm_mneme as mneme
from llvm_mneme import Config, Executor, Space

recording, path = sys.argv[1:]
kernel = mneme.open(recording)["twice"]


def space(passes="default<O1>", values=(32, 64, 128), constraint=None):
    def derived(params):
        return Config(block_x=params["threads"], passes=passes)

    return Space({"threads": list(values)}, derived=derived, constraint=constraint)


def search(given, executor, **options):
    return mneme.tune(given, executor, sampler="grid", trials=3, retest=0, journal=path, allow_vacuous=True, **options)


def fails(action):
    try:
        action()
        print("no error")
    except mneme.MnemeError as error:
        print(type(error).__name__, str(error).replace(path, "PATH"))


with Executor(kernel, device="host") as executor:
    first = search(space(), executor)
    text = open(path).read()
    again = search(space(), executor)
    print(len(again.trials), [t.result for t in again.trials], [t.values for t in again.trials] == [t.values for t in first.trials])
    fails(lambda: search(space(passes="function(sroa)"), executor))
    fails(lambda: search(space(values=(32, 64)), executor))
    fails(lambda: search(space(constraint=lambda p: p["threads"] > 32), executor))
    fails(lambda: search(Space.options(block_x="32,64,128"), executor))
# Other settings of the executor make other values.
with Executor(kernel, device="host", options=["--tolerance=rel:1e-3", "--dtype=f32"]) as executor:
    fails(lambda: search(space(), executor))
with Executor(kernel, device="host", compile_jobs=2) as executor:
    print(len(search(space(), executor).trials), open(path).read() == text)

    # Damaged lines.
    lines = text.splitlines()
    trial = json.loads(lines[2])

    def damaged(line, replacement):
        changed = [*lines[: line - 1], replacement, *lines[line:]]
        with open(path, "w") as file:
            file.write("\n".join(changed) + "\n")
        before = open(path).read()
        fails(lambda: search(space(), executor))
        assert open(path).read() == before

    for replacement in ("{}", "null", "NaN", "[" * 100000, "nonsense", json.dumps(trial)[:40]):
        damaged(3, replacement)
    for key, value in (
        ("values", None),
        ("values", ["x"]),
        ("values", [1.0, 2.0]),
        ("values", [float("nan")]),
        ("values", [10**400]),
        ("config", {"nonsense": 1}),
        ("params", 5),
        ("params", {}),
        ("state", "running"),
        ("error", 1),
        ("number", 7),
        ("number", 1.0),
        ("number", None),
        ("values", [0]),
        ("values", [-1.5]),
    ):
        damaged(3, json.dumps({**trial, key: value}))
    damaged(3, lines[2] + "\n" + lines[2])
    damaged(3, lines[3])
    # An incomplete line does not go before the search is accepted.
    torn = "\n".join([*lines[:2], json.dumps({**trial, "number": 0}), lines[3][:20]])
    with open(path, "w") as file:
        file.write(torn)
    fails(lambda: search(space(), executor))
    assert open(path).read() == torn
    with open(path, "w") as file:
        file.write("\n".join(lines[:3]) + "\n" + lines[3][:20])
    print(len(search(space(), executor).trials), [json.loads(l)["number"] for l in open(path).read().splitlines()[1:]])
    damaged(1, "{}")
    damaged(1, "[]")
    os.remove(path)
    with open(path, "w") as file:
        file.write("no newline")
    fails(lambda: search(space(), executor))
