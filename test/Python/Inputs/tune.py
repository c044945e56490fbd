"""A script like that of LLNL's miniFE: a unit cube that is mapped to threads, blocks and launch bounds."""
import math
import sys

import llvm_mneme as mneme
from llvm_mneme import Config, Float, Space


class Launch(Space):
    def __init__(self, launch):
        super().__init__({"warps": Float(0.0, 1.0), "blocks": Float(0.0, 1.0), "bounds": Float(0.0, 1.0)})
        self.size = launch.grid.x * launch.block.x

    def derived(self, params):
        threads = 64 * max(1, math.ceil(params["warps"] * 16))
        most = math.ceil(self.size / threads)
        bound = threads + int((1024 - threads) * params["bounds"])
        return Config(block=threads, grid=max(1, math.ceil(params["blocks"] * most)), set_launch_bounds=True, max_threads=bound)

    def constraints(self, params):
        return params["warps"] > 0.05


launch = mneme.open(sys.argv[1])["twice"].only()
with mneme.Executor(launch, device="host") as executor:
    study = mneme.tune(Launch(launch), executor, trials=30, seed=1, pairs=6)
    print(study.end, len(study.trials), study.failures)
    print(study.best.params["warps"] > 0.05, study.best_config.block_x % 64, study.baseline.verified)
    print(study.retest is not None, len(study.candidates) <= 5, study.speedup[1] <= study.speedup[0] <= study.speedup[2])

    # The same space as a study of the tools finds the same points: both ask one sampler.
    seen = []
    space = Space.options(block_x="32..128:32", grid_x="1,2,4")
    full = mneme.tune(space, executor, sampler="grid", trials=100, retest=0, callbacks=[lambda s, t: seen.append(t)])
    print(full.end, len(full.trials), len(seen), sorted({t.params["block.x"] for t in full.trials}))
    # Shorthands; parameters that are settings.
    small = mneme.tune(Space({"block_x": range(32, 129, 32), "specialize": bool}), executor, sampler="grid", trials=50, retest=0)
    print(small.end, len(small.trials), small.trials[0].config.keys() >= {"block.x", "specialize"})
    pipes = mneme.tune(
        Space({"passes": mneme.Pipeline("default<{O1|O2|O3}>")}), executor, sampler="grid", trials=50, retest=0
    )
    print(sorted(t.config.passes for t in pipes.trials))

    class Mine:
        """Any object with ask and tell."""

        def __init__(self):
            self.left, self.told = [{"block.x": 64}, {"block.x": 7}, {"block.x": 96}], []

        def ask(self, count):
            taken, self.left = self.left[:count], self.left[count:]
            return taken

        def tell(self, trial):
            self.told.append((trial.params["block.x"], trial.failure, trial.error[:40]))

    mine = Mine()
    own = mneme.tune(Space.options(block_x="32..128:32", grid_x="1"), executor, sampler=mine, retest=0)
    print(own.end, len(own.trials), sorted(mine.told))

    # Failures are failures, never numbers.
    failing = mneme.tune(Space({"block_x": [32, 64, 5000]}), executor, sampler="grid", trials=9, retest=0)
    print(failing.failures, [t.values for t in failing.trials if t.failure])
    two = mneme.tune(
        Space.options(block_x="32..512:32", passes="default<{O1|O3}>", objective="time,obj_size"),
        executor, sampler="nsga2", trials=20,
    )  # fmt: skip
    print(two.objectives, 1 <= len(two.pareto) <= 20, two.retest)
    short = mneme.tune(Launch(launch), executor, budget=0.3, retest=0)
    print(short.end, short.seconds < 30)
html = study._repr_html_()
print("<table>" in html, "30, sampler lfbo" in html, repr(study)[:13])
