"""How often bounds on the gaps in the population hold, and how loose they are: tables as populations that are known.

A sample is half as many rows, drawn with replacement. Controls: the sample's own gap, and for errors the standard
errors that normal rows would have.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from evenspan import metrics
from evenspan.core.answer import FairSubspace
from evenspan.core.errors import FairWarning
from evenspan.core.estimator import SubspaceEstimator
from evenspan.core.moments import GroupMoments
from evenspan.metrics.linear_map import LinearMap, encoder, in_units, map_errors
from evenspan.metrics.population import largest_at_most

from .protocol import in_units_of, prepared

SEED = 2029
LEVEL = 0.95
#: A gap in squared or plain standard deviations up to which zero is rounding.
ROUNDING = 1e-9
#: What is counted: the bound of each gap, and its controls.
COVERED = {
    "means": "distance of means, bound",
    "means, sample": "distance of means, the sample's own",
    "errors": "error gap, bound",
    "errors, sample": "error gap, the sample's own",
    "errors, no folds": "error gap, evaluated on the rows of the fit",
    "errors, normal": "error gap, standard errors of normal rows",
}
LOOSE = ("means", "errors")


class Population(NamedTuple):
    """Rows (N, d) in their own units, their groups, and the moments that tell every gap."""

    X: np.ndarray
    groups: np.ndarray
    moments: GroupMoments


def population(dataset: str, groups: str = "") -> Population:
    """A table, or 20,000 of its rows, as a population: features as in the comparison of all methods."""
    data = prepared(dataset, groups)
    rows = np.sort(np.random.default_rng((SEED, 0)).permutation(data.n)[:20_000])
    some = replace(data, X=data.X[rows], y=data.y[rows], groups=data.groups[rows])
    some = in_units_of(GroupMoments.from_data(some.X, some.groups), some)
    return Population(some.X, some.groups, GroupMoments.from_data(some.X, some.groups))


def sample(whole: Population, draw: int, blocks: int) -> GroupMoments:
    """Moments in blocks of half as many rows, drawn with replacement with the seed ``(SEED, 1, draw)``."""
    rng, N = np.random.default_rng((SEED, 1, draw)), len(whole.X)
    rows = rng.integers(N, size=N // 2)
    labels = {"block": metrics.assign_blocks(len(rows), blocks, rng), "group": whole.groups[rows]}
    return GroupMoments.from_data(whole.X[rows], pd.DataFrame(labels))


def evaluate(drawn: GroupMoments, whole: Population, estimator: SubspaceEstimator) -> dict[str, float]:
    """Gaps of the population under a map that was fitted to the sample, and what each rule says they are at most."""
    plain = drawn.marginal("group")
    with warnings.catch_warnings(action="ignore", category=FairWarning):
        answer = metrics.linear_map(estimator.fit_moments(plain))
    A = encoder(answer)
    errors = map_errors(plain, answer)
    gap = float(np.ptp(errors, axis=0))
    return {
        "true means": metrics.mean_gap(whole.moments, A),
        "means": metrics.mean_gap_bound(plain, answer, level=LEVEL),
        "means, sample": metrics.mean_gap(plain, A),
        "true errors": float(np.ptp(map_errors(whole.moments, answer), axis=0)),
        "errors": metrics.error_gap_bound(drawn, estimator, level=LEVEL),
        "errors, sample": gap,
        "errors, no folds": metrics.error_gap_bound(drawn, answer, level=LEVEL, folds=None),
        "errors, normal": largest_at_most(np.array([gap]), normal_variances(plain, answer), plain.counts - 1.0, LEVEL),
    }


def normal_variances(moments: GroupMoments, answer: FairSubspace | LinearMap) -> np.ndarray:
    r"""Squared standard errors (G,) of the group errors of normal rows, from :math:`2 tr (QC)^2 + 4 m^T Q C Q m`."""
    B = answer.B if isinstance(answer, LinearMap) else answer.V
    rest = np.eye(moments.d) - B @ answer.V.T  # a centred row x is left with x @ rest
    seen = in_units(moments, answer).project(rest)
    C, m = seen.scatters / seen.counts[:, None, None], seen.means
    spread = 2.0 * np.einsum("gij,gji->g", C, C) + 4.0 * np.einsum("gi,gij,gj->g", m, C, m)
    return spread / seen.counts


def summarised(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of all draws: the share in which each rule holds, and the median of bound over gap."""
    table = pd.DataFrame(found)
    rows = {"draws": float(len(table))}
    for rule in COVERED:
        true = table[f"true {rule.partition(',')[0]}"]
        rows[f"{rule}: coverage"] = float((true <= table[rule] + ROUNDING).mean(axis=0))
    for rule in LOOSE:
        rows[f"{rule}: looseness"] = float(f"{(table[rule] / table[f'true {rule}']).median():.6g}")
    return rows
