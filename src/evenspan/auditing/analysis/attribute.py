"""One attribute of an audit: methods fitted, judged on both parts, read, and set against what is possible."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...core.linalg import top_eigenspace
from ...metrics.linear_map import LinearMap, linear_map
from ..progress import Progress
from .blocked import Part, own_directions
from .concerns import Seen
from .fitting import Fitted, fit_method, rank
from .frontier import Frontier, frontier
from .judging import COLUMNS, Judgement, Row
from .kept import Kept
from .reading import Readers
from .recommendation import KEPT, smallest_k


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found for one attribute.

    Parameters
    ----------
    rows : DataFrame
        Tidy rows of all methods.
    fits : dict
        By (method, k).
    frontiers : dict of int to Frontier
        By number of components.
    seen : Seen
        What the recommendation sees.
    why_k : str
        Where its number of components is from.
    held_out : bool
        Whether there is a held-out part.
    left_out : mapping of str to int
        Rows of each group that is not compared.
    """

    rows: pd.DataFrame
    fits: dict[tuple[str, int], Fitted]
    frontiers: dict[int, Frontier]
    seen: Seen
    why_k: str
    held_out: bool
    left_out: Mapping[str, int]


def analyse(
    groups: Kept, sizes: Sequence[int], methods: Sequence[str], given: bool, n_boot: int, seed: int, tell: Progress
) -> Analysis:
    """Everything about one attribute.

    Parameters
    ----------
    groups : Kept
        The groups that are compared.
    sizes : sequence of int
        Numbers of components.
    methods : sequence of str
        PCA among them.
    given : bool
        Whether the one number of components was asked for.
    n_boot, seed : int
        Of the intervals.
    tell : Progress
        Is told how far the work is.

    Returns
    -------
    Analysis
    """
    attribute, points = groups.attribute, groups.fitting_points
    parts = [
        Part.of(name, moments, attribute, n_boot, (seed, i)) for i, (name, moments) in enumerate(groups.moments.items())
    ]
    last, moments = parts[-1], parts[0].plain
    readers = Readers(points, groups.scoring_points, attribute, last.name, n_boot, seed)
    k, why_k = _components(moments, sizes, given)

    tell.stage(f"Methods for {attribute}", len(methods) * len(sizes))
    own = _own(parts, sizes)
    fits, rows, kept = {}, [], {}
    for name in methods:
        for size, fit in fit_method(name, sizes, moments, points, attribute, seed).items():
            fits[name, size] = fit
            found, judgements = _judged(fit, parts, own[size], readers)
            rows += [(attribute, size, name, *row) for row in found]
            if size == k and judgements:
                kept[name] = (judgements, [row for part, row in _by_part(found) if part == last.name])
            tell.advance()

    tell.stage(f"What is possible for {attribute}", len(sizes))
    frontiers, most = {}, rank(moments)
    for size in sizes:
        if size < most:  # with as many directions as vary nobody has an error
            frontiers[size] = frontier(moments, size)
        tell.advance()
    seen = Seen(
        attribute, k, {name: fits[name, k] for name in methods}, {name: found[0][-1] for name, found in kept.items()},
        {name: found[0][0] for name, found in kept.items()}, {name: found[1] for name, found in kept.items()},
        frontiers.get(k),
    )  # fmt: skip
    return Analysis(pd.DataFrame(rows, columns=COLUMNS), fits, frontiers, seen, why_k, len(parts) == 2, groups.left_out)


def _components(moments, sizes: Sequence[int], given: bool) -> tuple[int, str]:
    values = top_eigenspace(moments.scatter, max(sizes))[0]
    shares = {k: float(values[:k].sum(axis=0) / np.trace(moments.scatter)) for k in sizes}
    if given:
        (k,) = sizes
        return (
            k,
            f"k = {k} is what was asked for; PCA keeps {shares[k]:.0%} of the variance of the fitting part with it.",
        )
    k = smallest_k(shares)
    if shares[k] >= KEPT:
        return (
            k,
            f"k = {k} is the smallest number looked at with which PCA keeps {KEPT:.0%} of the variance: "
            f"{shares[k]:.0%}.",
        )
    return k, (
        f"k = {k} is the largest number looked at; PCA keeps {shares[k]:.0%} of the variance with it, less than "
        f"{KEPT:.0%}."
    )


def _own(parts: Sequence[Part], sizes: Sequence[int]) -> dict[int, list[np.ndarray]]:
    """Squared residuals by block (m, G) of every part, each group under its own best directions."""
    moments = parts[0].plain
    bases = own_directions(moments, max(sizes))
    found = {}
    for k in sizes:
        found[k] = []
        for part in parts:
            by_group = [
                part.sums(LinearMap(V[:, :k], V[:, :k], moments.mean)).errors[:, g] for g, V in enumerate(bases)
            ]
            found[k].append(np.column_stack(by_group))
    return found


def _judged(fit: Fitted, parts: Sequence[Part], own: Sequence[np.ndarray], readers: Readers):
    """Rows (part, group, metric, value, low, high, chance, note) and the judgements, none without an answer."""
    if fit.estimator is None:
        missing = (np.nan, np.nan, np.nan, np.nan, fit.note)
        return [(part.name, "", "average error", *missing) for part in parts], []
    answer, rows, judgements = linear_map(fit.estimator), [], []
    for part, mine in zip(parts, own, strict=True):
        judgement = Judgement(part, answer, mine)
        judgements.append(judgement)
        for row in judgement.rows():
            rows.append(_laid_out(part.name, row, fit.note if row.metric == "average error" else ""))
    rows += [_laid_out(readers.part, row) for row in readers.rows(answer)]
    certificate = fit.estimator.certificate_
    size = max(abs(certificate.primal), abs(certificate.dual), np.finfo(float).tiny)
    rows.append(_laid_out("fitting", Row("certificate", abs(certificate.gap) / size, note=certificate.problem)))
    rows.append(_laid_out("fitting", Row("seconds", fit.seconds)))
    return rows, judgements


def _laid_out(part: str, row: Row, note: str = "") -> tuple:
    return part, row.group, row.metric, row.value, row.low, row.high, row.chance, row.note or note


def _by_part(rows):
    for part, group, metric, value, low, high, chance, note in rows:
        yield part, Row(metric, value, low, high, chance, group, note)
