"""odd_values.py RECORDING FOLDER: a table of calls and what their errors say."""
import os
import sys

import llvm_mneme as mneme
from llvm_mneme import Config, Float, Int, Space

rec, work = sys.argv[1:]
os.makedirs(work + "/dir.jsonl")
os.makedirs(work + "/dir.mlir")
with open(work + "/file", "w") as file:
    file.write("text")
kernel = mneme.open(rec)["poly"]
launch = next(iter(kernel))
executor = mneme.Executor(kernel, device="host")
SURROGATE, HUGE, DEEP = "a\ud800b", 10**5000, []
for _ in range(100000):
    DEEP = [DEEP]


class Odd:
    def __index__(self):
        raise ValueError("odd")

    def __repr__(self):
        raise ValueError("odd")


def tune(space, **options):
    return mneme.tune(space, executor, **{"trials": 1, "retest": 0, **options})


def derive(**config):
    return tune(Space({"block_x": [64]}, derived=lambda p: config))


LONE = "contains a lone surrogate, which is no character"
DIGITS, NESTED = "has too many digits", "is nested too deeply"
TABLE = [
    # Configurations.
    (lambda: executor.submit(passes=SURROGATE), LONE),
    (lambda: executor.submit(llvm={SURROGATE: 1}), LONE),
    (lambda: executor.submit(llvm={"x": DEEP}), "expected a text, a number or a boolean, got <list>"),
    (lambda: executor.submit(llvm={"x": HUGE}), DIGITS),
    (lambda: executor.submit(block_x=HUGE), "'block.x': <int> is out of range"),
    (lambda: Config(block=DEEP), "'block.x': expected an integer, got <list>"),
    (lambda: Config(block_x=Odd()), "'block.x': expected an integer, got <Odd>"),
    (lambda: Config({"prune": DEEP}), "'prune': <list> is not supported"),
    (lambda: Config({HUGE: 1}), "unknown key <int>"),
    (lambda: Config({SURROGATE: 1}), "unknown key 'a\\ud800b'"),
    (lambda: executor.submit(DEEP), "expected a mapping of keys and values, got <list>"),
    # Other arguments of evaluations.
    (lambda: executor.submit(ir=SURROGATE), "the IR " + LONE),
    (lambda: executor.submit(attempt=HUGE), DIGITS),
    (lambda: executor.submit(attempt=DEEP), NESTED),
    (lambda: executor.submit(stop_above=DEEP), NESTED),
    (lambda: executor.submit(stop_above={SURROGATE: 1.0}), LONE),
    (lambda: executor.submit(on_device=SURROGATE), LONE),
    (lambda: executor.submit(instance=5), "expected a launch or its record id, got 5"),
    (lambda: executor.submit(instance=DEEP), "expected a launch or its record id, got <list>"),
    (lambda: executor.compare({}, {}, pairs=HUGE), DIGITS),
    (lambda: executor.compare({}, {}, use_app=DEEP), NESTED),
    # Executors.
    (lambda: mneme.Executor(DEEP, device="host"), "the list of launches " + NESTED),
    (lambda: mneme.Executor(kernel, device=SURROGATE), "'--device=a\\ud800b' " + LONE),
    (lambda: mneme.Executor(kernel, device="a\0"), "'--device=a\\x00' contains a null character"),
    (lambda: mneme.Executor(kernel, device="a" * (1 << 20)), "Argument list too long"),
    (lambda: mneme.Executor(kernel, workers=HUGE), "workers: <int> is out of range"),
    (lambda: mneme.Executor(kernel, workers=float("inf")), "workers: expected an integer, got inf"),
    (lambda: mneme.Executor(kernel, compile_jobs="x"), "compile_jobs: expected an integer, got 'x'"),
    (lambda: mneme.Executor(kernel, compile_timeout=HUGE), "compile_timeout: expected a positive number of seconds, got <int>"),
    (lambda: mneme.Executor(kernel, launch_timeout="x"), "launch_timeout: expected a positive number of seconds, got 'x'"),
    (lambda: mneme.Executor(kernel, app=SURROGATE), "path 'a\\ud800b' " + LONE),
    (lambda: mneme.Executor(kernel, app=5), "expected a path, got 5"),
    (lambda: mneme.Executor(kernel, options=[SURROGATE]), "'a\\ud800b' " + LONE),
    (lambda: mneme.Executor(kernel, options=5), "options: expected a list of words, got 5"),
    # Recordings.
    (lambda: mneme.open(5), "expected a path, got 5"),
    (lambda: mneme.open("a\0b"), "path 'a\\x00b' contains a null character"),
    (lambda: mneme.open(SURROGATE), "path 'a\\ud800b' " + LONE),
    (lambda: mneme.open("a" * 5000), "there is no file or folder 'aaa"),
    (lambda: mneme.open(work + "/file/x"), "there is no file or folder"),
    (lambda: kernel[launch].pointee(HUGE), "has no argument <int>: it has 4"),
    (lambda: kernel[launch].pointee("x"), "expected the number of an argument, got 'x'"),
    # Searches.
    (lambda: tune(Space({"block_x": Int(1, HUGE)})), "parameter 'block_x': its bounds are not finite"),
    (lambda: tune(Space({"llvm.x": Float(0, "x")})), "parameter 'llvm.x': its bounds are not finite"),
    (lambda: tune(Space({SURROGATE: [1, 2]})), LONE),
    (lambda: tune(Space({"x": DEEP})), NESTED),
    (lambda: tune(Space({"x": [HUGE]})), DIGITS),
    (lambda: tune(Space.options(block_x=HUGE)), "option 'block_x': <int> is no text"),
    (lambda: tune(Space({"block_x": [64]}), budget=HUGE), "budget: expected a positive number of seconds, got <int>"),
    (lambda: tune(Space({"block_x": [64]}), budget="x"), "budget: expected a positive number of seconds, got 'x'"),
    (lambda: tune(Space({"block_x": [64]}), seed=HUGE), DIGITS),
    (lambda: derive(passes=DEEP), "'passes': expected a text, got <list>"),
    (lambda: derive(passes=SURROGATE), LONE),
    (lambda: derive(block_y=HUGE), "'block.y': <int> is out of range"),
    (lambda: Space.options(block="64..128"), "unknown option 'block'; there are: block_x, block_y, block_z"),
    (lambda: mneme.Executor(kernel, devices="host"), "unknown option 'devices'; did you mean 'device'?"),
    (lambda: mneme.Executor(kernel, worker=2), "unknown option 'worker'; did you mean 'workers'?"),
    (lambda: tune(Space({"block_x": [64]}), pairs=5, retest=1), "pairs: expected an integer of at least 6, got 5"),
    (lambda: Space.from_study(work + "/dir.mlir"), "dir.mlir': Is a directory"),
    (lambda: Space.from_study("x\0.mlir"), "path 'x\\x00.mlir' contains a null character"),
    (lambda: Space.from_study(5), "expected a path, got 5"),
    (lambda: tune(Space({"block_x": [64]}), journal=work), "cannot use the journal '%s': Is a directory" % work),
    (lambda: tune(Space({"block_x": [64]}), journal="/nope/x"), "cannot use the journal '/nope/x': No such file or directory"),
    (lambda: tune(Space({"block_x": [64]}), journal=5.5), "expected a path, got 5.5"),
    # Tools and files.
    (lambda: mneme.bisect(kernel[launch], {"passes": SURROGATE}), LONE),
    (lambda: mneme.bisect(kernel[launch], {"passes": "a\0"}), "contains a null character"),
    (lambda: mneme.reduce(kernel[launch], output=5), "expected a path, got 5"),
    (lambda: mneme.dataset.write(work + "/dir.jsonl", []), "dir.jsonl': Is a directory"),
    (lambda: mneme.dataset.write(work + "/file/x.jsonl", []), "x.jsonl': Not a directory"),
    (lambda: mneme.dataset.export_corpus(work + "/file", mneme.open(rec)), "file': File exists"),
    (lambda: mneme.dataset.export_corpus(work + "/c", DEEP), "expected recordings, got <list>"),
]

good = 0
for number, (action, expected) in enumerate(TABLE):
    try:
        action()
        found = "no error"
    except mneme.MnemeError as error:
        found = str(error)
        if expected in found and "\n" not in found:
            good += 1
            continue
    except Exception as error:
        found = f"raw {type(error).__name__}: {error}"
    print(f"{number}: expected {expected!r}, got {found[:200]!r}")
print(f"odd values: {good} of {len(TABLE)} as expected")
executor.close()
