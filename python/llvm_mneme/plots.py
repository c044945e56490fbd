# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of studies, results and comparisons, with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from ._tables import METRICS
from .errors import RequestError, need

if TYPE_CHECKING:
    from .executor import Comparison
    from .tuning import Study, Trial

_GOOD, _BAD, _LINE, _SOFT = "#1f77b4", "#d62728", "#222222", "#b8c4d0"


def _axes(ax: Any, **options: Any) -> Any:
    if ax is not None:
        return ax
    need("matplotlib", "plots")
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained", **options)[1]


def _label(metric: str, unit: str = "") -> str:
    unit = unit or METRICS[metric].unit
    return f"{metric} ({unit})" if unit else metric


def _scale(values: Sequence[float]) -> tuple[float, str]:
    """Returns a unit for nanoseconds."""
    largest = max(values, default=0)
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if largest >= factor:
            return factor, unit
    return 1, "ns"


def convergence(study: Study, ax: Any = None) -> Any:
    """Plots all trials and the best so far, by number. Failed trials are marks at the top."""
    ax = _axes(ax, figsize=(7, 4))
    metric, direction = study.objectives[0]
    good = [t for t in study.trials if t.state == "complete"]
    recorded = study.baseline.time if metric == "time" and study.baseline is not None else None
    known = [t.values[0] for t in good] + ([recorded] if recorded else [])  # type: ignore[index]
    factor, unit = _scale(known) if metric == "time" else (1, "")
    values = [t.values[0] / factor for t in good]  # type: ignore[index]
    pruned = [t for t in study.trials if t.state == "pruned"]
    if good:
        ax.scatter([t.number for t in good], values, s=14, color=_SOFT, label="verified", zorder=2)
    if pruned:
        # Their times may be far above the others': those are at the top.
        highest = 1.15 * max(values, default=math.inf)
        ax.scatter(
            [t.number for t in pruned],
            [min(t.values[0] / factor, highest) for t in pruned],  # type: ignore[index]
            s=14, marker="v", color="#9a9a9a", label="stopped early", zorder=2,
        )  # fmt: skip
    best: list[float] = []
    pick = min if direction == "minimize" else max
    for value in values:
        best.append(value if not best else pick(best[-1], value))
    if good:
        ax.step([t.number for t in good], best, where="post", color=_GOOD, lw=2, label="best so far", zorder=3)
    if recorded:
        ax.axhline(recorded / factor, color=_LINE, lw=1, ls="--", label="as recorded")
    failed = [t.number for t in study.trials if t.state == "failed"]
    if failed:
        top = ax.get_ylim()[1]
        ax.scatter(failed, [top] * len(failed), marker="x", s=18, color=_BAD, label="failed", zorder=3, clip_on=False)
    if good and max(values) > 4 * min(values) > 0:
        ax.set_yscale("log")
    ax.set(xlabel="trial", ylabel=_label(metric, unit), title=study.instance.kernel.name.partition("(")[0])
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return ax


def parallel(study: Study, ax: Any = None, most: int = 200) -> Any:
    """Plots parallel coordinates: a line for each of the ``most`` best trials, coloured by the first objective."""
    trials = sorted(study.completed, key=study._key)[:most]
    if not trials:
        raise RequestError("no trial has verified")
    names = [n for n in trials[0].params if len({str(t.params.get(n)) for t in trials}) > 1]
    if not names:
        raise RequestError("all trials have the same parameters")
    ax = _axes(ax, figsize=(max(5, 1.6 * len(names) + 2), 4))
    columns = [_positions(n, trials) for n in names]
    metric = study.objectives[0][0]
    values = [t.values[0] for t in trials]  # type: ignore[index]
    factor, unit = _scale(values) if metric == "time" else (1, "")
    from matplotlib import cm, colors

    norm = colors.Normalize(min(values) / factor, max(values) / factor)
    for index in reversed(range(len(trials))):
        color = cm.viridis(norm(values[index] / factor))
        points = [c[0][index] for c in columns]
        ax.plot(range(len(names)), points, color=color, lw=2.5 if index == 0 else 1, alpha=1 if index == 0 else 0.6)
    for at, (_, ticks) in enumerate(columns):
        ax.axvline(at, color=_LINE, lw=0.8)
        for place, text in ticks:
            ax.annotate(
                text, (at, place), xytext=(4, 0), textcoords="offset points", fontsize=7, va="center", zorder=5,
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
            )  # fmt: skip
    ax.set_xticks(range(len(names)), names, fontsize=8)
    ax.set_yticks([])
    ax.set_xlim(-0.1, len(names) - 1 + 0.4)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.figure.colorbar(cm.ScalarMappable(norm, "viridis"), ax=ax, label=_label(metric, unit), pad=0.02)
    ax.set_title(f"{study.instance.kernel.name.partition('(')[0]}: the best {len(trials)} trials")
    return ax


