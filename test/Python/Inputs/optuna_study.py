import sys

import optuna

import llvm_mneme as mneme
from llvm_mneme import Space

optuna.logging.set_verbosity(optuna.logging.ERROR)
launch = mneme.open(sys.argv[1])["twice"].only()
space = Space.options(block_x="32..512:32", passes="default<{O1|O2|O3}>,{sroa|gvn}?", maxnreg="0,32", launch_bounds="both")
state = optuna.trial.TrialState
with mneme.Executor(launch, device="host") as executor:
    study = mneme.tune(space, executor, sampler=optuna.samplers.TPESampler(seed=1), trials=25, pairs=6)
    print(study.end, len(study.trials), study.best.params["block.x"] % 32)

    # A study with a storage, which continues.
    storage = "sqlite:///" + sys.argv[2] + "/optuna.db"
    theirs = optuna.create_study(storage=storage, study_name="twice", sampler=optuna.samplers.TPESampler(seed=2))
    for count in (8, 7):
        mneme.tune(space, executor, sampler=theirs, trials=count, retest=0)
    again = optuna.load_study(storage=storage, study_name="twice")
    print(len(again.trials), {t.state.name for t in again.trials} <= {"COMPLETE", "PRUNED"}, "block.x" in again.best_trial.user_attrs["mneme.config"])

    # Several objectives, and failures.
    wrong = Space({"block_x": [32, 64, 5000], "grid_x": range(1, 9)}, objectives=["time", "obj_size"])
    nsga = optuna.create_study(directions=["minimize", "minimize"], sampler=optuna.samplers.NSGAIISampler(seed=3))
    two = mneme.tune(wrong, executor, sampler=nsga, trials=20)
    failed = [t for t in nsga.trials if t.state == state.FAIL]
    print(len(nsga.trials), len(failed) == two.failures.get("Invalid", 0) > 0, all(t.values is None for t in failed))
    print(len(two.pareto) >= 1, failed[0].user_attrs["mneme.failure"])

    # A constraint prunes.
    odd = Space({"block_x": range(32, 257, 32)}, constraint=lambda p: p["block_x"] % 64 == 0)
    pruning = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=4))
    mneme.tune(odd, executor, sampler=pruning, trials=10, retest=0)
    print({t.params["block_x"] % 64 for t in pruning.trials if t.state == state.PRUNED and "mneme.error" in t.user_attrs})
    try:
        mneme.tune(wrong, executor, sampler=pruning, trials=1)
    except mneme.RequestError as error:
        print(error)
    print({t.state.name for s in (again, nsga, pruning) for t in s.trials} & {"RUNNING", "WAITING"})
