"""The report: one page, everything of the user's escaped, headings in order, and the numbers of the tables in it."""

import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from evenspan.auditing import writing as rerun
from evenspan.auditing.page import blocks, report

from .tables import GROUPS, RACE, SCRIPT, audited

VOID = {"meta", "img", "br", "link", "input", "hr"}


class _Page(HTMLParser):
    """Tags with their attributes, the text by tag, and whether every tag was closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open, self.wrong = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def foreign(page: _Page, text: str) -> list[str]:
    """Addresses that a browser would fetch, and scripts."""
    found = [tag for tag, _ in page.tags if tag in ("script", "link", "iframe", "object", "embed", "base")]
    for _, attributes in page.tags:
        found += [v for k, v in attributes.items() if k in ("src", "srcset", "poster") and not v.startswith("data:")]
        found += [v for k, v in attributes.items() if k == "href" and not v.startswith("#")]
        found += [k for k in attributes if k.startswith("on")]
    return found + re.findall(r"url\([^)]*\)|@import[^;]*", text)


@pytest.fixture(scope="module", params=["hostile", "plain"])
def audit(request):
    return audited(request.param)


@pytest.fixture(scope="module")
def text(audit):
    return audit.to_html()


@pytest.fixture(scope="module")
def page(text):
    return _Page(text)


def test_the_page_is_well_formed_and_needs_nothing_else(page, text):
    assert page.wrong == []
    assert page.open == []
    assert foreign(page, text) == []


def test_the_check_of_addresses_finds_them():
    bad = '<img src="https://a.example/x.png"><script>1</script><p onclick="x()"><style>@import "x.css";</style>'
    assert len(foreign(_Page(bad), bad)) == 4


def test_what_came_from_the_table_is_text():
    audit = audited("hostile")
    text = audit.to_html()
    page = _Page(text)
    assert SCRIPT not in text
    assert "<i>" not in text
    assert "<b>" not in text
    shown = "".join(data for _, data in page.text)
    for name in (SCRIPT, RACE, *GROUPS, "日本", "$x^2$ & co", "--> end"):
        assert name in shown


def test_headings_are_in_order_and_every_target_exists(page):
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(names)) == len(names)
    assert {a["href"][1:] for a in page.all("a")} <= set(names)
    assert {a["aria-labelledby"] for a in page.all("section")} <= set(names)
    assert page.all("a")[0] == {"class": "skip", "href": "#answer"}


def test_pictures_have_words_and_tables_captions(page, text):
    pictures = page.all("img")
    assert len(pictures) >= 6
    assert all(len(one["alt"]) > 40 and one["src"].startswith("data:image/svg+xml;base64,") for one in pictures)
    tables = text.count("<table>")
    assert tables == text.count("<caption>") >= 8
    assert all(th.get("scope") in ("row", "col") for th in page.all("th"))


def test_the_answer_is_three_sentences_with_the_recommendation(audit):
    for attribute, advice in audit.recommendation.items():
        first, second, third = report.sentences(audit, attribute)
        assert first.startswith(f"For {attribute}: ")
        assert (f"use {advice.method} with k = {advice.k}" in first) != ("keep standard PCA" in first)
        assert " to " in second  # an interval
        assert third


def test_something_is_recommended_and_its_gain_is_told():
    audit = audited("plain")
    first, second, third = report.sentences(audit, "team")
    assert "use Min-max loss" in first
    rows = audit.tables["methods"]
    for method in ("PCA", "Min-max loss"):
        row = rows[
            (rows["method"] == method) & (rows["metric"] == "loss gap") & (rows["part"] == "held out")
            & (rows["k"] == audit.recommendation["team"].k)
        ].iloc[0]  # fmt: skip
        assert blocks.number(row["value"], row["low"], row["high"]).text in second
    assert f"{abs(audit.recommendation['team'].figures['price']):.1%}" in third


def test_the_same_audit_gives_the_same_page():
    audit = audited("plain")
    assert audit.to_html() == audit.to_html()


def test_the_lines_of_the_report_make_the_audit_again(tmp_path):
    audit = audited("plain")
    names: dict = {}
    from .tables import plain

    code = rerun.call(audit.settings).replace("result.write('report')", "")
    exec(code, {"table": plain()}, names)
    left, right = (a.tables["methods"] for a in (audit, names["result"]))
    timed = left["metric"] == "seconds"
    assert left[~timed].equals(right[~timed])
    audit.write(tmp_path / "report")
    use = rerun.use("team").replace("pd.read_csv('new_rows.csv')", "table")
    use = use.replace("'transformers", f"'{tmp_path}/report/transformers")
    exec(use, {"table": plain()}, names)
    assert names["components"].shape == (len(plain()), audit.recommendation["team"].k)
    names["model"].fit(plain(), plain()["team"])  # groups are not asked for: the transformer stays as it was audited
    expected = audit.pipeline(attribute="team").transform(plain())
    np.testing.assert_allclose(np.asarray(names["components"]), np.asarray(expected), rtol=1e-12)


def test_the_command_of_the_report_is_read_by_the_command_line():
    import shlex

    import typer

    from evenspan import cli

    settings = audited("plain").settings | {
        "table": "my table.csv", "sensitive": ["a b"], "exclude": ["-x"], "keep": ["nr"], "missing": "mean",
        "standardize": False,
    }  # fmt: skip
    words = shlex.split(rerun.command(settings).replace("\\\n", " "))
    group = typer.main.get_command(cli.app)
    command = group.commands["audit"]
    given = command.make_context("audit", words[2:]).params
    assert str(given["table"]) == "my table.csv"
    assert given["sensitive"] == ["a b"]
    assert (given["exclude"], given["keep"]) == (["-x"], ["nr"])
    assert given["methods"] == list(audited("plain").methods)
    assert given["k"] == "1..2"
    assert given["missing"] == "mean"
    assert given["no_standardize"] is True
    assert given["bootstrap"] == 60


@pytest.mark.parametrize(
    ("value", "low", "high", "shown", "interval"),
    [
        (0.123456, 0.1, 0.15, "0.123", "0.100 to 0.150"),
        (1234.5, 1100, 1400, "1234", "1100 to 1400"),
        (0.5, 0.5, 0.5, "0.500", "0.500 to 0.500"),
        (1.7, np.nan, np.nan, "1.70", ""),
        (np.nan, np.nan, np.nan, "–", ""),
        (0.0, 0.0, 0.0, "0.000", "0.000 to 0.000"),
    ],
)
def test_numbers_have_the_digits_that_their_interval_allows(value, low, high, shown, interval):
    cell = blocks.number(value, low, high)
    assert (cell.text, cell.interval) == (shown, interval)


def test_plain_numbers_have_three_digits():
    assert [blocks.plain(x) for x in (0, 1234567.0, 0.01234, 12.345, -3.14159, 1.2e-7)] == [
        "0", "1,234,567", "0.0123", "12.3", "-3.14", "1.2e-07",
    ]  # fmt: skip
