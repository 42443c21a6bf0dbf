"""Tables: what the registry and the papers say of them, proved by other copies; and files that are not right."""

import collections
import io
import zipfile
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from compendium import data as datasets
from compendium import paths
from compendium.data import Dataset, tables
from evenspan import GroupMoments
from evenspan.core.errors import DataError, RegistryError
from evenspan.metrics import explained_variance
from evenspan.reconstruction import StandardPCA

#: Tables of Rathore and Manwani by their sensitive column, which is a feature.
SENSITIVE_FEATURE = dict.fromkeys(tables.LSAC, "male") | {"lsac": "sex", "diabetes": "Sex", "npha": "Gender"}


@pytest.mark.parametrize("name", datasets.loadable())
@pytest.mark.raw
def test_rows_features_groups_and_measures_are_those_of_the_registry(name, raw):
    raw(name)
    entry, data = datasets.entry(name), datasets.load(name)
    assert (data.n, data.d) == (entry.rows, entry.features)
    assert (data.name, data.part, data.split, data.X.dtype) == (name, "all", None, np.float64)
    labels, which, counts = np.unique(data.groups, return_inverse=True, return_counts=True)
    assert dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True)) == entry.groups
    rows = np.unique(np.column_stack([data.X, data.y, which]), axis=0)
    scale = data.X.std(axis=0)
    assert entry.measured == {
        "duplicate_rows": data.n - len(rows),
        "rank": np.linalg.matrix_rank((data.X - data.X.mean(axis=0)) / np.where(scale > 0, scale, 1)),
        "label_mean": {str(g): round(data.y[which == j].mean(), 4) for j, g in enumerate(labels.tolist())},
    }
    assert len(set(data.feature_names)) == data.d
    if column := SENSITIVE_FEATURE.get(name):
        np.testing.assert_array_equal(data.X[:, data.feature_names.index(column)], data.groups)
    if name == "obesity":
        for label in ("Female", "Male"):
            np.testing.assert_array_equal(data.X[:, data.feature_names.index(f"Gender_{label}")], data.groups == label)
    if name == "compas":
        age = data.X[:, data.feature_names.index("age")]
        for category, inside in (("under_25", age < 25), ("25-45", (age >= 25) & (age < 45)), ("over_45", age >= 45)):
            np.testing.assert_array_equal(data.X[:, data.feature_names.index(f"age_cat_{category}")] == 1, inside)
    if name == "steel":  # the authors' code drops two columns that the file has
        assert not {"perimX", "perimY"} & set(data.feature_names)


@pytest.mark.raw
@pytest.mark.parametrize("name", tables.PUBLISHED)
def test_published_splits_are_standardised_and_share_their_people(name, raw):
    raw(name)
    whole, entry = datasets.load(name), datasets.entry(name)
    assert datasets.splits(name) == 10
    own = whole.feature_names.index({"adult": "sex", "compas": "race_Caucasian", "german": "age_25_or_older"}[name])
    constant = []
    for i in range(datasets.splits(name)):
        train, test = datasets.load_split(name, i)
        assert (train.part, test.part, train.split, test.split) == ("train", "test", i, i)
        for both, all_of_them in (((train.y, test.y), whole.y), ((train.groups, test.groups), whole.groups)):
            np.testing.assert_array_equal(np.bincount(np.concatenate(both)), np.bincount(all_of_them))
        assert abs(train.X.mean(axis=0)).max() < 1e-9
        assert set(np.round(train.X.std(axis=0), 9)) <= {0.0, 1.0}
        constant.append(int((train.X.std(axis=0) == 0).sum()))
        # the sensitive attribute is a feature: the same two values, in the same rows
        for part in (train, test):
            assert len(set(zip(part.groups.tolist(), part.X[:, own].round(9).tolist(), strict=True))) == 2
    assert (min(constant), max(constant)) == ((8, 11) if name == "adult" else (0, 0))
    assert entry.feature_names == whole.feature_names


