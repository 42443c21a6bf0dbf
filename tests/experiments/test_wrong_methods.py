"""A unit computed again alone agrees with what is stored, and finds a method that is wrong by more than rounding.

The metrics of some methods differ as much when features are moved by 1e-15; what their units determine finds them.
"""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from compendium import records, store
from compendium.catalogue import experiment
from compendium.compare import compare, tolerances
from compendium.engine import inspect_study
from compendium.papers.vu2022 import methods as vu2022
from compendium.workers import rows_of
from evenspan import RLACE
from evenspan.representation import inlp, leace, mmd_fair_pca

from .conftest import put

PENALTY, TABLE, TABLES = mmd_fair_pca.DiscrepancyPenalty, "across-methods", "vu2022-tables"
CLASSIFIED, REPRESENTED = "across-classifiers", "kleindessner2023-table"
evaluate, bandwidth = PENALTY.evaluate, mmd_fair_pca.median_bandwidth
eraser, play, weights = leace.make_eraser, RLACE._play, vu2022.run


def smaller_slopes(penalty, V):
    total, largest, slopes = evaluate(penalty, V)
    return total, largest, 0.9 * slopes


def slower(game, *given):
    game.learning_rate /= 2
    return play(game, *given)


def shorter(game, *given):
    game.max_iter = max(game.max_iter // 4, 1)
    return play(game, *given)


def shrunk(S, C, *kept):
    return eraser(0.98 * S + 0.02 * np.trace(S) / len(S) * np.eye(len(S)), C, *kept)


def fewer_steps(*given, iterations):
    return weights(*given, iterations=iterations * 9 // 10)


def average(matrices, run, k):
    return run.average


def last(matrices, run, k):
    return run.last @ run.last.T


PENALISED = {
    "bandwidth x 1.1": (mmd_fair_pca, "median_bandwidth", lambda E: 1.1 * bandwidth(E)),
    "slopes x .9": (PENALTY, "evaluate", smaller_slopes),
}
#: What takes the place of a part of a method, in a module or class, by unit and words.
WRONG = {
    (TABLE, "sklearn_diabetes-mmd_pca"): PENALISED,
    (CLASSIFIED, "sklearn_diabetes-mmd_pca"): PENALISED,
    (CLASSIFIED, "npha-leace"): {"covariance shrunk by 2 %": (leace, "make_eraser", shrunk)},
    (REPRESENTED, "german-k2-mbf_pca_10_3-split0"): PENALISED,
    (TABLE, "wine_quality-inlp"): {"C = .9": (inlp, "LinearSVC", partial(inlp.LinearSVC, C=0.9))},
    (TABLE, "wine_quality-rlace"): {
        "half the rate": (RLACE, "_play", slower),
        "a quarter of the steps": (RLACE, "_play", shorter),
    },
    (TABLE, "energy-moments"): {"covariance shrunk by 2 %": (leace, "make_eraser", shrunk)},
    (TABLES, "ecoli-k3-fairpca"): {
        "900 steps": (vu2022, "run", fewer_steps),
        "the average alone": (vu2022, "correct_choice", average),
        "the average alone, as released": (vu2022, "released_choice", average),
        "the last alone": (vu2022, "correct_choice", last),
    },
}
#: Of a unit with several methods the one that is tried; of one whose splits have rows of their own the first.
ONE = {"energy-moments": "LEACE"}


@pytest.mark.parametrize(
    ("of", "unit", "words"),
    [(*key, words) for key, wrong in WRONG.items() for words in ("as it is", *wrong)],
)
def test_a_unit_alone_finds_a_wrong_method(of, unit, words):
    entry = experiment(of)
    study = inspect_study(entry, entry.execution(next(name for name in entry.runs if unit.startswith(name))))
    study.unit.__globals__.update({"of_moments": [ONE.get(unit)]} | ({"splits": 1} if of == TABLES else {}))
    vu2022._weights_runs.cache_clear()
    with nullcontext() if words == "as it is" else put(*WRONG[of, unit][words]):
        found = records.frame(records.lines(rows_of(study.unit, study.units[unit], unit))).assign(task=unit)
    vu2022._weights_runs.cache_clear()
    stored, peers = store.units_of(of)[unit].frame, [one.frame for one in store.units_of(of).values()]
    stored = stored[stored["method"].isin(found["method"]) & stored["split"].isin(found["split"])]
    assert compare(stored, found, tolerances(of), peers=peers).ok == (words == "as it is")
