"""Answers come out otherwise under other rules and with other results: no answer is typed."""

from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from evenspan.experiments import (
    claim_rules,
    lee2023_theorems,
    rathore2025_speed,
    vu2022_claims,
    vu2022_convergence,
    vu2022_data,
    vu2022_toy,
)
from evenspan.experiments import kleindessner2023_faces as faces
from evenspan.experiments import lee2023_images as images
from evenspan.experiments import rathore2025_equal_losses as equal
from evenspan.report.claims import registered

TIDY = ["dataset", "method", "k", "split", "protocol", "metric", "value"]


@pytest.fixture(scope="module")
def functions():
    return {claim: function for claim, (_, function) in registered().items()}


@pytest.fixture
def ruled(monkeypatch):
    """A function that puts another number in the place of one rule."""
    right = claim_rules.rules()

    def put(claim: str, name: str, value: float) -> None:
        assert name in right[claim]
        other = {**right[claim], name: right[claim][name]._replace(value=value)}
        monkeypatch.setattr(claim_rules, "rules", lambda: MappingProxyType({**right, claim: other}))

    return put


@pytest.mark.parametrize(
    ("claim", "name", "value", "answer"),
    [
        ("K01", "rounding", 1e-20, "does not hold"),
        ("K01", "control", 0.5, "does not hold"),
        ("K02", "control", 0.5, "does not hold"),
        ("K03", "rounding", 1e-20, "does not hold"),
        ("K04", "times as long", 1.1, "does not hold"),
        ("K05", "times faster", 30.0, "holds in part"),
        ("K05", "times faster", 1e5, "does not hold"),
        ("K08", "control", 0.5, "does not hold"),
        ("L01", "same subspace", 1e-20, "does not hold"),
        ("L05", "times the state", 1, "holds in part"),
        ("L05", "exponent", 0.0, "does not hold"),
        ("L06", "found", 0.01, "does not hold"),
        ("L07", "large computer, bytes", 1.7e10, "holds"),
        ("L08", "times as many features", 0.5, "holds"),
        ("L09", "left of what is read", 0.001, "does not hold"),
        ("R02", "control", 1.0, "does not hold"),
        ("R04", "not orthonormal", 1e3, "holds"),
        ("R05", "orthonormal", 1e6, "holds"),
        ("R06", "exponent", 1, "does not hold"),
        ("R07", "exponent", 2.0, "does not hold"),
        ("R08", "times as long", 10.0, "holds in part"),
        ("R09", "times faster", 1.0, "holds"),
        ("R10", "times faster", 5.0, "holds in part"),
        ("R11", "times as long", 100.0, "does not hold"),
        ("R22", "rows", 253_681, "holds in part"),
        ("R23", "about", 1e-6, "holds in part"),
        ("V01", "rounding", 1e-30, "holds in part"),
        ("V04", "rounding", 10.0, "holds"),
        ("V05", "rounding", 1.0, "holds"),
        ("V06", "points", 1000, "does not hold"),
        ("V11", "degrees", 60.0, "holds"),
        ("V12", "PCA from the majority", 1.0, "holds in part"),
        ("V14", "data sets", 10, "does not hold"),
        ("V15", "data sets", 8, "does not hold"),
        ("V16", "data sets", 4, "does not hold"),
        ("V17", "close", 2.0, "holds"),
        ("V17", "in part below", 0.5, "holds in part"),
        ("V18", "data sets", 15, "holds"),
        ("V19", "data sets", 8, "does not hold"),
        ("V22", "memory in bytes", 1e13, "holds in part"),
        ("V22", "memory in bytes", 1e9, "holds in part"),
        ("V23", "faces of each sex", 1999, "does not hold"),
        ("V25", "ratio", 0.5, "holds"),
        ("V27", "most, with all of Biodeg", 0.8, "holds in part"),
        ("V28", "clear change", 10.0, "does not hold"),
        ("V29", "data sets", 14, "does not hold"),
        ("Z02", "rounding", -1.0, "does not hold"),
        ("Z04", "same weights", 1e-12, "does not hold"),
        ("Z08", "data sets", 5, "does not hold"),
        ("Z09", "data sets", 2, "does not hold"),
    ],
)
def test_another_rule_gives_another_answer(functions, ruled, monkeypatch, claim, name, value, answer):
    if claim.startswith("V"):
        # Ours stand beside the printed numbers only; reading them takes longer than everything else.
        monkeypatch.setattr(vu2022_claims, "read_results", lambda name: pd.DataFrame(columns=TIDY))
    ruled(claim, name, value)
    assert functions[claim]()[0] == answer


def test_a_result_on_the_faces_or_a_smaller_program_would_be_noticed(monkeypatch):
    monkeypatch.setattr(vu2022_claims, "read_results", lambda name: pd.DataFrame(columns=TIDY))
    answer, evidence = vu2022_claims.no_result_on_faces()
    assert answer == "holds"
    assert "0 of 8 numbers" in evidence
    right, size = vu2022_claims.printed, vu2022_claims.equations
    monkeypatch.setattr(vu2022_claims, "equations", lambda d: (d, d))
    assert vu2022_claims.no_result_on_faces()[0] == "holds in part", "then the dimension would not be the reason"
    monkeypatch.setattr(vu2022_claims, "equations", size)

    def with_one(split, metric):
        wide = right(split, metric)
        if (split, metric) == ("in-sample", "ARE"):
            wide.loc["LFW", vu2022_claims.BOTH] = 8.1
        return wide

    monkeypatch.setattr(vu2022_claims, "printed", with_one)
    answer, evidence = vu2022_claims.no_result_on_faces()
    assert answer == "does not hold"
    assert "1 of 8 numbers" in evidence