@pytest.mark.raw
def test_the_feature_names_of_adult_are_proved_by_the_original_data(raw):
    """Undo the z-scoring of every split: each row is then a complete row of the original, under the derived names."""
    raw("adult", "adult_uci")
    names = datasets.entry("adult").feature_names
    known = collections.Counter(original_adult_rows(names))
    indicators = [j for j, name in enumerate(names) if "_" in name or name == "sex"]
    numbers = [j for j in range(len(names)) if j not in indicators]
    values = {j: np.unique([row[j] for row in known]) for j in numbers}
    for i in range(10):
        parts = datasets.load_split("adult", i)
        Z = np.vstack([part.X for part in parts])
        X = np.zeros((len(Z), len(names) + 1), dtype=int)
        X[:, -1] = np.concatenate([part.y for part in parts])
        for j in indicators:
            X[:, j] = (Z[:, j] > Z[:, j].mean()) & (np.ptp(Z[:, j]) > 1e-9)
        for j in numbers:
            X[:, j] = unscaled(Z[:, j], values[j])
        assert not collections.Counter(map(tuple, X.tolist())) - known


def unscaled(z: np.ndarray, values: np.ndarray) -> np.ndarray:
    """An affine image of z that starts at the smallest value and meets ``values`` throughout."""
    low, high = z.min(), z.max()
    for top in values[::-1]:
        x = values[0] + (z - low) / (high - low) * (top - values[0])
        whole = np.round(x)
        if abs(x - whole).max() < 1e-6 and np.isin(whole, values).all():
            return whole.astype(int)
    raise AssertionError("no affine image meets the original values")


