# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Judgements on versions of a kernel's source, for programs that search with language models.

``python -m llvm_mneme.evolve init-openevolve DATABASE SOURCE FOLDER`` and ``init-shinka`` write the files with which
OpenEvolve and ShinkaEvolve search over the source of a recorded kernel: the program, the evaluator and the
configuration. ``llvm-mneme-evolve evaluate --serve`` judges (docs/HowTo/EvolveAKernel.rst).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Optional

from .errors import MnemeError, ServerLostError, SuiteError
from .suite import find_suite

_FEEDBACK_BYTES = 16 << 10


class Judge:
    """A process that judges versions: ``llvm-mneme-evolve evaluate --serve``. Not thread-safe.

    >>> with Judge("rec", "src") as judge:
    ...     judge.judge(open("src/versions/tiled.cu").read())["speedup"]
    """

    def __init__(self, database: str, source: str, options: Sequence[str] = (), tool: Optional[str] = None) -> None:
        tool = tool or find_suite().tool("evolve")
        command = [tool, "evaluate", database, source, "--serve", *options]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        except OSError as error:
            raise SuiteError(f"cannot run {tool!r}: {error.strerror}") from None
        self.trust: dict[str, Any] = self._read()["trust"]

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise ServerLostError(f"llvm-mneme-evolve ended with exit code {self._process.wait()}")
        return json.loads(line)

    def judge(self, text: str) -> dict[str, Any]:
        """Returns the judgement on a version: docs/schemas/evolve-evaluate.schema.json, an element of ``versions``."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps({"text": text}) + "\n")
            self._process.stdin.flush()
        except OSError:
            pass  # _read() reports the end
        judgement = self._read()
        if "passed" not in judgement:
            raise MnemeError(judgement["error"])
        return judgement

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


def score(judgement: dict[str, Any]) -> float:
    """Returns the speed-up of a version that passed; 0 for others."""
    if not judgement["passed"]:
        return 0.0
    return float(judgement["speedup"][0] if judgement["speedup"] else judgement["estimate"] or 0)


def feedback(judgement: dict[str, Any]) -> str:
    """Describes a judgement for a language model."""
    lines = []
    if judgement["failure"]:
        lines.append(f"{judgement['failure']} in the stage {judgement['stage']}: {judgement['error'] or ''}")
    if judgement["speedup"]:
        value, low, high = judgement["speedup"]
        interval = "no interval" if low is None else f"95 % interval {low:.3f} to {high:.3f}"
        lines.append(f"{value:.3f} times as fast as the original ({interval})")
    for name, value in sorted(judgement["metrics"].items()):
        lines.append(f"{name}: {value:g}")
    return "\n".join(lines)[:_FEEDBACK_BYTES]


class Evaluator:
    """Judges files for OpenEvolve and ShinkaEvolve. Never raises: both would repeat the evaluation."""

    def __init__(self, database: str, source: str, options: Sequence[str] = ()) -> None:
        self._arguments = (database, source, options)
        self._judge: Optional[Judge] = None
        self._pid = 0

    def judge(self, path: str) -> dict[str, Any]:
        """Judges a file."""
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            # OpenEvolve forks; a connection belongs to one process.
            if self._judge is None or self._pid != os.getpid():
                self._judge, self._pid = Judge(*self._arguments), os.getpid()
            return self._judge.judge(text)
        except (MnemeError, OSError, ValueError) as error:
            self._judge = None
            return {"passed": False, "stage": "setup", "failure": "Setup", "error": str(error), "speedup": None,
                    "estimate": None, "metrics": {}, "suspicions": [], "diagnostics": []}  # fmt: skip

    def openevolve(self, path: str) -> Any:
        """Returns what OpenEvolve's evaluate() must return."""
        judgement = self.judge(path)
        metrics = {"combined_score": score(judgement), "verified": float(judgement["passed"])}
        try:
            from openevolve.evaluation_result import EvaluationResult
        except ImportError:
            return metrics
        return EvaluationResult(metrics=metrics, artifacts={"feedback": feedback(judgement)})

    def shinka(self, program_path: str, results_dir: str) -> None:
        """Writes the files that ShinkaEvolve reads."""
        judgement = self.judge(program_path)
        os.makedirs(results_dir, exist_ok=True)
        metrics = {
            "combined_score": score(judgement),
            "public": {k: v for k, v in judgement["metrics"].items()},
            "private": {"stage": judgement["stage"]},
            "text_feedback": feedback(judgement),
        }
        correct = {"correct": bool(judgement["passed"]), "error": judgement["error"]}
        for name, data in (("metrics.json", metrics), ("correct.json", correct)):
            with open(os.path.join(results_dir, name), "w", encoding="utf-8") as file:
                json.dump(data, file, indent=1)


