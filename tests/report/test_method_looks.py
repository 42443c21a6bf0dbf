"""One look for every method of every stored result and published table; colours that can be told apart."""

import re
import subprocess
import sys
from itertools import combinations, islice, pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.decomposition import PCA

import evenspan
from compendium import looks as method_looks
from compendium import paths
from compendium.book.guide import FURTHER
from compendium.looks import FILLS, NAMES, handles, known, look, looks, meaning, ordered
from evenspan import metrics
from evenspan.core.errors import ConfigurationError
from evenspan.displays import method_looks as library
from evenspan.displays import style
from evenspan.displays.method_looks import DASHES, FAMILIES, GROUP_COLOURS, HATCHES, group_looks
from evenspan.methods import METHODS, of_estimator

from ..sight import MISSING, contrast, distance, lab

#: What stands in the column of methods of a result and is none: a pattern of the whole name, and what it is.
NO_METHODS = {
    r"certified frontier|bound": "a bound that no method passes",
    r"K|classes|cluster, group|group, cluster": "a quantity of a kernel, true classes, an order of counting",
    r"eigenvectors of .*|set of the women's eigenvectors .*": "sets of eigenvectors beside printed rows",
    r"all features|groups permuted": "controls: no method at all",
}
WHITE = "#ffffff"


@pytest.fixture(scope="module")
def stored():
    """Names in the columns of methods of all results and tables, with the folders they are in."""
    found: dict[str, set[str]] = {}
    root = paths.root() / "data"
    for path in sorted([*(root / "results" / "full").rglob("*.csv"), *(root / "paper").glob("*.csv")]):
        if path.parent.name.endswith("-theorems"):  # cases of searches, which are no methods
            continue
        if "method" in pd.read_csv(path, nrows=0).columns:
            for name in pd.read_csv(path, usecols=["method"], dtype=str)["method"].dropna().unique():
                found.setdefault(name, set()).add(path.parent.name)
    return found


@pytest.fixture(scope="module")
def names(stored):
    """Those of them that are methods."""
    return {name: where for name, where in stored.items() if not any(re.fullmatch(p, name) for p in NO_METHODS)}


def unknown(name: str) -> bool:
    return not look(name).method


# -- names ------------------------------------------------------------------------------------------------------------


def test_every_stored_name_is_a_method_or_none_and_never_both(stored, names):
    assert len(names) > 200
    assert [name for name in names if unknown(name)] == []
    assert [name for name in {*stored} - {*names} if not unknown(name)] == []
    assert [p for p in NO_METHODS if not any(re.fullmatch(p, name) for name in stored)] == []
    assert {look(name).method for name in names} | set(FURTHER) == set(known())  # stored, or drawn in the guide
    assert all(unknown(name) for name in ("Fairest PCA", "PCA "))


def test_a_method_has_one_colour_and_marker_under_all_its_names(names):
    by_method: dict[str, set] = {}
    for name in names:
        own = look(name)
        by_method.setdefault(own.method, set()).add((own.colour, own.marker, own.family))
    assert {len(found) for found in by_method.values()} == {1}
    same = [("FairPCA", "FairPCA_SDP_LP", "Samadi et al."), ("covFairPCA", "c-FPCA"),
            ("CFPCA - Both Con.", "FPCA (0, 0.01)"), ("RFPCA", "Robust PCA")]  # fmt: skip
    for several in same:
        assert len({look(name)[:2] for name in several}) == 1
    assert look("FairPCA")[:2] != look("Fair PCA")[:2]
    assert {name: look(name).family for name in METHODS} == {name: m.equalises for name, m in METHODS.items()}


def test_estimators_are_known_by_class_and_settings():
    made = {name: of_estimator(method.make(2, 0)) for name, method in METHODS.items()}
    assert made == {name: name for name in METHODS}
    others = {"FKKM": evenspan.FairKernelKMeans(2), "Fair kernel PCA": evenspan.FairKernelPCA(2),
              "Streaming mean matching": evenspan.StreamingFairPCA(2, constraint="mean"),
              "PCA": evenspan.StreamingFairPCA(2, constraint="vanilla")}  # fmt: skip
    assert {name: of_estimator(estimator) for name, estimator in others.items()} == {name: name for name in others}
    with pytest.raises(ConfigurationError, match="PCA is no method"):
        of_estimator(PCA(2))