def _positions(name: str, trials: Sequence[Trial]) -> tuple[list[float], list[tuple[float, str]]]:
    """Returns the height of each value, 0 to 1, and labels."""
    values = [t.params.get(name) for t in trials]
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) == len(values) and len(set(numbers)) > 1:
        low, high = min(numbers), max(numbers)
        ticks = [low, high] if len(set(numbers)) > 8 else sorted(set(numbers))
        return [(v - low) / (high - low) for v in numbers], [((v - low) / (high - low), f"{v:g}") for v in ticks]
    texts = sorted({str(v) for v in values})
    step = 1 / max(1, len(texts) - 1)
    shown = texts if len(texts) <= 12 else [texts[0], texts[-1]]
    return [texts.index(str(v)) * step for v in values], [(texts.index(t) * step, t[:24]) for t in shown]


def resources(study: Study, metric: str = "reg_usage", ax: Any = None) -> Any:
    """Plots time against a metric of the code: registers, spills, occupancy, size."""
    if metric not in METRICS:
        from .errors import nearest

        raise RequestError(f"unknown metric {metric!r}{nearest(metric, METRICS)}")
    points = [
        (r.metrics[metric], r.metrics["time"])
        for r in (t.result for t in study.completed)
        if r is not None and metric in r.metrics and "time" in r.metrics
    ]
    if not points:
        raise RequestError(f"{metric!r} was not measured; on the host device, it needs resources=True")
    ax = _axes(ax, figsize=(6, 4))
    factor, unit = _scale([t for _, t in points])
    ax.scatter([m for m, _ in points], [t / factor for _, t in points], s=18, color=_GOOD, alpha=0.6)
    best = study.best.result
    if best is not None and metric in best.metrics:
        ax.scatter([best.metrics[metric]], [best.metrics["time"] / factor], s=90, facecolors="none", edgecolors=_BAD, lw=1.5)
        ax.annotate("best", (best.metrics[metric], best.metrics["time"] / factor), xytext=(8, -3),
                    textcoords="offset points", fontsize=8, color=_BAD)  # fmt: skip
    if all(m == int(m) for m, _ in points):
        ax.xaxis.get_major_locator().set_params(integer=True)
        if len({m for m, _ in points}) == 1:
            ax.set_xlim(points[0][0] - 2, points[0][0] + 2)
    ax.set(xlabel=_label(metric), ylabel=_label("time", unit), title=study.instance.kernel.name.partition("(")[0])
    ax.grid(alpha=0.3)
    return ax


def comparison(comparison: Union[Comparison, Study], labels: Optional[Sequence[str]] = None, ax: Any = None) -> Any:
    """Plots speed-ups over the first configuration with their 95 % confidence intervals, also of a study's re-test."""
    found: Any = getattr(comparison, "retest", comparison)
    if found is None:
        raise RequestError("the study has no re-test")
    speedups = list(found.speedups[1:])
    if labels is None:
        candidates = getattr(comparison, "candidates", None)
        shown = [repr(c)[len("Config(") : -1] or "as recorded" for c in found.configs[1:]]
        labels = [f"trial {t.number}" for t in candidates] if candidates else [s[:48] for s in shown]
    if len(labels) != len(speedups):
        raise RequestError(f"expected {len(speedups)} labels, got {len(labels)}")
    ax = _axes(ax, figsize=(6, 1.2 + 0.4 * len(speedups)))
    for at, (value, low, high) in enumerate(speedups):
        color = _GOOD if low > 1 else _BAD if high < 1 else "#8a8a8a"
        ends = [[value - low], [high - value]] if found.interval else None
        ax.errorbar(value, at, xerr=ends, fmt="o", color=color, capsize=4)
    ax.axvline(1, color=_LINE, lw=1, ls="--")
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_xlabel("speed-up (95 % confidence interval)")
    ax.grid(axis="x", alpha=0.3)
    return ax
