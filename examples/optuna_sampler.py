#!/usr/bin/env python3
"""Lets Optuna choose: llvm-mneme-tune --sampler='external=optuna_sampler.py'.

The protocol is in docs/Samplers. An argument names another sampler of Optuna,
as in "optuna_sampler.py NSGAIISampler"; TPESampler is the default.
"""
import json
import sys

import optuna

optuna.logging.set_verbosity(optuna.logging.WARNING)


def answer(message):
    print(json.dumps(message), flush=True)


def suggest(trial, p):
    """The values of parameter p: of a pipeline, one for each decision."""
    name = p["name"]
    if p["kind"] == "pipeline":
        return {d["name"]: trial.suggest_int(d["name"], 0, d["count"] - 1) if d["ordered"]
                else trial.suggest_categorical(d["name"], list(range(d["count"])))
                for d in p["decisions"]}
    if "values" in p:
        return {name: trial.suggest_categorical(name, p["values"])}
    if p["kind"] == "int":
        return {name: trial.suggest_int(name, p["low"], p["high"], step=p["step"])}
    return {name: trial.suggest_float(name, p["low"], p["high"], log=p["log"])}


space = json.loads(sys.stdin.readline())
kind = sys.argv[1] if len(sys.argv) > 1 else "TPESampler"
study = optuna.create_study(
    sampler=getattr(optuna.samplers, kind)(seed=space["seed"] % 2**32),
    directions=[o["direction"] for o in space["objectives"]])
# What failed is told so, and what cannot be tried, or Optuna gives it again.
worst = [float("inf" if d.name == "MINIMIZE" else "-inf") for d in study.directions]
trials = {}

for line in sys.stdin:
    message = json.loads(line)
    if "tell" in message:
        told = message["tell"]
        asked = trials.pop(told.get("id"), None)  # None: not by us
        if asked:
            study.tell(asked, worst if told["state"] == "failed" else told["values"])
        continue
    if "error" in message:  # Of the point that we just gave.
        study.tell(trials.pop(trial.number), worst)
    trial = study.ask()
    trials[trial.number] = trial
    point = {k: v for p in space["parameters"] for k, v in suggest(trial, p).items()}
    answer({"point": point, "id": trial.number})