def directions(**angles):
    """Stored directions of the toy: angle by method; RFPCA (exact) has two."""
    given = {"PCA": [3.0], "FairPCA (exact)": [41.0], "FairPCA (error, exact)": [41.5], "RFPCA": [3.0, 41.0]}
    given |= {"RFPCA (exact)": [3.0, 41.0]} | {name.replace("_", " "): value for name, value in angles.items()}
    rows = [
        ("sample", method, 1, "all", "in-sample", "angle", str(i), value)
        for method, values in given.items()
        for i, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=vu2022_toy.COLUMNS)


@pytest.mark.parametrize(
    ("angles", "answer"),
    [
        ({}, "holds"),
        ({"PCA": [20.0], "RFPCA_(exact)": [20.0, 41.0]}, "holds in part"),
        ({"RFPCA_(exact)": [3.0, 30.0]}, "holds in part"),
        ({"PCA": [30.0], "FairPCA_(exact)": [80.0]}, "does not hold"),
    ],
)
def test_the_toy_needs_all_four_angles(monkeypatch, angles, answer):
    monkeypatch.setattr(vu2022_toy, "read_results", lambda name, names: directions(**angles))
    assert vu2022_toy.spectrum_between()[0] == answer


def test_a_row_more_in_one_data_set_would_be_noticed(monkeypatch):
    rows = vu2022_data.read_results("vu2022-data")
    assert vu2022_data.fifteen_data_sets()[0] == "holds"
    one = (rows["dataset"] == "ecoli") & (rows["metric"] == "N")
    assert one.any()
    more = rows.assign(value=rows["value"] + one)
    monkeypatch.setattr(vu2022_data, "read_results", lambda name: more)
    answer, evidence = vu2022_data.fifteen_data_sets()
    assert answer == "does not hold"
    assert "on 14 of 15" in evidence


@pytest.mark.parametrize(
    ("linear", "kernel", "answer"), [(0.5, 0.6, "holds"), (0.5, 0.85, "holds in part"), (0.9, 0.9, "does not hold")]
)
def test_rows_of_celeba_itself_would_be_judged(monkeypatch, linear, kernel, answer):
    def rows(after, *last):
        return [
            ("celeba", method, 100, 0, protocol, f"AUC ({reader})", *(reversed((value, *last)) if last else [value]))
            for method, areas in (("PCA", (0.95, 0.95)), (after, (linear, kernel)))
            for reader, value in zip(("linear", "kernel"), areas, strict=True)
            for protocol in (("held-out", "new reader") if after == "Fair PCA" else ("held-out",))
        ]

    found = pd.DataFrame(rows("Fair PCA"), columns=TIDY).assign(pixel=np.nan)
    monkeypatch.setattr(faces, "read_results", lambda name: found)
    assert faces.glasses()[0] == answer
    made = pd.DataFrame(rows(images.SHOWN, 5), columns=images.COLUMNS)
    monkeypatch.setattr(images, "read_results", lambda name: made)
    answered, evidence = images.glasses_removed()
    assert answered == answer
    assert evidence.startswith("CelebA, area")


def test_a_program_that_dominates_but_is_cheap_is_not_expensive(monkeypatch):
    def rows(exact):
        parts = {"training time": 1.0, "solver, SDP": 0.9, "solver, LP": 0.05, "moments": 0.05}
        made = [("FairPCA_SDP_LP", metric, value) for metric, value in parts.items()]
        made.append(("min-max loss (certified)", "training time", exact))
        return pd.DataFrame(
            [(name, method, 1, 0, rathore2025_speed.SUMMED, metric, value) for name in rathore2025_speed.TABLES
             for method, metric, value in made],
            columns=TIDY,
        )  # fmt: skip

    for exact, answer in ((0.1, "holds"), (0.9, "does not hold")):
        monkeypatch.setattr(rathore2025_speed, "read_results", lambda name, e=exact: rows(e))
        assert rathore2025_speed.programme_dominates()[0] == answer


def test_a_control_that_cannot_fail_shows_nothing(monkeypatch):
    right = equal.min_max_table(2)
    monkeypatch.setattr(equal, "min_max_table", lambda: right)
    assert equal.min_max_equalises()[0] == "holds"
    alike = right.assign(**{"gap of errors, min-max error": 0.0})
    monkeypatch.setattr(equal, "min_max_table", lambda: alike)
    assert equal.min_max_equalises()[0] == "holds in part"


def test_a_constant_that_even_the_sum_does_not_reach_is_no_reason_for_half_an_answer(monkeypatch):
    right = vu2022_convergence.constants
    monkeypatch.setattr(vu2022_convergence, "constants", lambda *given: tuple(0.1 * v for v in right(*given)))
    assert vu2022_convergence.lipschitz()[0] == "does not hold"


def test_equal_means_are_not_learnt_if_the_control_learns_nothing(monkeypatch):
    losses = iter([1.0] * 9 + [0.3] * 9 + [0.2] * 9 + [0.001] * 9 + [1.0] * 9 + [0.3] * 9 + [0.2] * 18)

    class Fitted:
        components_ = np.eye(2)

        def __init__(self, *given, **options):
            pass

        def fit(self, stream):
            return self

    monkeypatch.setattr(lee2023_theorems, "StreamingFairPCA", Fitted)
    monkeypatch.setattr(lee2023_theorems, "optimality_gap", lambda *given, **options: next(losses))
    assert lee2023_theorems.learns_equal_means()[0] == "holds"
    assert lee2023_theorems.learns_equal_means()[0] == "does not hold"
