"""Every plot is drawn, also of searches in which everything failed."""
import os
import sys

os.environ["MPLBACKEND"] = "Agg"
import llvm_mneme as mneme
from llvm_mneme import Space, plots

kernel = mneme.open(sys.argv[1])["twice"]


def draw(name, action):
    try:
        ax = action()
    except mneme.MnemeError as error:
        print(f"{name}: {error}")
        return
    path = os.path.join(sys.argv[2], name + ".png")
    ax.figure.savefig(path)
    print(f"{name}: {ax.get_xlabel()}, {ax.get_ylabel()}, {os.path.getsize(path) > 5000}")


with mneme.Executor(kernel, device="host", resources=True) as executor:
    space = Space.options(block_x="32..1024:64", passes="default<{O1|O2}>", specialize="both")
    study = mneme.tune(space, executor, trials=30, pairs=6)
    draw("convergence", lambda: plots.convergence(study))
    draw("parallel", lambda: plots.parallel(study))
    draw("resources", lambda: plots.resources(study))
    draw("retest", lambda: plots.comparison(study))
    draw("comparison", lambda: plots.comparison(executor.compare({}, {"maxnreg": 32}, pairs=3), labels=["32 registers"]))
    failed = mneme.tune(Space({"block_x": [5000, 6000]}), executor, trials=2, retest=0)
    draw("failed", lambda: plots.convergence(failed))
    print([text.get_text() for text in plots.convergence(failed).get_legend().get_texts()])
    draw("failed-parallel", lambda: plots.parallel(failed))
    draw("failed-resources", lambda: plots.resources(failed))
    draw("failed-retest", lambda: plots.comparison(failed))
    draw("metric", lambda: plots.resources(study, "reg_usag"))
    draw("labels", lambda: plots.comparison(study, labels=["one", "two", "three", "four", "five", "six", "seven"]))
