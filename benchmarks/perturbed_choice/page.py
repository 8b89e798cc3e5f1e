"""The page: both studies as tables, with what is to be said of them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.perturbed_choice.regret import FOLDS, REPEATS, RULES
from benchmarks.perturbed_choice.tables import ROWS, TEST_ROWS


def page(trials, runs):
    return "\n".join([*_head(), *_regret(trials), *_stability(runs)])


def _head():
    return [
        "# Does choosing by Perturbed Model Validation help?",
        "",
        "    python -m benchmarks.perturbed_choice --data FOLDER --store choice.db --out docs/perturbed-choice.md",
        "",
    ]


def _regret(trials):
    cells = {}
    for trial in trials:
        cells.setdefault((trial.table, trial.grid), []).append(trial)
    repetitions = min(map(len, cells.values()))
    lines = [
        "## Regret on held-out rows",
        "",
        f"A model is selected on {ROWS} rows, and judged by the error on up to {TEST_ROWS:,} others of the chosen "
        f"candidate trained on all {ROWS}. Regret is that error less the smallest one of the grid, in points, mean ± "
        f"standard error over {repetitions} samples. PMV has {REPEATS} draws of noise and the default levels; *PMV, "
        f"ties by CV* takes, among the candidates whose rate is not significantly different from the largest, that "
        f"with the least {FOLDS}-fold error, as `PerturbedSearch` does. **Bold**: smallest mean of the row. "
        "The one-SE rule takes the simplest candidate within one standard error of the best.",
        "",
        "| table | grid | best | " + " | ".join(RULES.values()) + " |",
        "|---|---|---|" + "---|" * len(RULES),
    ]
    for (table, grid), each in cells.items():
        means = {rule: 100 * np.mean([trial.regret[rule] for trial in each]) for rule in RULES}
        shown = [_mean(means[rule], [100 * t.regret[rule] for t in each], min(means.values())) for rule in RULES]
        best = 100 * np.mean([trial.best for trial in each])
        lines.append(f"| {table} | {grid} | {best:.1f} | " + " | ".join(shown) + " |")
    over_all = {rule: [100 * np.mean([t.regret[rule] for t in each]) for each in cells.values()] for rule in RULES}
    means = {rule: float(np.mean(values)) for rule, values in over_all.items()}
    shown = [_mean(means[rule], over_all[rule], min(means.values())) for rule in RULES]
    lines += [f"| all {len(cells)} | | | " + " | ".join(shown) + " |", ""]
    lines += [_standing(cells, rule) for rule in RULES if rule != "cv"]
    return [*lines, ""]


def _mean(mean, values, least):
    text = f"{mean:.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.2f}"
    return f"**{text}**" if mean == least else text


def _standing(cells, rule):
    """Say in how many rows a rule did better and worse than cross-validation, beyond the noise of the samples."""
    standing = Counter()
    for each in cells.values():
        differences = np.array([trial.regret[rule] - trial.regret["cv"] for trial in each])
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        certain = abs(differences.mean()) > 2 * error and differences.any()
        standing["tie" if not certain else "worse" if differences.mean() > 0 else "better"] += 1
    return (
        f"- {RULES[rule]} against {RULES['cv']}, in pairs: better by more than two standard errors in "
        f"{standing['better']}, worse in {standing['worse']}, neither in {standing['tie']} of {len(cells)}."
    )


def _stability(runs):
    ties = Counter(run.ties for run in runs)
    holding = sum(bool({2, 3} & set(run.ties)) for run in runs)
    return [
        "## The same again?",
        "",
        f"Depth of a decision tree on breast cancer, {len(runs)} runs with noise and folds of their own. PMV reports "
        "the depths whose rate is not significantly different from the largest; `GridSearchCV` takes the depth with "
        "the best mean accuracy on ten shuffled folds.",
        "",
        "| | times |",
        "|---|---|",
        *(f"| PMV: ties {{{', '.join(map(str, names))}}} | {times} |" for names, times in ties.most_common()),
        *(f"| PMV: largest rate at {depth} | {times} |" for depth, times in _counted(run.largest for run in runs)),
        *(f"| GridSearchCV: {depth} | {times} |" for depth, times in _counted(run.grid_search for run in runs)),
        "",
        f"PMV's ties hold depth 2 or 3 in {holding} of {len(runs)} runs.",
        "",
    ]


def _counted(values):
    return sorted(Counter(values).items())
