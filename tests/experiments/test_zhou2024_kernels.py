"""Means of a kernel: what is kept gives back what the whole matrix says, and the claim can come out otherwise."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from compendium.experiments import records
from compendium.experiments import zhou2024_kernels as protocol
from compendium.experiments import zhou2024_kernels_cells as cells
from compendium.experiments.zhou2024_methods import made_set
from compendium.experiments.zhou2024_tradeoff_runs import Case
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.core.errors import ConfigurationError


@pytest.fixture(scope="module")
def case():
    return Case(made_set())


@pytest.fixture(scope="module")
def rows(case):
    return protocol._frame(protocol._measured(case))


@pytest.fixture(scope="module")
def answers(case):
    return {name: labels for name, labels, _ in protocol._answers(case)}


def test_the_answer_under_the_rule_is_that_of_the_estimator(case, rows, answers):
    model = FairKernelKMeans(case.n_clusters, kernel="precomputed", init=case.start(0))
    model.fit(case.K, sensitive_features=case.data.groups)
    np.testing.assert_array_equal(model.labels_, answers["FKKM"])
    assert cells.weight_of(rows) == model.fairness_weight_ == 3.0


def fair_kernel(case, rows):
    return case.K - cells.weight_of(rows) * (case.codes[:, None] == case.codes)


def test_rows_are_tidy_and_no_single_entry_of_the_kernel_is_kept(case, rows):
    records.checked(rows, "kernels")
    kept = rows[rows["protocol"].isin(["cells", "blocks"])]["value"].to_numpy()
    entries = np.sort(case.K[np.triu_indices(case.data.n, 1)])
    after = np.searchsorted(entries, kept).clip(1, len(entries) - 1)
    assert np.minimum(np.abs(entries[after] - kept), np.abs(entries[after - 1] - kept)).min() > 1e-12


@pytest.mark.parametrize("answer", ["FKKM-f", "FKKM"])
def test_means_of_the_types_are_those_of_all_pairs(case, rows, answers, answer):
    table = cells.types(rows)
    found = table[table["clusters of"] == answer].set_index("pairs")
    other, fair = ~np.eye(case.data.n, dtype=bool), fair_kernel(case, rows)
    cluster, group = (v[:, None] == v for v in (answers[answer], case.codes))
    chosen = dict(
        zip(cells.TYPES, (cluster & group, cluster & ~group, ~cluster & group, ~cluster & ~group), strict=True)
    )
    for name, mask in chosen.items():
        mask = mask & other
        assert found.loc[name, "number"] == mask.sum(axis=None) / 2
        assert found.loc[name, "standard"] == pytest.approx(case.K[mask].mean(axis=0), abs=1e-12)
        assert found.loc[name, "fair"] == pytest.approx(fair[mask].mean(axis=0), abs=1e-12)


def test_the_correlation_is_that_of_the_entries(case, rows):
    pairs = ~np.eye(case.data.n, dtype=bool)
    expected = np.corrcoef(case.K[pairs], fair_kernel(case, rows)[pairs])[0, 1]
    assert cells.correlation(rows) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("order", cells.ORDERS)
@pytest.mark.parametrize("fair", [False, True])
def test_pictures_are_block_means_of_the_ordered_matrix(case, rows, answers, order, fair):
    means, edges = cells.picture(rows, order, fair=fair)
    K = fair_kernel(case, rows) if fair else case.K.copy()
    np.fill_diagonal(K, np.nan)
    sequence = cells.order_of(order, answers["FKKM"], case.codes)
    K = K[np.ix_(sequence, sequence)]
    starts = cells.cuts(case.data.n)
    direct = [[np.nanmean(K[a:b, c:d]) for c, d in pairwise(starts)]
              for a, b in pairwise(starts)]  # fmt: skip
    np.testing.assert_allclose(means, direct, atol=1e-12)
    parted = (answers["FKKM"] if order.startswith("cluster") else case.codes)[sequence]
    assert [round(edge * case.data.n) for edge in edges] == (np.flatnonzero(np.diff(parted)) + 1).tolist()


def test_bars_count_every_point_and_only_the_fair_answers_mix_the_groups(rows, case):
    found, names = protocol.bars(rows)
    assert list(found) == list(protocol.ANSWERS)
    assert len(names) == 2
    assert {int(table.sum(axis=None)) for table in found.values()} == {case.data.n}
    for name, table in found.items():
        fair = (table.min(axis=0) / table.max(axis=0)).min(axis=0) > 0.5
        assert fair == (not name.endswith("-f"))
    assert protocol.bar_table(rows)["points"].sum(axis=0) == 4 * case.data.n
    assert protocol.fairness_in_words(rows).startswith("FKKM-f (λ = 0): Bal 0.000")
    assert list(protocol.pictures(rows))[1] == "fair kernel by cluster, group"


def test_the_claim_asks_for_clusters_before_and_groups_after(rows):
    # on the made set groups are farther apart than clusters in the standard kernel already
    one = rows.assign(dataset="a")
    assert cells.claim(one, ("a",)).here == "does not hold"
    between = one["protocol"] == "cells"
    places = one.loc[between, "metric"].str.split(expand=True)
    raised = one.copy()
    raised.loc[between, "value"] += 1.0 * (places[0] == places[1])
    answer, evidence, _ = cells.claim(raised, ("a",))
    assert answer == "holds"
    assert "λ = 3" in evidence
    assert cells.claim(pd.concat([one, raised.assign(dataset="b")]), ("a", "b")).here == "holds in part"
    assert cells.claim(one, ("a", "b")) is None


def test_data_sets_are_checked():
    assert [task["dataset"] for task in protocol.tasks()] == ["jaffe", "mnist_usps"]
    with pytest.raises(ConfigurationError, match="needed is one of jaffe, mnist_usps"):
        protocol.run("k1b")