def original_adult_rows(names: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Complete rows of the original Adult files under the names of the splits, each followed by its label."""
    frames = []
    for path, skipped in zip(datasets.verify("adult_uci"), (0, 1), strict=True):
        frames.append(
            pd.read_csv(path, header=None, names=tables.ADULT_COLUMNS, skiprows=skipped, skipinitialspace=True)
        )
    table = pd.concat(frames)
    table = table[~(table == "?").any(axis=1)]
    assert len(table) == 45222
    label = table["income"].str.startswith(">50K").to_numpy(int)
    features = table.drop(columns=["fnlwgt", "race", "income"]).assign(sex=(table["sex"] == "Male").astype(int))
    encoded = pd.get_dummies(features, dtype=int)
    assert set(encoded.columns) == set(names)
    return list(map(tuple, np.column_stack([encoded[list(names)].to_numpy(int), label]).tolist()))


@pytest.mark.raw
def test_the_feature_names_of_german_are_proved_by_the_other_copy(raw):
    raw("german", "german_credit")
    german, other = datasets.load("german"), datasets.load("german_credit")
    ours = {
        **dict(zip(("A2", "A5", "A8", "A11", "A16", "A18"), (0, 1, 2, 3, 5, 6), strict=True)),
        **{code(name): j for j, name in enumerate(german.feature_names) if "_A" in name},
    }
    shared = [name for name in other.feature_names if name in ours]
    assert len(shared) == 42
    rows = [
        collections.Counter(map(tuple, X.tolist()))
        for X in (german.X[:, [ours[s] for s in shared]], other.X[:, [other.feature_names.index(s) for s in shared]])
    ]
    assert rows[0] == rows[1]


def code(name: str) -> str:
    """``status_A11`` in this copy is ``A1_1`` in the other: attribute 1, level 1."""
    digits = name.rpartition("_A")[2]
    attribute = (
        digits[:2]
        if name.split("_")[0] in {"debtors", "property", "plans", "housing", "job", "telephone"}
        else digits[:1]
    )
    attribute = digits[:2] if name.startswith("foreign") else attribute
    return f"A{attribute}_{digits[len(attribute) :]}"


def test_the_bundled_splits_are_seeded_and_standardised_with_their_training_part():
    whole = datasets.load("sklearn_diabetes")
    assert "sex" not in whole.feature_names
    rows = np.random.default_rng(4).permutation(whole.n)
    base = whole.X[rows[:309]]
    for part, own in zip(datasets.load_split("sklearn_diabetes", 4), (rows[:309], rows[309:]), strict=True):
        np.testing.assert_allclose(part.X, (whole.X[own] - base.mean(axis=0)) / base.std(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(part.groups, whole.groups[own])
        np.testing.assert_array_equal(part.y, whole.y[own])
        assert (part.part, part.split) == ("train" if len(own) == 309 else "test", 4)


def test_other_bundled_values_are_refused(monkeypatch):
    changed = sklearn.datasets.load_diabetes(scaled=False)
    changed.data[0, 0] += 1
    monkeypatch.setattr(sklearn.datasets, "load_diabetes", lambda scaled: changed)
    with pytest.raises(DataError, match=r"requirements\.lock"):
        datasets.load("sklearn_diabetes")


def test_what_cannot_be_loaded_or_split_says_what_can():
    for i in (10, -1, 2.5, "0", True, None):
        with pytest.raises(RegistryError, match="splits 0 to 9"):
            datasets.load_split("sklearn_diabetes", i)
    for call in (datasets.load, lambda name: datasets.load_split(name, 0)):
        with pytest.raises(RegistryError, match=r"no loader yet.*adult, compas, german"):
            call("jaffe")
    with pytest.raises(RegistryError, match=r"no fixed splits.*adult, compas, german, sklearn_diabetes"):
        datasets.load_split("wine_quality", 0)
    assert (datasets.splits("wine_quality"), datasets.splits("adult")) == (0, 10)


def test_a_dataset_whose_parts_do_not_fit_is_refused():
    X, y = np.zeros((4, 2)), np.zeros(4)
    with pytest.raises(DataError, match=r"groups \(3,\)"):
        Dataset("toy", X, y, y[:3], ("a", "b"))
    with pytest.raises(DataError, match="1 feature names"):
        Dataset("toy", X, y, y, ("a",))
    assert repr(Dataset("toy", X, y, np.array([0, 0, 1, 2]), ("a", "b"), "test", 3)) == (
        "Dataset(toy, test part of split 3: n=4, d=2, groups: 0 (2), 1 (1), 2 (1))"
    )


# -- Rathore and Manwani: the printed PCA columns --------------------------------------------------------------------

TABLES = {
    "diabetes": ("rathore2025_table2_diabetes", ["Sex"]),
    "obesity": ("rathore2025_table3_obesity", ["Gender_Female", "Gender_Male"]),
    "lsac_bw": ("rathore2025_table4_lsac", ["male"]),
    "npha": ("rathore2025_table5_npha", ["Gender"]),
}


def agreeing(moments: GroupMoments, table: pd.DataFrame) -> int:
    """How many printed numbers of standard PCA these moments give, to every digit."""
    found = 0
    for k, rows in table.groupby("k"):
        V = StandardPCA(k).fit_moments(moments).components_.T
        total, kept = np.trace(moments.scatter) / moments.n, np.trace(V.T @ moments.scatter @ V) / moments.n
        gap = (moments.means[0] - moments.means[1]) @ V
        ours = {"R.E.": total - kept, "V.E.": explained_variance(moments, V), "MMD^2": gap @ gap}
        for row in rows.itertuples():
            found += str(Decimal(f"{ours[row.metric]:.9f}").quantize(Decimal("0.01"), ROUND_HALF_UP)) == row.value
    return found


def printed(name: str) -> pd.DataFrame:
    table = pd.read_csv(paths.data("paper", f"{TABLES[name][0]}.csv"), dtype={"value": str})
    return table[table["method"] == "StandardPCA"]


@pytest.mark.parametrize("name", TABLES)
def test_standard_pca_is_the_papers_to_every_printed_digit(name):
    table, moments = printed(name), datasets.whole_moments(name)
    assert agreeing(moments, table) == len(table) == 3 * table["k"].max()
    # Control: without the sensitive column, or with standardised features, most numbers are others.
    rest = [feature for feature in moments.feature_names if feature not in TABLES[name][1]]
    assert max(agreeing(other, table) for other in (moments.select(rest), moments.standardised())) < 2 / 3 * len(table)


def test_the_lsac_table_of_the_paper_is_told_from_the_files_around_it():
    """The table has every printed number, from either source; the next best, its near twin, less than two thirds."""
    names = ("lsac_bw", "lsac_arff", "lsac_bar", "lsac_clean", "lsac")
    found = {name: agreeing(datasets.whole_moments(name), printed("lsac_bw")) for name in names}
    assert found.pop("lsac_bw") == found.pop("lsac_arff") == 33
    assert max(found.values()) < 22


@pytest.mark.raw
def test_the_public_file_has_the_rows_of_the_table_that_was_found_and_a_header_that_misstates_tier(raw):
    raw("lsac_arff", "lsac_bw")
    file, found = datasets.load("lsac_arff"), datasets.load("lsac_bw")
    rows = [np.column_stack([data.X, data.y, data.groups]) for data in (file, found)]
    np.testing.assert_array_equal(*(table[np.lexsort(table.T)] for table in rows))
    assert file.feature_names == found.feature_names
    assert (file.X != found.X).any(), "in another order"
    head = datasets.fetch("lsac_arff")[0].read_text().partition("@data")[0]
    assert "@attribute tier {0, 1}" in head  # were it corrected, the card and the registry would be wrong
    assert set(file.X[:, file.feature_names.index("tier")]) == {1, 2, 3, 4, 5, 6}
    assert "tier" in datasets.entry("lsac_arff").preprocessing


@pytest.mark.raw
def test_diabetes_comes_in_blocks_and_in_the_order_of_the_file(raw):
    raw("diabetes")
    data, parts = datasets.load("diabetes"), list(datasets.batches("diabetes"))
    np.testing.assert_array_equal(np.vstack([X.to_numpy() for X, _ in parts]), data.X)
    np.testing.assert_array_equal(np.concatenate([groups for _, groups in parts]), data.groups)
    assert max(len(X) for X, _ in parts) == tables.BLOCK_ROWS < data.n / 7
    assert "Diabetes_binary" not in data.feature_names


# -- made files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path, monkeypatch, make_entry):
    """Load a data set from a made file."""
    monkeypatch.setenv("EVENSPAN_DATA", str(tmp_path))

    def load(name: str, *bodies: bytes):
        files = {file.name: body for file, body in zip(datasets.entry(name).files, bodies, strict=True)}
        (tmp_path / name).mkdir(exist_ok=True)
        for file, body in files.items():
            (tmp_path / name / file).write_bytes(body)
        return tables.LOADERS[name](make_entry(files, str, name=name))

    return load


def text(columns, *rows) -> bytes:
    return "\n".join(",".join(map(str, row)) for row in (columns, *rows)).encode() + b"\n"


def arff(*rows, columns=tables.ARFF_COLUMNS) -> bytes:
    head = "".join(f"@attribute {name} {{0, 1}}\n" for name in columns)
    return (f"@relation made\n{head}@data\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)).encode()


def zipped(body: bytes, inside: str = "diabetes_binary_health_indicators_BRFSS2015.csv") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(inside, body)
    return file.getvalue()


def diabetes_body(n: int = 4000) -> bytes:
    rng = np.random.default_rng(5)
    return text(tables.DIABETES_COLUMNS, *rng.integers(0, 2, size=(n, 22)).tolist())


PERSON = ["Male", 20, 1.8, 80, "yes", "no", 2, 3, "no", "no", 2, "no", 0, 1, "no", "Bike"]
CLEAN = [1, 2, 3, 4, 5, 6, 1, 2, 0, 3, "White", 1]


def test_made_files_are_read(made):
    data = made("diabetes", zipped(diabetes_body()))
    assert (data.n, data.d) == (4000, 21)
    padded = text([f"{name} " for name in tables.NPHA_COLUMNS], [f"   {j} " for j in range(15)])
    assert made("npha", padded).X.tolist() == [list(range(15))]
    levels = {"Insufficient_Weight": 0, "Normal_Weight": 0, "Overweight_Level_I": 0, "Overweight_Level_II": 0}
    levels |= {"Obesity_Type_I": 1, "Obesity_Type_II": 1, "Obesity_Type_III": 1}
    people = [[*PERSON, level] for level in levels] + [["Female", *PERSON[1:], "Normal_Weight"]]
    data = made("obesity", text(tables.OBESITY_COLUMNS, *people))
    assert (data.groups.tolist(), data.y.tolist()) == (["Male"] * 7 + ["Female"], [*levels.values(), 0])
    data = made("lsac_clean", text(tables.CLEAN_COLUMNS, CLEAN, [*CLEAN[:10], "Non-White", 0]))
    assert data.X[:, data.feature_names.index("race")].tolist() == [1, 0]
    rows = [[*range(10), race, passed, 0] for race in ("b white", "a black", "c other") for passed in "PF"]
    data = made("lsac_bar", text([*tables.BAR_COLUMNS, "more"], *rows, ["", *rows[0][1:]]))
    assert data.X[:, -2:].tolist() == [[1, 1], [1, 0], [0, 1], [0, 0]]
    assert data.feature_names == tables.CLEAN_COLUMNS
    data = made("lsac_arff", arff(range(12), [*range(8), 0, 1, 6, 0]))  # whatever types its header declares
    column = dict(zip(data.feature_names, data.X.T.tolist(), strict=True))
    assert (column["race"], column["tier"], column["lsat"]) == ([9, 1], [10, 6], [2, 2])
    assert (data.groups.tolist(), data.y.tolist()) == ([8, 0], [11, 0])


def test_race_is_read_in_the_other_file_and_must_be_one_and_the_same(made):
    people = [[1, 2, 30 + i, 3, i, 0.5, 1, 2, i % 2, 3, "White" if i < 2 else "Non-White", 1] for i in range(4)]

    def cited(race=(1, 1, 2, 3), drop=0, twice=()) -> bytes:
        rows = [
            [p[4], p[5], 68, 2, 2 - p[8], r, p[9], p[7], p[2], p[3], 700, 1] for p, r in zip(people, race, strict=True)
        ]
        rows = rows[drop:] + [[*rows[i][:5], 3, *rows[i][6:]] for i in twice]
        return "\n".join(",".join(map(str, row)) for row in rows).encode()

    clean = text(tables.CLEAN_COLUMNS, *people)
    data = made("lsac_bw", clean, cited())
    assert data.X[:, data.feature_names.index("lsat")].tolist() == [30, 31, 32]
    assert data.X[:, data.feature_names.index("race")].tolist() == [1, 1, 0]
    for race in ((1, 2, 2, 3), (1, 1, 1, 3), (1, 1, 4, 3)):
        with pytest.raises(DataError, match="one and the same race for each"):
            made("lsac_bw", clean, cited(race))
    for other in (cited(drop=1), cited(twice=[2])):
        with pytest.raises(DataError, match="one and the same race for each"):
            made("lsac_bw", clean, other)


def wrong_files():
    npha, row = tables.NPHA_COLUMNS, list(range(15))
    diabetes, whole = tables.DIABETES_COLUMNS, zipped(diabetes_body())
    broken = bytearray(whole)
    broken[len(whole) // 3] ^= 0xFF
    body = diabetes_body(3).replace(b"\n", b"\nx", 2).replace(b"\nx", b"\n", 1)
    return [
        ("npha", text(npha[:-1], row[:-1]), "without Gender; needed are"),
        ("npha", text(npha[::-1], row), "in another order"),
        ("npha", text([*npha, "more"], [*row, 1]), "more columns"),
        ("npha", text(npha, row, [*row[:13], "x", 1]), "column Race has 'x' in row 1"),
        ("npha", text(npha, [0, "", *row[2:]]), "column Age has 'nan' in row 0"),
        ("npha", text(npha, row, [0, "inf", *row[2:]]), "column Age has 'inf' in row 1 .*finite number"),
        ("npha", text(npha, row, [0, "-inf", *row[2:]]), "column Age has '-inf' in row 1 .*finite number"),
        ("npha", b"", "cannot be read"),
        ("lsac_bar", text(tables.BAR_COLUMNS[:-1], range(11)), "without bar1"),
        ("lsac", text(range(11)), "11 columns; needed are 12"),
        ("lsac_clean", text(tables.CLEAN_COLUMNS, [*CLEAN[:10], "Other", 1]), "column race"),
        ("obesity", text(tables.OBESITY_COLUMNS, [*PERSON[:4], "", *PERSON[5:], "Obesity_Type_I"]), "empty cells"),
        ("obesity", b"\xff\xfe\x00\x81" * 9, "cannot be read"),
        ("lsac_arff", arff(range(12), columns=tables.ARFF_COLUMNS[::-1]), "the header names pass_bar"),
        ("lsac_arff", arff(range(11)), "rows have 11 cells"),
        ("lsac_arff", arff([*range(11), "?"]), "column pass_bar has"),
        ("lsac_arff", arff(), "cannot be read"),
        ("lsac_arff", b"no table", "cannot be read"),
        ("diabetes", whole[: len(whole) // 2], "cannot be read"),
        ("diabetes", b"no archive", "cannot be read"),
        ("diabetes", zipped(diabetes_body(), "another.csv"), "cannot be read"),
        ("diabetes", bytes(broken), "cannot be read"),
        ("diabetes", zipped(text(diabetes[:-1], range(21))), "without Income"),
        ("diabetes", zipped(body), "column Diabetes_binary"),
    ]


def test_a_file_that_is_not_right_says_what_is_needed(made):
    for name, body, message in wrong_files():
        with pytest.raises(DataError, match=message):
            made(name, body)
