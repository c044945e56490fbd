"""An installation without optional packages."""
import sys

import llvm_mneme as mneme

extras = {"numpy", "optuna", "pandas", "pyarrow", "llvmlite", "matplotlib", "tqdm", "ray", "distributed", "dask"}


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


before = set(sys.modules)
sys.meta_path.insert(0, Finder)
launch = next(iter(mneme.open(sys.argv[1])["poly"].values()))
view = launch.buffer("out").after()
print(type(view).__name__, view.format, view[8], view.readonly)
study = mneme.tune(mneme.Space({"maxnreg": [16, 32]}), launch, device="host", retest=0)
print(len(study.trials))
for action in (
    lambda: mneme.dataset.write("x.parquet", []),
    lambda: launch.module().to_llvmlite(),
    lambda: study.to_pandas(),
    lambda: study.plot_convergence(),
    lambda: launch.buffer("out").after("f16"),
    lambda: mneme.Executor(launch, device="host", backend="ray"),
    lambda: mneme.Executor(launch, device="host", backend="dask"),
    lambda: mneme.tune(mneme.Space({"maxnreg": [16]}), launch, device="host", progress=True),
):
    try:
        action()
        print("no error")
    except mneme.MissingExtraError as error:
        print(error)
print(extras & {m.partition(".")[0] for m in set(sys.modules) - before})
