"""Clusterings of zhou2024: known answers, a table of one's own, and what is read of the trade-off and of kernels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import normalized_mutual_info_score

from compendium.catalogue import experiment
from compendium.data.clustering import load_clustering
from compendium.ledger.table import NO, ledger
from compendium.papers.zhou2024 import candidates, readings, tradeoff
from compendium.papers.zhou2024 import protocol as zhou2024
from compendium.papers.zhou2024.protocol import JointCounts, evaluate_clustering
from evenspan.clustering import KernelKMeans
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import row_updates
from evenspan.core.errors import ConfigurationError
from evenspan.metrics.clustering import balance, mnce


@pytest.fixture(scope="module")
def table(cells_of):
    """Names of the notebook on Table 1, for the made set."""
    return cells_of("zhou2024-table", dataset="made", seeds=2)


@pytest.fixture(scope="module")
def made():
    return zhou2024.Problem(zhou2024.made_set())


def test_on_crossed_structure_only_fair_methods_are_fair(table):
    """The made set: who ignores groups finds them; the fair row updates and both fair rivals do not."""
    rows = table["results"][table["results"]["protocol"] == "released"]
    found = rows.pivot_table(index="method", columns="metric", values="value")
    unfair, fair = ["K-means", "KKM", "SC", "FKKM-f"], ["FKKM", "FKKM (swaps)", "VFC", "FFC"]
    assert (found.loc[unfair, "MNCE"] < 0.5).all()
    assert (found.loc[unfair, "Bal"] == 0.0).all()
    assert (found.loc[fair, ["Bal", "MNCE", "ACC"]] > [0.5, 0.98, 0.95]).all(axis=None)


def test_fkkm_is_algorithm_1_with_dense_matrices_and_ends_as_the_released_rule(table, made, cells_of):
    """From the start of the estimator, weight by weight, until fairness rises no more."""
    dense, codes, K = cells_of("zhou2024-theorems", again=False), made.codes, zhou2024.kernel(7)(made)
    for seed in range(3):
        model = zhou2024.fitted(table["METHODS"]["FKKM"][0], K, made.data, seed)
        weight, fairness = 0.0, [-1.0, 0.0]
        while fairness[-1] - fairness[-2] > 0.005:
            weight, labels, moves = weight + 1.0, model.initial_labels_, True
            while moves:
                labels, moves = dense["sweep"](dense["fair_kernel"](K, codes, weight), labels, 3)
            fairness.append(mnce(labels, codes))
        assert model.fairness_weight_ == weight
        np.testing.assert_array_equal(model.labels_, labels)
        assert balance(labels, codes) > 0.5 > balance(model.initial_labels_, codes)


def test_jaffe_has_the_known_answer(raw, table):
    """Weight 2, every person found, and the balance of the true classes, from every seed; KKM is not there."""
    raw("jaffe")
    data = load_clustering("jaffe")
    for seed in range(3):
        fair, plain = (
            zhou2024.fitted(table["METHODS"][method][0], data.kernels[6].astype(float), data, seed)
            for method in ("FKKM", "KKM")
        )
        found = evaluate_clustering(JointCounts.from_labels(data.y, fair.labels_, data.groups))
        assert (found["ACC"], found["NMI"], found["Bal"]) == (1.0, 1.0, 0.5)
        assert found["MNCE"] == pytest.approx(0.98931, abs=1e-5)
        assert fair.fairness_weight_ == 2.0
        assert balance(plain.labels_, data.groups) == 0.0


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"groups": "sex"}, "groups='sex'.*has the columns 'width', 'height', 'who', 'kind'. Name one"),
        ({"dataset": "nowhere.csv"}, "'nowhere.csv' cannot be read"),
        ({"dataset": "nowhere"}, "needed is a CSV file or one of jaffe, "),
        ({"dataset": "made"}, "for a CSV file of your own"),
        ({"classes": ""}, "n_clusters=0; of 156 rows 2 to 156 .*without a column of classes"),
    ],
)
def test_what_is_no_table_to_cluster_is_told(setting, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = zhou2024.made_set()
    frame = pd.DataFrame(made.X, columns=["width", "height"]).assign(who=made.groups, kind=made.y)
    frame.to_csv("my.csv", index=False)
    with pytest.raises(ConfigurationError, match=said):
        zhou2024.problem(**{"dataset": "my.csv", "groups": "who", "classes": "kind"} | setting)


@pytest.fixture(scope="module")
def case():
    """The made set with its kernel and its starts."""
    case = zhou2024.problem("made")
    case.K = zhou2024.kernel(7)(case)
    relaxed = KernelKMeans(3, algorithm="relaxed", kernel="precomputed")
    case.start = lambda seed: relaxed.set_params(random_state=seed).fit(case.K).labels_
    return case


@pytest.fixture(scope="module")
def rows(cells_of):
    """What the notebook on the trade-off finds on the made set."""
    return cells_of("zhou2024-tradeoff", dataset="made", seeds=2)["results"]


def test_the_clustering_objective_is_the_mean_squared_distance_in_the_kernel(case):
    labels = np.random.default_rng(3).integers(3, size=case.data.n)
    values, vectors = np.linalg.eigh(case.K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    centres = np.stack([Z[labels == k].mean(axis=0) for k in range(3)])
    expected = ((Z - centres[labels]) ** 2).sum(axis=1).mean(axis=0)
    assert tradeoff.unexplained(case.K, labels) == pytest.approx(expected, rel=1e-9)


def test_no_answer_passes_its_certificate_and_a_wrong_bound_would_be_seen(rows):
    found = tradeoff.certificates(rows).set_index("weight")
    assert (found["gap"] >= -1e-12).all()
    assert (found["share"] <= 1.0 + 1e-12).all()
    assert found.loc[3.0, "share"] > 0.8
    lowered = rows.assign(value=rows["value"] - 20.0 * (rows["metric"] == "upper bound"))
    assert (tradeoff.certificates(lowered)["gap"] < 0).any()
    reached, carried, bound = found.loc[200.0, ["reached", "carried on", "bound"]]
    assert reached < carried <= bound, "from the start it is stuck far below"


def test_the_empirical_term_is_the_mean_squared_distance_in_the_fair_kernel(case, rows):
    found, weight = tradeoff.generalisation(rows).set_index("weight"), 3.0
    G = (case.codes[:, None] == np.arange(2)).astype(float)
    fair = case.K + weight * G.sum(axis=0).max() * np.eye(case.data.n) - weight * G @ G.T
    labels = row_updates(DenseGram(case.K), case.codes, case.start(0), 3, weight).labels
    inside = sum(fair[np.ix_(labels == k, labels == k)].sum(axis=None) / (labels == k).sum(axis=0) for k in range(3))
    assert found.loc[weight, "empirical"] == pytest.approx((np.trace(fair) - inside) / case.data.n, rel=1e-9)
    # no two points are farther apart than the largest possible value
    distances = np.diagonal(fair)[:, None] + np.diagonal(fair) - 2.0 * fair
    assert distances.max() <= found.loc[weight, "largest possible"]
    assert (np.diff(found["excess"]) > 0).all()


def test_definitions_of_measures_are_those_of_their_names():
    y, labels, groups = np.random.default_rng(4).integers(4, size=(3, 200))
    counts = JointCounts.from_labels(y, labels, groups)
    names = [(metric, name) for metric, of in candidates.DEFINITIONS.items() for name in of]
    found = dict(zip(names, candidates.measures(counts), strict=True))
    released, sizes = evaluate_clustering(counts), counts.group_by_cluster
    for metric, names in candidates.DEFINITIONS.items():
        assert found[metric, names[0]] == pytest.approx(released[metric], rel=1e-12)
    for name, of in zip(candidates.DEFINITIONS["NMI"], ("max", "arithmetic", "geometric", "min"), strict=True):
        assert found["NMI", name] == pytest.approx(normalized_mutual_info_score(y, labels, average_method=of), rel=1e-9)
    assert found["ACC", "many to one"] == sum(np.bincount(y[labels == k]).max() for k in range(4)) / 200
    assert found["Bal", "mean of clusters"] == pytest.approx(np.mean(sizes.min(axis=0) / sizes.max(axis=0)))
    ratios = (sizes / sizes.sum(axis=0)) / (sizes.sum(axis=1) / 200)[:, None]
    assert found["Bal", "shares against all rows"] == pytest.approx(np.minimum(ratios, 1 / ratios).min())


def test_a_search_finds_the_setting_that_made_a_table_and_nothing_in_columns_of_other_methods(cells_of):
    """The table of another setting, rounded as print is; with its columns moved to other methods it is not found."""
    space = cells_of("zhou2024-candidates", again=False)
    rows, settings = space["results"], space["SETTINGS"]
    made = next(name for name in settings if name.startswith("features columns standardised; kernel 7, not centred"))
    printed = candidates.table_of(rows, settings[made])
    moved = pd.DataFrame(np.roll(printed.to_numpy(), 3, axis=0), printed.index, printed.columns)
    found, control = (
        candidates.search(candidates.agreement(rows, settings, one, space["agrees"]), settings)
        .set_index("numbers of")
        .loc["whole table"]
        for one in (printed, moved)
    )
    assert found["best candidate"] == 32 > found["as fixed"]
    assert (found["lead"], control["lead"]) == ("yes", "no")
    assert control["best candidate"] < 0.9 * 32


@pytest.mark.parametrize(
    ("dataset", "name", "leads"), [("jaffe", "Jaffe", []), ("mnist_usps", "MNIST-USPS", ["FairSC"])]
)
def test_open_numbers_are_those_of_the_ledger_and_leads_what_the_page_says(dataset, name, leads, cells_of):
    space = cells_of("zhou2024-candidates", again=False, **experiment("zhou2024-candidates").executions[dataset])
    printed = readings.printed().query("dataset == @dataset").pivot(index="method", columns="metric", values="mean")
    settings, methods = space["SETTINGS"], list(readings.METHODS)
    agreed = candidates.agreement(space["results"], settings, printed, space["agrees"])
    fails = [~agreed[0, i, 0, candidates.FIRST, i] for i in range(8)]
    fails = pd.DataFrame(fails, methods, zhou2024.METRICS).stack()
    cells = ledger()
    cells = cells[(cells["paper"] == "zhou2024") & (cells["dataset"] == name) & (cells["described"] == NO)]
    assert set(zip(cells["method"], cells["metric"], strict=True)) == set(fails[fails].index)
    found = candidates.search(agreed, settings).set_index("numbers of")
    assert list(found.index[found["lead"] == "yes"]) == leads
    assert found["best candidate"]["SC"] < 2.0 * found["shuffled, mean"]["SC"]
    for lead in leads:  # the same kernel does not give the columns of KKM and FKKM
        place = list(settings).index(found["best setting"][lead].rpartition("; ")[0])
        same = dict(zip(methods, (agreed[place, i, 0, candidates.FIRST, i].sum() for i in range(8)), strict=True))
        assert same[lead] == 4
        assert max(same["KKM"], same["FKKM"]) <= 1
        assert (found["shuffled, most"][lead], found["best candidate"]["FKKM"]) == (3, 3)
