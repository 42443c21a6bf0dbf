"""One look for every method of every stored result and published table; colours that can be told apart."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from evenspan.displays.method_names import NAMES, NO_METHODS, meaning, no_method, of_estimator
from matplotlib import pyplot as plt

import evenspan
from compendium import paths
from compendium.report.sight import MISSING, contrast, distance
from evenspan.core.errors import ConfigurationError
from evenspan.displays import method_looks
from evenspan.displays.method_looks import (
    DASHES,
    FAMILIES,
    FILLS,
    GROUP_COLOURS,
    HATCHES,
    MARKERS,
    group_looks,
    look,
    looks,
)
from evenspan.methods import METHODS as COMPARED

TABLES = sorted(
    [*(paths.root() / "data" / "results" / "full").rglob("*.csv"), *(paths.root() / "data" / "paper").glob("*.csv")]
)
CLUSTERING = {*MARKERS["shares in clusters"], "K-means", "KKM", "SC", "MKKM", "FKKM-f", "FMKKM-f"}


def stored() -> dict[str, set[str]]:
    """Names in the columns of methods of all results and tables, with the folders they are in."""
    found: dict[str, set[str]] = {}
    for path in TABLES:
        if "method" in pd.read_csv(path, nrows=0).columns:
            for name in pd.read_csv(path, usecols=["method"], dtype=str)["method"].dropna().unique():
                found.setdefault(name, set()).add(path.parent.name)
    return found


@pytest.fixture(scope="module")
def names():
    return stored()


def test_every_name_in_results_and_tables_has_a_look_or_is_no_method(names):
    assert len(names) > 300
    unknown = []
    for name, where in names.items():
        try:
            look(name)
        except ConfigurationError:
            if not no_method(name):
                unknown.append((name, sorted(where)))
    assert not unknown


def test_no_name_is_both_a_method_and_none(names):
    for name in names:
        if no_method(name):
            with pytest.raises(ConfigurationError, match="No method is known"):
                look(name)


def test_every_rule_about_names_is_used(names):
    import re

    for pattern in NO_METHODS:
        assert any(re.fullmatch(pattern, name) for name in names), pattern
    assert {look(name).method for name in names if not no_method(name)} == set(method_looks.methods())


def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigurationError, match=r"'Fairest PCA'.*method_names\.py"):
        look("Fairest PCA")
    with pytest.raises(ConfigurationError):
        look("PCA ")


def test_families_agree_with_the_comparison_of_all_methods():
    for name, method in COMPARED.items():
        assert look(name).family == method.equalises, name
        assert look(name).method == name


def test_the_same_method_has_the_same_colour_and_marker_under_all_its_names(names):
    by_method: dict[str, set] = {}
    for name in names:
        if not no_method(name):
            own = look(name)
            by_method.setdefault(own.method, set()).add((own.colour, own.marker))
    assert {len(pairs) for pairs in by_method.values()} == {1}
    assert look("FairPCA")[:2] == look("FairPCA_SDP_LP")[:2] == look("Samadi et al.")[:2] != look("Fair PCA")[:2]
    assert look("covFairPCA")[:2] == look("c-FPCA")[:2]
    assert look("CFPCA - Both Con.")[:2] == look("FPCA (0, 0.01)")[:2]


def test_methods_are_told_by_their_markers_alone():
    every = method_looks.methods()
    linear = [own for name, own in every.items() if name not in CLUSTERING and own.family != "predictions"]
    linear = [own for own in linear if "classifier" not in own.label]
    for some in (linear, [every[name] for name in CLUSTERING]):
        markers = [str(own.marker) for own in some]
        assert len(set(markers)) == len(markers)
    pairs = [(own.colour, str(own.marker)) for own in every.values()]
    assert len(set(pairs)) == len(pairs)
    for family in FAMILIES:
        dashes = [str(own.linestyle) for own in every.values() if own.family == family]
        assert len(set(dashes)) == len(dashes)


def test_variants_of_one_method_differ_in_fill(names):
    for method, variants in NAMES.items():
        fills = [look(some[0]).fill for some in variants[1:] if some]
        assert len({*fills, look(method).fill}) == len(fills) + 1, method
    own = looks(["JevdPCA", "JevdPCA (orthogonal)", "JevdPCA (raw columns)", "covFairPCA"])
    assert len({(o.colour, o.fill) for o in own.values()}) == 4
    assert len({own[name].marker for name in list(own)[:3]}) == 1


def test_no_two_series_of_a_figure_look_alike_and_too_many_are_refused(names):
    of_table: dict[str, list[str]] = {}
    for name, where in names.items():
        for folder in where if not no_method(name) else ():
            of_table.setdefault(folder, []).append(name)
    checked = 0
    for folder, some in of_table.items():
        counts = pd.Series([meaning(name, frozenset(method_looks.methods())).method for name in some]).value_counts()
        if any(count > len(method_looks._fills(look(method).marker)) for method, count in counts.items()):
            with pytest.raises(ConfigurationError, match=r"more than \d times"):
                looks(some)
            continue
        own = looks(some)
        assert len({(o.colour, str(o.marker), o.fill) for o in own.values()}) == len(some), folder
        checked += 1
    assert checked > 15


def test_lines_and_marks_can_be_drawn_with_every_look():
    fig, panel = plt.subplots()
    for name in method_looks.methods():
        panel.plot([0, 1], [0, 1], **look(name).line())
    for fill in FILLS:
        panel.plot([0], [0], **look("PCA")._replace(fill=fill).mark())
    panel.legend(handles=method_looks.handles(method_looks.methods().values(), lines=True))
    fig.canvas.draw()
    plt.close(fig)


@pytest.mark.parametrize("palette", [tuple(FAMILIES.values()), GROUP_COLOURS], ids=["families", "groups"])
def test_colours_stand_out_from_white_and_from_each_other(palette):
    assert min(contrast(colour, "#ffffff") for colour in palette) >= 3.0
    least = {missing: min(distance(a, b, missing) for a, b in combinations(palette, 2)) for missing in MISSING}
    assert least["none"] >= 30
    assert least["protanopia"] >= 20
    assert least["deuteranopia"] >= 20
    assert least["tritanopia"] >= 15


def test_the_measure_of_distance_finds_colours_that_cannot_be_told_apart():
    """Control: red and green of equal lightness are far apart, and nearly one for an eye without green cones."""
    red, green = "#C84B31", "#7A7A00"
    assert distance(red, green) > 45
    assert distance(red, green, "deuteranopia") < 12
    assert contrast("#56B4E9", "#ffffff") < 3.0  # the sky blue of the former palette


def test_contrast_and_lab_agree_with_published_values():
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)  # WebAIM's darkest-enough grey
    from compendium.report.sight import lab

    np.testing.assert_allclose(lab("#ff0000"), [53.24, 80.09, 67.20], atol=0.05)
    np.testing.assert_allclose(lab("#ffffff"), [100, 0, 0], atol=0.01)
    for matrix in MISSING.values():
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=2e-6)  # white stays white
    with pytest.raises(ConfigurationError, match="no colour"):
        contrast("red", "#ffffff")
    with pytest.raises(ConfigurationError, match="unknown"):
        lab("#ffffff", "monday")


def test_colours_of_groups_are_not_those_of_families():
    assert min(distance(a, b) for a in GROUP_COLOURS for b in FAMILIES.values()) >= 15


def test_groups_look_the_same_in_any_order_and_differ_by_marker_and_hatch():
    first = group_looks(["women", "men", "unknown"])
    assert list(first) == ["women", "men", "unknown"]
    assert first == {k: group_looks(["men", "unknown", "women"])[k] for k in first}
    many = group_looks(range(20))
    pairs = [(own.colour, own.marker) for own in many.values()]
    assert len(set(pairs)) == 20
    assert len({own.hatch for own in list(many.values())[: len(HATCHES)]}) == len(HATCHES)
    assert len({own.marker for own in list(many.values())[:8]}) == 8
    assert group_looks([1, "a"])["a"].label == "a"
    with pytest.raises(ConfigurationError, match="65 groups"):
        group_looks(range(65))


def test_estimators_are_known_by_class_and_settings():
    from evenspan.representation.fair_pca import FairPCA

    named = {of_estimator(method.make(2, 0)) for method in COMPARED.values()}
    assert named == set(COMPARED)
    assert of_estimator(FairPCA(2)) == "Fair PCA"
    assert of_estimator(evenspan.FairKernelKMeans(2)) == "FKKM"
    from sklearn.decomposition import PCA

    with pytest.raises(ConfigurationError, match="PCA is no method"):
        of_estimator(PCA(2))


def test_dashes_are_different():
    assert len(set(map(str, DASHES))) == len(DASHES)


def test_series_that_are_no_methods_get_what_is_left_only_where_they_may_be():
    names = ["PCA", "no clustering is above", "FKKM", "carried on"]
    with pytest.raises(ConfigurationError, match="no clustering"):
        looks(names)
    own = looks(names, others=True)
    assert own["FKKM"] == look("FKKM")
    assert len({(o.colour, o.marker) for o in own.values()}) == 4
    assert own["carried on"].method == ""
    plane = looks(["column e1", "column e2", "column e3", "min-max optimum"], others=True)
    assert len({str(o.marker) for o in plane.values()}) == 4


def test_what_is_drawn_open_lets_one_see_through():
    assert look("RFPCA, penalty 0.2").open()["markerfacecolor"] == "none"
    half = look("RFPCA, penalty 2.5").open()
    assert (half["fillstyle"], half["markerfacecoloralt"]) == ("left", "none")
    fig, panel = plt.subplots()
    for name in ("PCA", "RFPCA (exact)", "RFPCA, penalty 2.5"):
        panel.plot([0], [0], **look(name).open())
    fig.canvas.draw()
    plt.close(fig)