@pytest.mark.filterwarnings("ignore:eigenvalue")  # a relaxation that collapses, and says so
def test_a_method_equalises_what_its_family_says_and_plain_pca_does_not():
    """The few vary where the many do not, so that equal errors, equal losses and equal means need different axes."""
    rng, few = np.random.default_rng(3), np.arange(320) < 80
    X = rng.normal(size=(320, 6)) * np.where(few[:, None], [3, 1.5, 1.2, 0.3, 0.3, 0.3], [0.5, 1, 3, 2.5, 2, 1.8])
    X[few] += [0, 0, 0, 1, 0, 1]
    moments, found = evenspan.GroupMoments.from_data(X, few), {}
    for name, method in METHODS.items():
        if not method.points:
            fitted = method.make(2, 0).fit_moments(moments)
            frame = evenspan.GroupFrame(estimator=fitted, moments=moments, metrics=["error", "loss"])
            V = fitted.components_.T
            gaps = metrics.mean_gap(moments, V), metrics.covariance_gap(moments, V)
            found[name] = (*frame.difference(), frame.by_group["loss"].max(), *gaps)
    table = pd.DataFrame(found, index=["error gap", "loss gap", "worst loss", "means", "covariances"]).T
    table /= table.loc["PCA"]
    family = pd.Series({name: METHODS[name].equalises for name in table.index})
    assert ((table["error gap"] < 0.1) == (family == "errors")).all()
    assert ((table["means"] < 0.1) == family.str.startswith("means")).all()
    assert ((table["covariances"] < 0.7) == (family == "means and covariances")).all()
    # JEVD-PCA aims at equal losses, and is a heuristic: the certified method alone reaches them here.
    assert table.index[table["worst loss"] < 0.5].tolist() == ["Min-max loss"]
    assert set(family[family == "losses"].index) == {"Min-max loss", "JEVD-PCA"}


# -- looks of methods -------------------------------------------------------------------------------------------------


def test_methods_are_told_by_their_markers_alone_and_families_by_shades_and_dashes():
    every = method_looks.methods()
    shares = {name for name, own in every.items() if own.family == "shares in clusters"}
    clustering = shares | {"K-means", "KKM", "SC", "MKKM", "FKKM-f", "FMKKM-f"}
    linear = {n for n, own in every.items() if own.family != "predictions" and "classifier" not in n} - clustering
    for some in (linear, clustering):
        assert len({every[name].marker for name in some}) == len(some)
        assert len({every[name].colour for name in some}) == len(some)
    assert len({(own.colour, own.marker) for own in every.values()}) == len(every)
    for family in FAMILIES:
        dashes = [own.linestyle for own in every.values() if own.family == family]
        assert len(set(dashes)) == len(dashes)
    assert len(set(DASHES)) == len(DASHES)


def test_no_two_series_of_a_figure_look_alike_and_too_many_are_refused(names):
    for method in known():
        fills = [look(some[0]).fill for some in NAMES.get(method, ())[1:] if some]
        assert len({*fills, look(method).fill}) == len(fills) + 1, method
    checked, folders = 0, {folder for where in names.values() for folder in where}
    for folder in folders:
        some = [name for name, where in names.items() if folder in where]
        counts = pd.Series([meaning(name).method for name in some]).value_counts()
        if any(count > (2 if isinstance(known()[m][1], tuple) else len(FILLS)) for m, count in counts.items()):
            with pytest.raises(ConfigurationError, match=r"more than \d times"):
                looks(some)
            continue
        own = looks(some)
        assert len({(o.colour, o.marker, o.fill) for o in own.values()}) == len(some), folder
        checked += 1
    assert checked > 15
    own = looks(["JevdPCA", "JevdPCA (orthogonal)", "JevdPCA (raw columns)", "covFairPCA"])
    assert len({(o.colour, o.fill) for o in own.values()}) == 4
    assert len({own[name].marker for name in list(own)[:3]}) == 1
    heights = [own[name].line()["zorder"] for name in list(own)[:3]]
    assert heights == sorted(heights, reverse=True), "a variant would hide its method"
    assert len(set(heights)) == 3


def test_the_library_and_the_book_draw_a_method_alike():
    own, theirs = library.looks(METHODS), looks(METHODS)
    for name in METHODS:
        assert (own[name].colour, own[name].marker, own[name].size) == tuple(theirs[name][i] for i in (0, 1, 5))


def test_what_nobody_has_registered_gets_a_look_of_its_own_and_stands_last():
    names = ["PCA", "no clustering is above", "FKKM", "carried on"]
    assert ordered(["mine", "PCA", "theirs", "FKKM"]) == ["PCA", "FKKM", "mine", "theirs"]
    own = looks(names)
    assert own["FKKM"] == look("FKKM")
    assert len({(o.colour, o.marker) for o in own.values()}) == 4
    plane = looks(["column e1", "column e2", "column e3", "min-max optimum"])
    assert len({str(o.marker) for o in plane.values()}) == 4


