"""A representation that somebody has, beside the methods.

It does not say how rows are made from it, so it has errors only where it is a linear map of the features: those of the
best linear way back, fitted to the training set. The explained share is then the R² of the features by group.
"""

from collections.abc import Iterator

import numpy as np

from ..metrics.linear_map import LinearMap, way_back
from .attacks import Attacks
from .decisions import Decisions
from .evaluation import Evaluation, Part, Row
from .groups import HELD_OUT, TRAINING
from .page.blocks import plain as n
from .sample import Sample

GIVEN = "given representation"


def given_rows(sample: Sample, parts: list[Part], n_boot: int, seed: int) -> Iterator[tuple[str, Row]]:
    """Rows of the table of methods, each with its part; ``parts`` are those of the features."""
    given, attribute = sample.given, parts[0].attribute
    mean = given.moments(attribute).mean
    as_it_is = LinearMap(np.eye(len(mean)), np.eye(len(mean)), mean)
    (X, E), new = ([one.points[part].X for one in (sample, given)] for part in (TRAINING, HELD_OUT))
    back = way_back(X, E, new)
    for i, part in enumerate(parts):
        own = Evaluation(Part(part.name, given.blocked[part.name][attribute], attribute, n_boot, (seed, i)), as_it_is)
        found = [row for row in own.rows() if row.metric == "scaled mean distance"]  # what it reconstructs is itself
        found += own.variances()
        none = [Row("average error", np.nan, note="It is no linear map of the features: it has no errors.")]
        found += none if back is None else [r for r in Evaluation(part, back).rows() if "distance" not in r.metric]
        yield from ((part.name, row) for row in found)
    yield from ((HELD_OUT, row) for row in Attacks(given.points, attribute, seed).rows([as_it_is])[0])
    if sample.target is not None:
        decisions = Decisions(given.points[TRAINING], given.points[HELD_OUT], attribute, seed)
        yield from ((HELD_OUT, row) for row in decisions.rows(as_it_is))


def given_sentence(found) -> str:
    """The answer about the given representation, from an ``Analysis``."""
    told = []
    for row in filter(None, (found.row(metric, GIVEN) for metric in ("scaled mean distance", "group AUC"))):
        ends = f"95 % interval {n(row['low'])} to {n(row['high'])}; 95 % null quantile {n(row['noise_q95'])}"
        verdict = "significant" if row["value"] > row["noise_q95"] else "inconclusive"
        told.append(f"{row['metric']} {n(row['value'])} ({ends}): {verdict}")
    return f"{found.attribute}, {GIVEN}: {'; '.join(told)}."