_TASK = """You optimize a CUDA kernel. Text outside of the lines with EVOLVE-BLOCK must not change, nor the name and the
parameters of the kernel. A version must compute the same results as the original, on all inputs; it is launched with the
same grid and block. combined_score is the speed-up over the original code, 0 for a version that is wrong."""

_EVALUATOR = '''"""Judges versions of a recorded kernel for {program}. Written by llvm_mneme.evolve."""
{imports}from llvm_mneme.evolve import Evaluator

EVALUATOR = Evaluator({database!r}, {source!r}, {options!r})

{body}'''

_OPENEVOLVE_BODY = '''
def evaluate(program_path):
    return EVALUATOR.openevolve(program_path)
'''

_SHINKA_BODY = '''
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    arguments = parser.parse_args()
    EVALUATOR.shinka(arguments.program_path, arguments.results_dir)
'''

# OpenEvolve rejects programs of more than 10,000 characters by default, and reads JSON as YAML.
_OPENEVOLVE_CONFIG = {
    "max_iterations": 100,
    "language": "cuda",
    "file_suffix": ".cu",
    "max_code_length": 1 << 20,
    "diff_based_evolution": True,
    "prompt": {"system_message": _TASK, "include_artifacts": True},
    "evaluator": {"cascade_evaluation": False, "parallel_evaluations": 1, "timeout": 600},
}

_SHINKA_RUN = '''"""Searches with ShinkaEvolve. Set llm_models to models that you have access to."""
from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig

ShinkaEvolveRunner(
    evo_config=EvolutionConfig(
        task_sys_msg={task!r},
        language="cuda",
        init_program_path="initial.cu",
        llm_models=["gpt-5-mini"],
        num_generations=50,
        results_dir="results",
    ),
    job_config=LocalJobConfig(eval_program_path="evaluate.py"),
    db_config=DatabaseConfig(db_path="evolution.sqlite"),
    max_evaluation_jobs=1,
).run()
'''


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def _init(kind: str, database: str, source: str, folder: str, options: Sequence[str]) -> None:
    database, source = os.path.abspath(database), os.path.abspath(source)
    kernel = os.path.join(source, "kernel.cu")
    if not os.path.exists(kernel):
        raise MnemeError(f"{source!r} has no kernel.cu: 'llvm-mneme-record source' writes it")
    os.makedirs(folder, exist_ok=True)
    values = {"database": database, "source": source, "options": list(options)}
    if kind == "init-openevolve":
        shutil.copyfile(kernel, os.path.join(folder, "initial_program.cu"))
        text = _EVALUATOR.format(program="OpenEvolve", imports="", body=_OPENEVOLVE_BODY, **values)
        _write(folder, "evaluator.py", text)
        _write(folder, "config.yaml", json.dumps(_OPENEVOLVE_CONFIG, indent=1) + "\n")
    else:
        shutil.copyfile(kernel, os.path.join(folder, "initial.cu"))
        text = _EVALUATOR.format(program="ShinkaEvolve", imports="import argparse\n\n", body=_SHINKA_BODY, **values)
        _write(folder, "evaluate.py", text)
        _write(folder, "run_evo.py", _SHINKA_RUN.format(task=_TASK))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m llvm_mneme.evolve", description=__doc__.split("\n\n")[0])
    parser.add_argument("command", choices=["init-openevolve", "init-shinka"])
    parser.add_argument("database", help="the recording")
    parser.add_argument("source", help="the folder of 'llvm-mneme-record source'")
    parser.add_argument("folder", help="the output folder")
    parser.add_argument("options", nargs="*", help="options of llvm-mneme-evolve evaluate, after --")
    given = parser.parse_args(arguments)
    try:
        _init(given.command, given.database, given.source, given.folder, given.options)
    except (MnemeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
