"""Pictures of the published tables: each number is in one; colour, mark and lightness each tell results apart."""

import itertools
import re

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import heat as ledger_heat
from compendium.ledger import table as ledger
from compendium.ledger.verdicts import Result

from ..sight import contrast


def test_every_published_cell_is_in_one_picture():
    cells = pd.read_csv(ledger.path(), dtype=str, keep_default_na=False)
    links = re.findall(r'href="#([^"]+)"', "".join(html for _, html in ledger_heat.sections(cells)))
    assert sorted(links) == sorted(cells["cell"].map(ledger_heat.anchor))


STYLE = (paths.root() / "book" / "_static" / "ledger.css").read_text(encoding="utf-8")


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
