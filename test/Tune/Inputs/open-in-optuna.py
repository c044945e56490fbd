"""Opens a study of Mneme in Optuna, prints what is there, and may go on with it.

usage: open-in-optuna.py FILE [--trials=N] [--enqueue=JSON]

FILE is a journal. --trials asks TPE, or NSGA-II if there are
several objectives, for N more trials; --enqueue leaves a trial for others to run.
"""

import argparse
import collections
import json
import warnings

import optuna

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--trials", type=int, default=0)
parser.add_argument("--enqueue")
options = parser.parse_args()
warnings.simplefilter("ignore")  # Journals are "experimental" in 3.1.
optuna.logging.set_verbosity(optuna.logging.ERROR)

try:
    from optuna.storages.journal import JournalFileBackend as Backend
except ImportError:
    from optuna.storages import JournalFileStorage as Backend
storage = optuna.storages.JournalStorage(Backend(options.file))

(summary,) = optuna.get_all_study_summaries(storage)
objectives = len(optuna.load_study(study_name=summary.study_name, storage=storage).directions)
sampler = (
    optuna.samplers.TPESampler(seed=1, multivariate=True, group=True)
    if objectives == 1
    else optuna.samplers.NSGAIISampler(seed=1, population_size=4)
)
study = optuna.load_study(study_name=summary.study_name, storage=storage, sampler=sampler)


def report():
    states = collections.Counter(t.state.name for t in study.trials)
    print("states:", " ".join("%s=%d" % s for s in sorted(states.items())))
    if objectives == 1:
        print("best:", study.best_trial.user_attrs.get("number"), study.best_value)
    else:
        print("best:", len(study.best_trials))


print("study:", study.study_name)
print("directions:", " ".join(d.name for d in study.directions))
print("attributes:", " ".join(sorted(study.user_attrs)))
# Study.metric_names is younger than 3.1, Study.system_attrs older than 5.
attributes = study._storage.get_study_system_attrs(study._study_id)
print("metrics:", attributes["study:metric_names"])
report()
first = study.trials[0]
print("first:", json.dumps(first.params, sort_keys=True))
print("took:", round((first.datetime_complete - first.datetime_start).total_seconds(), 3))


def suggest(trial):
    """A point of the space, found in the trials that there are."""
    known = {}
    for t in study.trials:
        known.update(t.distributions)
    for name, d in sorted(known.items()):
        if name == "min_blocks" and not trial.params.get("set_launch_bounds"):
            continue
        if isinstance(d, optuna.distributions.CategoricalDistribution):
            trial.suggest_categorical(name, d.choices)
        elif isinstance(d, optuna.distributions.IntDistribution):
            trial.suggest_int(name, d.low, d.high, step=d.step)
        else:
            trial.suggest_float(name, d.low, d.high)
    # Not known when "min_blocks" was passed, in the order of names.
    if trial.params.get("set_launch_bounds"):
        d = known["min_blocks"]
        trial.suggest_int("min_blocks", d.low, d.high)


def objective(trial):
    suggest(trial)
    value = 700.0 + trial.number
    return value if objectives == 1 else (value, 30.0)


if options.trials:
    study.optimize(objective, n_trials=options.trials)
    report()
if options.enqueue:
    study.enqueue_trial(json.loads(options.enqueue))
    print("enqueued")
