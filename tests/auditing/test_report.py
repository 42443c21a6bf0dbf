"""The report and its figures: everything of the user's escaped, and the numbers of the tables in words and marks."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from bs4 import BeautifulSoup

import evenspan
from evenspan.auditing.page import blocks, evidence, figures
from evenspan.auditing.recommend import CONCERNS

from .tables import GROUPS, RACE, SCRIPT, audited, plain, report_of


def foreign(text: str) -> list[str]:
    """Addresses that a browser would fetch, and scripts."""
    page = BeautifulSoup(text, "html.parser")
    found = [tag.name for tag in page.find_all(("script", "link", "iframe", "object", "embed", "base"))]
    for tag in page.find_all():
        found += [v for k, v in tag.attrs.items() if k in ("src", "srcset", "poster") and not v.startswith("data:")]
        found += [v for k, v in tag.attrs.items() if k == "href" and not v.startswith("#")]
        found += [k for k in tag.attrs if k.startswith("on")]
    return found + re.findall(r"url\([^)]*\)|@import[^;]*", text)


@pytest.mark.parametrize("which", ["hostile", "plain"])
def test_the_page_needs_nothing_else_and_what_came_from_the_table_is_text(which):
    text = report_of(which)
    page = BeautifulSoup(text, "html.parser")
    assert foreign(text) == []
    for one in audited(which).figures.values():
        assert not re.search(rb'<script|href="[^#]|url\([^#]', one.svg)
    names = [tag["id"] for tag in page.find_all(id=True)]
    assert len(set(names)) == len(names)
    assert {a["href"][1:] for a in page("a")} | {a["aria-labelledby"] for a in page("section")} <= set(names)
    assert all(len(one["alt"]) > 40 for one in page("img"))
    assert all(td["data-name"] for td in page("td"))  # on a phone each cell says what it is
    if which == "hostile":
        assert [tag for tag in (SCRIPT, "<i>", "<b>") if tag in text] == []
        shown = page.get_text()
        assert [name for name in (SCRIPT, RACE, *GROUPS, "日本", "$x^2$ & co", "--> end") if name not in shown] == []
    bad = '<img src="https://a.example/x.png"><script>1</script><p onclick="x()"><style>@import "x.css";</style>'
    assert len(foreign(bad)) == 4


def test_numbers_of_the_page_are_those_of_the_tables():
    audit = audited("plain")
    view = evidence.View(audit, "team")
    text = BeautifulSoup(report_of("plain"), "html.parser").get_text()
    for concern, answer in audit.recommendation["team"].items():
        row = view.row(CONCERNS[concern].effect)
        cell = blocks.number(row["value"], row["low"], row["high"])
        assert f"{cell.text} {cell.interval}" in text
        assert f"{concern.capitalize()}: {answer.verdict}; {answer.advice}." in text
        assert (f"What {answer.method} costs" in text) == (answer.method not in ("", "PCA"))
    table = evidence.both_parts(view)
    assert [row[0].text for row in table.rows] == list(audit.methods)
    fair = next(row for row in table.rows if row[0].text == "Fair PCA")
    lines = [view.row("mean distance", "Fair PCA", part) for part in ("training", "held out")]
    assert list(fair[3:]) == [blocks.number(line["value"], line["low"], line["high"]) for line in lines]
    assert "Is 'y'" in evenspan.audit(plain(200).assign(y=1.0 * (np.arange(200) % 3)), sensitive="team", k=1, n_boot=20,
                                      methods=["Fair PCA"]).to_html().replace("&#39;", "'")  # fmt: skip


def test_the_lines_of_the_report_use_what_was_audited(tmp_path):
    audit, names = audited("plain"), {}
    audit.write(tmp_path / "report")
    text = BeautifulSoup(report_of("plain"), "html.parser").get_text()
    use = text[text.index("import evenspan") : text.index("LogisticRegression())") + 21]
    use = use.replace('pd.read_csv("new_rows.csv")', "table").replace(
        '"transformers', f'"{tmp_path}/report/transformers'
    )
    exec(use, {"table": plain()}, names)
    names["model"].fit(plain(), plain()["team"])  # groups are not asked for: the transformer stays as it was audited
    method = next(one.method for one in audit.recommendation["team"].values() if one.method not in ("", "PCA"))
    expected = audit.pipeline(method).transform(plain())
    np.testing.assert_allclose(np.asarray(names["components"]), np.asarray(expected), rtol=1e-12)


def test_names_and_very_many_groups_are_shown_as_they_are():
    assert figures._name("$a$") == r"\$a\$"
    assert figures._name("_a\nb\x00" + "c" * 60) == " _a b " + "c" * 18 + "…"
    cells = [blocks.number(*one) for one in ((0.123456, 0.1, 0.15), (1234.5, 1100, 1400), (1.7,), (np.nan,))]
    assert cells == [("0.123", "0.100 to 0.150"), ("1234", "1100 to 1400"), ("1.70", ""), ("–", "")]
    view = SimpleNamespace(labels=[f"g{i:03d}" for i in range(100)], row=lambda _, group: {"value": int(group[1:])})
    kept = figures._few(view)
    assert (len(kept), kept[0], kept[-1]) == (figures.MOST_GROUPS, "g000", "g099")
