"""Theorems and claims of the first paper: every answer can come out, and none without results."""

import numpy as np
import pandas as pd
import pytest

from compendium.claim_rules import BOTH, UNDECIDED
from compendium.papers.kleindessner2023 import claims
from compendium.papers.kleindessner2023.protocol import CLASSIFIERS
from evenspan import FairPCA
from evenspan.reconstruction.standard_pca import principal_subspace

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]


class Plain(FairPCA):
    """Wrong: plain PCA."""

    def _answer(self, moments):
        return principal_subspace(moments, self.n_components)


@pytest.fixture(scope="module")
def searches(cells_of):
    """The notebook with few problems and one classifier."""
    with pytest.MonkeyPatch.context() as patch:
        for name in set(CLASSIFIERS) - {"Kernel SVM"}:
            patch.delitem(CLASSIFIERS, name)
        yield cells_of("kleindessner2023-theorems", problems=6, points=20_001)


#: By claim: what stands in the place of a part of its search, and must be noticed; a control that shows nothing is one.
WRONG = [
    ("K01", {"fair_basis": lambda constraints, size: np.eye(len(constraints))}),
    ("K02", {"mean_gap": lambda moments, U: 0.0}),
    ("K08", {"FairPCA": Plain}),
    ("K13", {"demographic_parity_difference": lambda prediction, groups: 0.2}),
    ("K13", {"demographic_parity_difference": lambda prediction, groups: 0.0}),
]


@pytest.mark.parametrize(("claim", "wrong"), WRONG)
def test_searches_hold_and_would_notice(searches, claim, wrong, monkeypatch, reads):
    for given, expected in (({}, "holds"), (wrong, "does not hold")):
        for name, one in given.items():
            monkeypatch.setitem(searches, name, one)
        reads(claims, pd.DataFrame(searches["searched"](claim)))
        assert QUESTIONS[claim]().here == expected


QUESTIONS = {claim: function for answered in claims.CLAIMS.values() for claim, function in answered.items()}


def test_x15_waits_for_the_printed_shares(monkeypatch):
    right = claims.printed
    assert claims.adult_numbers()[0] == BOTH
    monkeypatch.setattr(claims, "printed", lambda metric: right(metric) * (1 if "Acc" in metric else 0))
    assert claims.adult_numbers()[0] == UNDECIDED
