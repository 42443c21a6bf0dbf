"""The public file of the LSAC table: the rows of ``lsac_bw``, the printed column, and files that are not right."""

import numpy as np
import pandas as pd
import pytest

from compendium import data as datasets
from compendium import paths
from compendium.data.dataset import Dataset


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
    file, found = datasets.load("lsac_arff"), datasets.load("lsac_bw")
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
    data, entry = datasets.load("lsac_arff"), datasets.entry("lsac_arff")
    head = datasets.fetch("lsac_arff")[0].read_text().partition("@data")[0]
    assert "@attribute tier {0, 1}" in head
    assert set(data.X[:, data.feature_names.index("tier")]) == {1, 2, 3, 4, 5, 6}
    assert "tier" in entry.preprocessing
