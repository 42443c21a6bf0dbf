"""Published tables are unchanged copies: the counts that their README states hold."""

import re

import pandas as pd

from compendium import paths


def test_every_table_has_the_number_of_rows_that_the_readme_states():
    folder = paths.data("paper")
    stated = dict(re.findall(r"^\| (\S+\.csv) \| (\d+) \|", (folder / "README.md").read_text(), re.MULTILINE))
    assert set(stated) == {path.name for path in folder.glob("*.csv")}
    for name, rows in stated.items():
        assert len(pd.read_csv(folder / name, dtype=str)) == int(rows)
