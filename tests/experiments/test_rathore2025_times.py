"""Training times: rows are tidy and match the printed table, and every claim about time can come out otherwise."""

import numpy as np
import pandas as pd
import pytest

from compendium import data as datasets
from compendium.experiments import rathore2025_speed as speed
from compendium.experiments import rathore2025_times as times
from compendium.experiments.rathore2025_counting import NAMES
from compendium.experiments.rathore2025_protocol import COLUMNS, TABLES
from compendium.experiments.records import checked
from compendium.report.ledger import published


@pytest.fixture(scope="module")
def small():
    """A scaling study of tiny pairs, without the semidefinite programme."""
    return times.scaling((4, 8, 12, 16), (), 2)


def rows(entries) -> pd.DataFrame:
    """Rows of a stored run from (dataset, method, protocol, metric, value)."""
    frame = pd.DataFrame(entries, columns=["dataset", "method", "protocol", "metric", "value"])
    return frame.assign(split=frame.groupby([*frame.columns[:-1]]).cumcount(), k=pd.NA, reason="", task="x")


def summed(seconds: dict[str, float], metric="training time") -> list[tuple]:
    return [(name, m, speed.SUMMED, metric, value) for name in TABLES for m, value in seconds.items()]


def test_methods_are_named_once_and_tasks_cover_table_and_growth():
    assert tuple(times.SOLVERS) == speed.METHODS
    assert times.tasks() == [*({"dataset": name} for name in TABLES), {"study": "scaling"}]
    with pytest.raises(ValueError, match="Table 1"):
        times.run(2)


def test_the_rows_have_the_blank_k_of_the_printed_table():
    pytest.importorskip("cvxpy")
    data = datasets.whole_moments(NAMES["NPHA"])
    found = times._frame(times._summed(NAMES["NPHA"], lambda: data, 1, shipped=False))
    checked(found, "times")
    assert list(found.columns) == COLUMNS
    mine = found[found["metric"] == "training time"]
    assert mine["k"].isna().all()
    cells = published()
    cells = cells[cells["stem"] == "rathore2025_table1_times"]
    assert (cells["k"] == "").all()
    assert set(cells["method"]) <= set(mine["method"])
    assert set(cells["metric"]) == set(mine["metric"])
    parts = found.pivot_table(index="method", columns="metric", values="value")
    np.testing.assert_allclose(parts["training time"], parts["moments"] + parts["solver"])
    steps = ["solver, SDP", "solver, LP", "solver, operator", "solver, own PCA of the groups"]
    assert parts.loc["FairPCA_SDP_LP", steps].sum() <= parts.loc["FairPCA_SDP_LP", "solver"]
    assert parts.loc["FairPCA_SDP_LP", "relaxation against exact optimum"] < 1e-4


def test_the_programme_is_left_out_of_the_embedded_profile_with_a_reason(monkeypatch):
    monkeypatch.setattr(times, "EMBEDDED_PROGRAMME", 5)
    data = datasets.whole_moments(NAMES["NPHA"])
    found = times._frame(times._summed(NAMES["NPHA"], lambda: data, 1, shipped=True))
    checked(found, "times")
    left = found[found["method"] == "FairPCA_SDP_LP"]
    assert left["value"].isna().all()
    assert left["reason"].str.contains("left out").all()
    assert "training time" not in set(found["metric"])


def test_growth_is_measured_for_every_method(small):
    checked(small, "scaling")
    table = speed.growth(small).set_index("method")
    assert set(table.index) == {"eigh", *speed.METHODS, "JevdPCA (from U = I)"} - {"FairPCA_SDP_LP"}
    assert table.loc["JevdPCA (orthogonal)", "converged"] == "8 of 8"
    assert table.loc["JevdPCA (orthogonal)", "largest d"] == 16
    relative = speed.curves(small, "time / eigh").set_index(["method", "d"])["time / eigh"]
    assert (relative > 0).all()


def test_exponents_are_those_of_the_sizes_where_all_pairs_converge():
    sizes = (10, 20, 40, 80)
    made = rows(
        [(f"synthetic-d{d}", "JevdPCA", speed.SCALING, "seconds", 1e-6 * d**3) for d in sizes[:3]]
        + [("synthetic-d80", "JevdPCA", speed.SCALING, "seconds", 1e-9)]
        + [(f"synthetic-d{d}", "JevdPCA", speed.SCALING, "converged", float(d < 80)) for d in sizes]
    )
    assert speed.exponents(speed.completed(made))["JevdPCA"] == pytest.approx(3.0)
    assert speed.exponents(speed.curves(made))["JevdPCA"] < 0


