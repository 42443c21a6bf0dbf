"""The public file of the LSAC table: the rows of ``lsac_bw``, the printed column, and files that are not right."""

import numpy as np
import pandas as pd
import pytest

from evenspan import datasets, paths
from evenspan.datasets import lsac_arff
from evenspan.datasets.dataset import Dataset
from evenspan.errors import DataError


def in_order(data: Dataset) -> np.ndarray:
    """Features, label and group of every row, rows sorted."""
    rows = np.column_stack([data.X, data.y, data.groups])
    return rows[np.lexsort(rows.T)]


def errors(data: Dataset) -> list[str]:
    """Reconstruction errors of standard PCA for every k, as the paper prints them."""
    values = np.linalg.eigvalsh(np.cov(data.X.T, bias=True))
    return [f"{value:.2f}" for value in np.cumsum(values)[:-1][::-1]]


@pytest.mark.raw
def test_the_file_has_the_rows_of_the_table_that_was_found(raw):
    raw("lsac_arff", "lsac_bw", "lsac_clean")
    file, found = datasets.load_lsac_arff(), datasets.load("lsac_bw")
    assert file.feature_names == found.feature_names
    assert abs(in_order(file) - in_order(found)).max() == 0
    assert (file.X != found.X).any()  # in another order
    entry = datasets.entry("lsac_arff")
    counts = {str(label): int((file.groups == label).sum()) for label in np.unique(file.groups)}
    assert ((file.n, file.d), counts) == ((entry.rows, entry.features), entry.groups)
    # Control: law_school_clean as it is has more rows, and none of the first errors.
    clean = datasets.load("lsac_clean")
    assert clean.n > file.n
    table = pd.read_csv(paths.data("paper", "rathore2025_table4_lsac.csv"), dtype={"value": str})
    printed = table.query("method == 'StandardPCA' and metric == 'R.E.'").sort_values("k")["value"].tolist()
    assert errors(file) == printed
    assert all(ours != theirs for ours, theirs in zip(errors(clean)[:4], printed[:4], strict=True))


@pytest.mark.raw
def test_the_header_misstates_tier(raw):
    """Were it corrected, the card and the registry would be wrong."""
    raw("lsac_arff")
    data, entry = datasets.load_lsac_arff(), datasets.entry("lsac_arff")
    head = datasets.fetch("lsac_arff")[0].read_text().partition("@data")[0]
    assert "@attribute tier {0, 1}" in head
    assert set(data.X[:, data.feature_names.index("tier")]) == {1, 2, 3, 4, 5, 6}
    assert "tier" in entry.preprocessing


@pytest.fixture
def made(tmp_path, monkeypatch, make_entry):
    """Load a made file."""
    monkeypatch.setenv("EVENSPAN_DATA", str(tmp_path))

    def load(body: str) -> Dataset:
        found = make_entry({"law_dataset.arff": body.encode()}, str, name=lsac_arff.NAME)
        (tmp_path / found.folder).mkdir(exist_ok=True)
        (tmp_path / found.folder / "law_dataset.arff").write_bytes(body.encode())
        monkeypatch.setattr(lsac_arff, "entry", lambda name: found)
        return datasets.load_lsac_arff()

    return load


def arff(*rows, columns=lsac_arff.COLUMNS) -> str:
    head = "".join(f"@attribute {name} {{0, 1}}\n" for name in columns)
    return f"@relation made\n{head}@data\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def test_a_made_file_is_read_whatever_types_its_header_declares(made):
    data = made(arff(range(12), [*range(8), 0, 1, 6, 0]))
    column = dict(zip(data.feature_names, data.X.T.tolist(), strict=True))
    assert (column["race"], column["tier"], column["lsat"]) == ([9, 1], [10, 6], [2, 2])
    assert (data.groups.tolist(), data.y.tolist()) == ([8, 0], [11, 0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (arff(range(12), columns=lsac_arff.COLUMNS[::-1]), "the header names pass_bar"),
        (arff(range(11)), "rows have 11 cells"),
        (arff([*range(11), "?"]), "column pass_bar has"),
        (arff(), "cannot be read"),
        ("no table", "cannot be read"),
    ],
)
def test_a_file_that_is_not_right_says_what_is_needed(made, body, message):
    with pytest.raises(DataError, match=message):
        made(body)
