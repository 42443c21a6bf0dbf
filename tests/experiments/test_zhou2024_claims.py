"""The claims of zhou2024 about its table: answers, and that each count can come out the other way."""

import numpy as np
import pandas as pd
import pytest

from compendium import paths
from compendium.experiments import zhou2024_claims
from compendium.experiments import zhou2024_summary as table
from compendium.experiments.claim_rules import Answer

EXPECTED = {"Z08": "holds", "Z09": "holds", "Z10": "does not hold"}


def test_every_claim_but_that_on_two_pictures_is_here():
    listed = pd.read_csv(paths.data("paper", "claims.csv"), dtype=str)
    assert set(zhou2024_claims.claims) == set(listed[listed["paper"] == "zhou2024"]["id"]) - {"Z11"}


@pytest.mark.parametrize("claim", sorted(EXPECTED))
def test_answers(claim):
    _, evidence, answer = zhou2024_claims.claims[claim]()
    assert answer == EXPECTED[claim], evidence
    assert evidence.endswith(".")


def printed_table():
    """The printed numbers, straight from the file: (dataset, metric) downwards, methods across."""
    frame = pd.read_csv(paths.data("paper", "zhou2024_table1_single_kernel.csv"))
    return frame.pivot(index=["dataset", "metric"], columns="method", values="value")


def test_the_counts_are_those_of_the_file():
    wide = printed_table()
    best = wide.eq(wide.max(axis=1), axis=0)["FKKM"].groupby("metric").sum()
    assert best.to_dict() == {"ACC": 3, "NMI": 3, "Bal": 6, "MNCE": 6}
    evidence = zhou2024_claims.claims["Z09"]().evidence
    assert "ACC on 3 of 6" in evidence
    assert "NMI on 3 of 6" in evidence


def changed(monkeypatch, dataset, method, metric, **values):
    cells = table.printed()
    row = (cells["dataset"] == dataset) & (cells["method"] == method) & (cells["metric"] == metric)
    assert row.sum() == 1
    for name, value in values.items():
        cells.loc[row, name] = value
    monkeypatch.setattr(table, "printed", lambda: cells)


@pytest.mark.parametrize("metric", ["Bal", "MNCE"])
def test_another_method_that_is_more_even_would_be_noticed(monkeypatch, metric):
    changed(monkeypatch, "k1b", "VFC", metric, mean=0.999)
    assert zhou2024_claims.claims["Z08"]().here == "does not hold"


@pytest.mark.parametrize(("method", "value"), [("FKKM", 0.9), ("VFC", 0.99)])
def test_one_data_set_more_or_less_is_not_half(monkeypatch, method, value):
    changed(monkeypatch, "k1b" if method == "FKKM" else "har", method, "ACC", mean=value)
    assert zhou2024_claims.claims["Z09"]().here == "does not hold"


def test_complete_marks_would_hold_and_a_lost_underline_is_noticed(monkeypatch):
    cells = table.printed()
    cells.loc[(cells["dataset"] == "jaffe") & (cells["method"] == "FKKM"), "bold"] = True
    monkeypatch.setattr(table, "printed", lambda: cells)
    assert zhou2024_claims.claims["Z10"]().printed == "holds"
    changed(monkeypatch, "k1b", "VFC", "MNCE", second=False)
    _, evidence, answer = zhou2024_claims.claims["Z10"]()
    assert answer == "does not hold"
    assert "K1b MNCE" in evidence


def test_our_counts_are_told_for_complete_data_sets_only(reads):
    rng = np.random.default_rng(0)
    rows = [
        (dataset, method, split, "released", metric, rng.random() + (method == "FKKM" and metric == "Bal"))
        for dataset in ("jaffe", "k1b")
        for method in table.METHODS
        for split in range(2)
        for metric in table.METRICS
        if not (dataset == "k1b" and method == "FFC")
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "split", "protocol", "metric", "value"])
    reads(table, frame)
    evidence = zhou2024_claims.claims["Z08"]().evidence
    assert "Bal on 1 of 1" in evidence
    assert "(Jaffe)" in evidence


def stored_runs(rises):
    """Two alternating runs with what they say of themselves."""
    return pd.DataFrame(
        [
            ("jaffe", method, split, "twelve kernels: fit", metric, value)
            for method, split, facts in (
                ("FMKKM", 0, (rises, 1.0, 4.0)),
                ("FMKKM-f", 0, (0.0, 0.0, 10.0)),
            )
            for metric, value in zip(("rises of the objective", "at rest", "rounds"), facts, strict=True)
        ],
        columns=["dataset", "method", "split", "protocol", "metric", "value"],
    )


def test_stored_runs_that_rise_are_noticed():
    answer, evidence, _ = zhou2024_claims.with_stored(Answer("holds", "Made problems."), stored_runs(0.0))
    assert answer == "holds"
    assert "rises in 0 of 2 runs" in evidence
    assert "at rest within the allowed rounds in 1, after 4 to 10" in evidence
    made = Answer("holds", "Made problems.")
    assert zhou2024_claims.with_stored(made, stored_runs(1.0)).here == "holds in part"
    assert zhou2024_claims.with_stored(made, stored_runs(1.0)[:0]) == made