def test_every_look_can_be_drawn_and_an_open_mark_lets_one_see_through():
    assert look("RFPCA, penalty 0.2").open()["markerfacecolor"] == "none"
    half = look("RFPCA, penalty 2.5").open()
    assert (half["fillstyle"], half["markerfacecoloralt"]) == ("left", "none")
    fig, panel = plt.subplots()
    for name, own in method_looks.methods().items():
        panel.plot([0, 1], [0, 1], **look(name).line())
        panel.plot([0], [0], **own.open())
    for fill in FILLS:
        panel.plot([0], [0], **look("PCA")._replace(fill=fill).mark())
    panel.legend(handles=handles(method_looks.methods().values(), lines=True), loc="upper left")
    fig.canvas.draw()


# -- groups, colours, settings ----------------------------------------------------------------------------------------


def test_groups_look_the_same_in_any_order_and_differ_by_marker_and_hatch():
    first = group_looks(["women", "men", "unknown"])
    assert list(first) == ["women", "men", "unknown"]
    assert first == group_looks(["men", "unknown", "women"])
    many = list(group_looks(range(20)).values())
    assert len({(own.colour, own.marker) for own in many}) == 20
    assert len({own.hatch for own in many[: len(HATCHES)]}) == len(HATCHES)
    assert len({own.marker for own in many[:8]}) == 8
    assert group_looks([1, "a"])["a"].label == "a"
    with pytest.raises(ConfigurationError, match="65 groups"):
        group_looks(range(65))


def test_colours_stand_out_from_white_and_from_each_other():
    families = [shades[0] for shades in FAMILIES.values()]
    for palette, least in [
        (families, {"none": 30, "protanopia": 20, "deuteranopia": 20, "tritanopia": 15}),
        (GROUP_COLOURS, {"none": 30, "protanopia": 20, "deuteranopia": 20, "tritanopia": 15}),
        (style.COLOURS, {"none": 20, "protanopia": 20, "deuteranopia": 20}),
    ]:
        assert min(contrast(colour, WHITE) for colour in palette) >= 3.0
        for missing, wanted in least.items():
            assert min(distance(a, b, missing) for a, b in combinations(palette, 2)) >= wanted
    assert min(distance(a, b) for a in GROUP_COLOURS for b in families) >= 15
    for shades in FAMILIES.values():
        assert min(contrast(shade, WHITE) for shade in shades) >= 3.0
        pairs = list(combinations(shades, 2))
        assert min((distance(*pair, missing) for pair in pairs for missing in MISSING), default=10.0) >= 10
    for key in ("axes.labelcolor", "text.color", "xtick.color", "ytick.color"):
        assert contrast(style.SETTINGS[key], WHITE) >= 4.5, key
    assert contrast(style.SETTINGS["axes.edgecolor"], WHITE) >= 3.0
    assert contrast(style.SETTINGS["grid.color"], WHITE) < 1.5  # the grid stays behind everything that says something
    pairs = list(islice(style.looks(), 98))
    assert len(set(pairs[:49])) == len(style.COLOURS) * len(style.MARKERS) == 49
    assert pairs[:49] == pairs[49:]
    assert all(one[0] != other[0] and one[1] != other[1] for one, other in pairwise(pairs[:7]))
    with mpl.rc_context(style.settings()):
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(style.COLOURS)


def test_the_measures_of_sight_agree_with_published_values_and_find_what_cannot_be_told_apart():
    assert contrast("#767676", WHITE) == pytest.approx(4.54, abs=0.01)  # WebAIM's darkest-enough grey
    np.testing.assert_allclose(lab("#ff0000"), [53.24, 80.09, 67.20], atol=0.05)
    np.testing.assert_allclose(lab(WHITE), [100, 0, 0], atol=0.01)
    for matrix in MISSING.values():
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=2e-6)  # white stays white
    # Control: red and green of equal lightness are far apart, and nearly one for an eye without green cones.
    assert distance("#C84B31", "#7A7A00") > 45
    assert distance("#C84B31", "#7A7A00", "deuteranopia") < 12
    assert contrast("#56B4E9", WHITE) < 3.0  # the sky blue of the former palette


def test_the_style_is_imported_without_matplotlib_or_a_kernel():
    """People who draw a display in a script need no notebook."""
    heavy = "matplotlib", "ipykernel", "matplotlib_inline", "IPython"
    program = (
        "import sys; from evenspan.displays import style, method_looks; method_looks.looks(['PCA']); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
