"""compileiq_search.py RECORDING FOLDER PTXAS STUB: CompileIQ proposes controls files, which Mneme evaluates."""
import sys

import llvm_mneme as mneme

recording, folder, ptxas, stub = sys.argv[1:5]
try:
    mneme.CompileIQ(f"{folder}/space.bin")
except mneme.MissingExtraError as error:
    print(error)
sys.path.insert(0, stub)
with open(f"{folder}/space.bin", "w") as file:
    file.write("ACF -O3\nACF -O0\ndamaged\n")

import compileiq.ciq

options = {"device": "host", "resources": True, "ptxas": ptxas}


def search(sampler, **space):
    return mneme.tune(sampler.space(**space), recording, sampler=sampler, trials=100, retest=0, **options)


# The score of a file that ptxas refuses is invalid. Candidates of one generation may be equal.
study = search(mneme.CompileIQ(f"{folder}/space.bin", generations=2, pool_size=4, objectives=["code_size"]))
print(study.end, len(study.trials), study.failures)
print(study.best_config.ptxas_controls, study.best_config.to_dict() == study.best.params)
told = dict(compileiq.ciq.Search.last.told)
print(len(told), told["id2"], told["id0"] == [study.best.value], told["id0"] < told["id1"])

# Parameters of the application beside the controls, several objectives, one of which grows.
sampler = mneme.CompileIQ(
    [f"{folder}/space.bin", {"threads": [32, 64]}],
    generations=1, pool_size=3, objectives=["code_size", ("reg_usage", "maximize")],
)  # fmt: skip
study = search(
    sampler,
    parameters={"threads": [32, 64]},
    derived=lambda p: mneme.Config(ptxas_controls=p["ptxas_controls"], block_x=p["threads"]),
)
print(sorted(t.config.block_x for t in study.trials), sorted(t.state for t in study.trials))
told = dict(compileiq.ciq.Search.last.told)
print(told["id0"][1] < 0 < told["id0"][0], told["id2"])


# An executor with controls for all, from a file, and settings from bytes and paths.
def size(*config, **executor):
    with mneme.Executor(recording, **options, **executor) as e:
        return e.submit(*config).result().code_size


with open(f"{folder}/a b.acf", "w") as file:
    file.write("ACF -O0\n")
import pathlib

sizes = [
    size(ptxas_controls=f"{folder}/a b.acf"),
    size({"ptxas_controls": b"ACF -O0\n"}),
    size({"ptxas_controls": pathlib.Path(folder, "a b.acf")}),
]
print(sizes[0] == sizes[1] == sizes[2] > size())

# A search is not continued with other contents.
space = mneme.Space({"ptxas_controls": ["", f"{folder}/a b.acf"]}, objectives=["code_size"])
journal = f"{folder}/journal"
for text in ("ACF -O0\n", "ACF -O1\n"):
    with open(f"{folder}/a b.acf", "w") as file:
        file.write(text)
    for _ in range(2):
        try:
            study = mneme.tune(space, recording, sampler="grid", trials=2, retest=0, journal=journal, **options)
            print(len(study.trials))
        except mneme.MnemeError as error:
            print(error)

for arguments in ({"search_space": f"{folder}/none.bin"}, {"search_space": f"{folder}/space.bin", "pool_size": 1}):
    try:
        mneme.CompileIQ(**arguments)
    except mneme.RequestError as error:
        print(error)
del compileiq.ciq.Search.ask
try:
    mneme.CompileIQ(f"{folder}/space.bin")
except mneme.RequestError as error:
    print(error)