def test_printed_ratios_and_orders():
    printed = speed.printed_times()
    much = printed.loc["FairPCA_SDP_LP", "diabetes"] / printed.loc["JevdPCA", "diabetes"]
    assert much == pytest.approx(26.43, abs=0.01)
    made = rows(summed({"StandardPCA": 1.0, "JevdPCA": 2.0, "covFairPCA": 3.0, "FairPCA_SDP_LP": 4.0}))
    orders = speed.same_order(made).set_index("dataset")
    assert orders["pairs that agree"].to_dict() == {
        "diabetes": 5, "obesity": 5, NAMES["LSAC"]: 6, "npha": 5,
    }  # fmt: skip
    found = speed.ratios(made).set_index(["method", "dataset"])
    assert found.loc[("JevdPCA", "npha"), "ours"] == 2.0
    assert found.loc[("JevdPCA", "diabetes"), "printed"] == pytest.approx(0.3026, abs=1e-4)


def test_what_is_at_hand_is_the_full_run_if_there_is_one():
    full = rows(summed({"StandardPCA": 1.0})).assign(source="full run")
    here = rows(summed({"StandardPCA": 1.0}, "solver")).assign(source="this build")
    assert speed.at_hand(pd.concat([here, full]))[1] == "training time"
    assert speed.at_hand(here)[1] == "solver"


def test_printed_times_decide_the_comparisons(reads, monkeypatch):
    empty = rows([])
    reads(speed, empty)
    answers = {claim: function() for claim, function in speed.claims.items()}
    assert {claim: answer.printed for claim, answer in answers.items() if answer} == {
        "R09": "holds in part", "R10": "holds", "R11": "holds in part",
    }  # fmt: skip
    assert answers["R06"] is answers["R07"] is answers["R08"] is None
    names = list(TABLES)
    for factor, answer in ((10.0, "holds"), (0.1, "does not hold")):
        table = pd.DataFrame(1.0, index=list(speed.METHODS), columns=names)
        table.loc["JevdPCA"], table.loc["StandardPCA"] = 1.0 / factor, 1.0 / factor**2
        monkeypatch.setattr(speed, "printed_times", lambda t=table: t)
        assert {speed.claims[claim]().printed for claim in ("R09", "R10", "R11")} == {answer}


def test_claims_about_growth_can_fail(reads):
    def study(step, whole, ended, printed_start):
        sizes = (20, 40, 80, 160)
        entries = [(f"synthetic-d{d}", "eigh", speed.SCALING, "seconds", 1e-8 * d**3) for d in sizes]
        for d in sizes:
            values = {"seconds": d**whole, "seconds per step": d**step, "steps": 5, "converged": ended}
            entries += [(f"synthetic-d{d}", "JevdPCA", speed.SCALING, m, 1.0 * v) for m, v in values.items()]
            entries.append((f"synthetic-d{d}", "JevdPCA (from U = I)", speed.SCALING, "converged", printed_start))
        both = [("steps", 5.0), ("converged", 1.0)]
        return rows(entries + [(n, "JevdPCA", speed.SUMMED, m, v) for n in TABLES for m, v in both])

    for given, answer in (
        ((3.0, 3.0, 1.0, 1.0), "holds"),
        ((3.0, 3.0, 1.0, 0.0), "holds in part"),
        ((3.0, 4.0, 1.0, 1.0), "holds in part"),
        ((4.0, 4.0, 1.0, 1.0), "does not hold"),
    ):
        reads(speed, study(*given))
        assert speed.cubic_time().here == answer

    def programme(exponent):
        sizes = (10, 20, 40, 60)
        return rows(
            [(f"synthetic-d{d}", "FairPCA_SDP_LP", speed.SCALING, "seconds", float(d) ** exponent) for d in sizes]
            + [(f"synthetic-d{d}", "FairPCA_SDP_LP", speed.SCALING, "time / eigh", 100.0) for d in sizes]
            + [(f"synthetic-d{d}", "eigh", speed.SCALING, "converged", 1.0) for d in sizes]
        )

    for exponent, answer in ((5.0, "holds"), (8.0, "does not hold")):
        reads(speed, programme(exponent))
        assert speed.programme_time().here == answer


def test_the_share_of_the_programme_decides(reads):
    for share, answer in ((0.9, "holds"), (0.2, "does not hold")):
        whole = {"FairPCA_SDP_LP": 1.0, "min-max loss (certified)": 0.1}
        made = summed(whole)
        for metric, value in (("solver, SDP", share), ("solver, LP", 0.05), ("moments", 0.05)):
            made += summed({"FairPCA_SDP_LP": value}, metric)
        frame = rows(made)
        reads(speed, frame)
        assert speed.programme_dominates().here == answer
