"""Pictures of the published tables: each number is in one; colour, mark and lightness each tell results apart."""

import itertools
import re

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import heat as ledger_heat
from compendium.ledger import table as ledger
from compendium.ledger.verdicts import Result

EMPTY = dict.fromkeys(
    ("ours", "reason", "split", "chance", "deviation_digits", "no_test", "by_procedure", "procedure"), ""
)
EMPTY |= {"paper": "one2020", "table": "Table 1", "dataset": "Wine", "method": "PCA", "metric": "loss", "k": "3"}
EMPTY |= {"printed_digits": "2", "published": "1.25", "verdict": "close"}


def made(**axes):
    """One row for every combination; results go round."""
    rows = [EMPTY | dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    frame = pd.DataFrame(rows).assign(cell=[f"t/{place:03d}" for place in range(1, len(rows) + 1)])
    return frame.assign(result=list(itertools.islice(itertools.cycle(one.value for one in Result), len(rows))))


TWO, THREE, METRICS = ["Wine", "Salt"], ["PCA", "FPCA", "SPCA"], ["loss", "gap"]


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"method": THREE, "metric": METRICS}, [("", "method", "metric")]),
        ({"k": ["1", "2"], "metric": METRICS}, [("", "metric", "k")]),
        ({"dataset": TWO, "method": THREE}, [("loss", "dataset", "method")]),
        ({"method": THREE, "k": ["1", "2"], "metric": METRICS}, [("loss", "method", "k"), ("gap", "method", "k")]),
        (
            {"dataset": TWO, "method": THREE, "k": ["2", "10"]},
            [("loss, k 2", "dataset", "method"), ("loss, k 10", "dataset", "method")],
        ),
    ],
)
def test_what_varies_becomes_rows_columns_and_further_pictures(axes, expected):
    cells = made(**axes)
    found = list(ledger_heat.grids(cells))
    assert [grid[:3] for grid in found] == expected
    assert sorted(cell for *_, some in found for cell in some["cell"]) == cells["cell"].tolist()


def test_a_field_says_what_stands_there_and_leads_to_its_row():
    cells = made(dataset=TWO, method=THREE)
    cells.loc[4, ["ours", "reason", "chance", "deviation_digits"]] = ["1.5", 'a "reason"', "0.3333", "25"]
    ((paper, html),) = ledger_heat.sections(cells.drop(index=5))
    assert paper == "one2020"
    assert re.findall(r"<th>(.*?)</th>", html) == ["Data set", *(f"<span>{name}</span>" for name in THREE), *TWO]
    result = Result(cells.loc[4, "result"])
    assert (
        f'<td><a class="heat heat-{result.name.lower()}" href="#t-005" title="Salt, FPCA, loss, k = 3: {result.value}; '
        'published 1.25; ours 1.500; close; a &quot;reason&quot;"></a></td>'
    ) in html
    assert html.count("<a ") == 5
    assert html.count("<td></td>") == 1, "what the table does not print is an empty field"


@pytest.mark.parametrize(
    ("published", "ours", "said"),
    [
        ("1.25", "1.26", "+0.80\u00a0%"),
        ("1.25", "-5", "-500\u00a0%"),
        ("1.25", "1.2501", "+0.01\u00a0%"),
        ("0.00", "0.3", ""),
        ("1.25", "", ""),
    ],
)
def test_a_mark_has_the_deviation_in_per_cent(published, ours, said):
    judged = {"result": "as described", "published": published, "ours": ours, "deviation_digits": "1" if ours else ""}
    shown = ledger_heat.mark(EMPTY | {"cell": "t/001"} | judged)
    assert shown.partition("</span>")[2] == (f' <span class="off">{said}</span>' if said else "")


def test_every_published_cell_is_in_one_picture():
    cells = pd.read_csv(ledger.path(), dtype=str, keep_default_na=False)
    links = re.findall(r'href="#([^"]+)"', "".join(html for _, html in ledger_heat.sections(cells)))
    assert sorted(links) == sorted(cells["cell"].map(ledger_heat.anchor))


STYLE = (paths.root() / "book" / "_static" / "ledger.css").read_text(encoding="utf-8")


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dim, bright = sorted([luminance(one), luminance(other)])
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_results_can_be_told_apart_without_colour(theme):
    block = re.search(rf'html\[data-theme="{theme}"\] \{{(.*?)\}}', STYLE, re.DOTALL).group(1)
    colours = dict(re.findall(r"--heat-([\w-]+): (#[0-9a-f]{6});", block))
    for name in ("described", "other", "not", "none"):
        assert contrast(colours[name], colours[f"{name}-mark"]) >= 4.5, name
    for less, more in itertools.pairwise(["described", "other", "not"]):
        assert contrast(colours[less], colours[more]) >= 1.25, f"{less} and {more} look alike in grey"
        assert contrast(colours["none"], colours[more]) > contrast(colours["none"], colours[less])


def test_every_result_has_a_mark_of_its_own():
    shapes = dict(re.findall(r'\.heat-(\w+) \{[^}]*--shape: "(.)";', STYLE))
    assert set(shapes) == {one.name.lower() for one in Result}
    assert len(set(shapes.values())) == len(shapes)
