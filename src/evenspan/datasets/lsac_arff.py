"""LSAC, law_dataset.arff: the public file that holds the rows of ``lsac_bw``, in another order.

``lsac_bw`` is put together from two files, as the search for the table of Rathore and Manwani (2025) had found it. This
file was found later and confirms it. Results that draw parts at random are stored for the rows in the order of
``lsac_bw``, which therefore stays what it is. No experiment reads this file, so it is not among the tables of ``load``,
which every digest of code behind numbers contains.
"""

import io
import re

import numpy as np
import pandas as pd

from ..errors import DataError
from .dataset import Dataset
from .fetch import fetch_file
from .jevd_tables import AGAIN, CLEAN_COLUMNS, numeric, parsed
from .registry import Entry, entry

NAME = "lsac_arff"
#: Columns in the order of the file: race has another name and place than in ``CLEAN_COLUMNS``.
COLUMNS = (*CLEAN_COLUMNS[:-3], "racetxt", "tier", "pass_bar")


def load_lsac_arff() -> Dataset:
    """law_dataset.arff with the columns of ``lsac_bw``: race 1 = white, 0 = black; y = bar passed first time.

    Returns
    -------
    Dataset
        With ``part="all"``; rows in the order of the file, groups by the column ``male``.
    """
    found = entry(NAME)
    table = read_arff(found).rename(columns={"racetxt": "race"})[list(CLEAN_COLUMNS)]
    X = np.ascontiguousarray(table.to_numpy(float))
    return Dataset(NAME, X, table["pass_bar"].to_numpy(), table["male"].to_numpy(int), CLEAN_COLUMNS)


def read_arff(found: Entry) -> pd.DataFrame:
    """The lines after ``@data`` as numbers, under the names of the header.

    Types of the header are not looked at: it declares ``tier`` as one of 0 and 1, and the rows have 1 to 6.
    """
    path = fetch_file(found, found.files[0].name)
    head, _, body = path.read_text(encoding="utf-8", errors="replace").partition("@data\n")
    names = tuple(re.findall(r"^@attribute (\S+)", head, re.MULTILINE))
    table = parsed(found, path.name, lambda: pd.read_csv(io.StringIO(body), header=None))
    if names != COLUMNS or table.shape[1] != len(COLUMNS):
        raise DataError(
            f"{found.name}: the header names {', '.join(names) or 'nothing'}, and the rows have {table.shape[1]} "
            f"cells; needed are {', '.join(COLUMNS)}. {AGAIN}"
        )
    return numeric(found, table.set_axis(list(COLUMNS), axis=1))
