"""The report and its figures: everything of the user's escaped, and the numbers of the tables in words and marks."""

import itertools
import re
import shlex
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
import typer

import evenspan
from evenspan.auditing import command, writing
from evenspan.auditing.page import blocks, evidence, figures
from evenspan.auditing.recommend import CONCERNS

from .tables import GROUPS, RACE, SCRIPT, audited, plain, report_of

VOID = {"meta", "img", "br", "link", "input", "hr"}


class _Page(HTMLParser):
    """Tags with their attributes, the text, and whether every tag was closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open, self.wrong = [], "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.text += data

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


@pytest.mark.parametrize("which", ["hostile", "plain"])
def test_the_page_is_well_formed_and_needs_nothing_else(which):
    text = report_of(which)
    page = _Page(text)
    assert (page.wrong, page.open, foreign(page, text)) == ([], [], [])
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(names)) == len(names)
    assert {a["href"][1:] for a in page.all("a")} <= set(names)
    assert {a["aria-labelledby"] for a in page.all("section")} <= set(names)
    assert page.all("a")[0] == {"class": "skip", "href": "#answer"}
    assert len(page.all("img")) >= 4
    assert all(len(one["alt"]) > 40 and one["src"].startswith("data:image/svg+xml;base64,") for one in page.all("img"))
    assert text.count("<table ") == text.count("<caption>") >= 8
    assert all(th.get("scope") in ("row", "col") for th in page.all("th"))
    assert all(td["data-name"] for td in page.all("td"))  # on a phone each cell says what it is
    bad = '<img src="https://a.example/x.png"><script>1</script><p onclick="x()"><style>@import "x.css";</style>'
    assert len(foreign(_Page(bad), bad)) == 4


def test_what_came_from_the_table_is_text():
    text = report_of("hostile")
    assert [tag for tag in (SCRIPT, "<i>", "<b>") if tag in text] == []
    shown = _Page(text).text
    assert [name for name in (SCRIPT, RACE, *GROUPS, "日本", "$x^2$ & co", "--> end") if name not in shown] == []


def test_numbers_of_the_page_are_those_of_the_tables():
    audit = audited("plain")
    view = evidence.View(audit, "team")
    text = _Page(report_of("plain")).text
    for concern, answer in audit.recommendation["team"].items():
        row = view.row(CONCERNS[concern].effect)
        cell = blocks.number(row["value"], row["low"], row["high"])
        assert f"{cell.text} {cell.interval}" in text
        assert f"{concern.capitalize()}: {answer.verdict}; {answer.advice}." in text
        assert (f"What {answer.method} costs" in text) == (answer.method not in ("", "PCA"))
    table = evidence.both_parts(view)
    assert [row[0].text for row in table.rows] == list(audit.methods)
    fair = next(row for row in table.rows if row[0].text == "Fair PCA")
    bounds = [view.row("mean distance", "Fair PCA", part)["bound"] for part in ("training", "held out")]
    assert [fair[5].text, fair[7].text] == [blocks.plain(bound) for bound in bounds]
    assert "Is 'y'" in evenspan.audit(plain(200).assign(y=1.0 * (np.arange(200) % 3)), sensitive="team", k=1, n_boot=20,
                                      methods=["Fair PCA"]).to_html().replace("&#39;", "'")  # fmt: skip


def test_the_lines_of_the_report_use_what_was_audited(tmp_path):
    audit, names = audited("plain"), {}
    audit.write(tmp_path / "report")
    text = _Page(report_of("plain")).text
    use = text[text.index("import evenspan") : text.index("LogisticRegression())") + 21]
    use = use.replace('pd.read_csv("new_rows.csv")', "table").replace(
        '"transformers', f'"{tmp_path}/report/transformers'
    )
    exec(use, {"table": plain()}, names)
    names["model"].fit(plain(), plain()["team"])  # groups are not asked for: the transformer stays as it was audited
    method = next(one.method for one in audit.recommendation["team"].values() if one.method not in ("", "PCA"))
    expected = audit.pipeline(method).transform(plain())
    np.testing.assert_allclose(np.asarray(names["components"]), np.asarray(expected), rtol=1e-12)


def test_the_command_of_the_report_is_read_by_the_command_line():
    settings = audited("plain").settings | {
        "table": "my table.csv", "sensitive": ["a b"], "exclude": ["-x"], "keep": ["nr"], "missing": "mean",
        "standardize": False,
    }  # fmt: skip
    words = shlex.split(writing.command(settings).replace("\\\n", " "))
    given = typer.main.get_command(command.app).commands["audit"].make_context("audit", words[2:]).params
    wanted = {
        "sensitive": ["a b"], "exclude": ["-x"], "keep": ["nr"], "methods": list(audited("plain").methods), "k": "1,2",
        "missing": "mean", "standardize": False, "n_boot": 60,
    }  # fmt: skip
    assert {name: given[name] for name in wanted} == wanted
    assert str(given["table"]) == "my table.csv"


def test_numbers_have_the_digits_that_their_interval_allows():
    cells = [blocks.number(*one) for one in ((0.123456, 0.1, 0.15), (1234.5, 1100, 1400), (1.7,), (np.nan,))]
    assert cells == [("0.123", "0.100 to 0.150"), ("1234", "1100 to 1400"), ("1.70", ""), ("–", "")]
    plain_numbers = " ".join(blocks.plain(x) for x in (0, 1234567.0, 0.01234, 12.345, -3.14159, 1.2e-7))
    assert plain_numbers == "0 1,234,567 0.0123 12.3 -3.14 1.2e-07"


@pytest.mark.parametrize("which", ["hostile", "plain"])
def test_figures_show_the_numbers_of_the_tables(which):
    audit = audited(which)
    kinds = [one.kind for one in audit.figures.values() if one.attribute == "team"]
    assert kinds == (["groups", "effects", "possible", "frontier"] if which == "plain" else [])
    for one in audit.figures.values():
        view = evidence.View(audit, one.attribute)
        spaces = rb'xmlns[:a-z]*="[^"]*"|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>'
        assert re.search(rb"<script|http", re.sub(spaces, b"", one.svg, flags=re.S)) is None
        if one.kind == "effects":
            marks = [line for line in one.figure.axes[0].lines if line.get_label() in audit.methods]
            for line in marks:
                assert line.get_xdata()[0] == view.row("scaled mean distance", line.get_label())["value"]
            assert len({line.get_marker() for line in marks}) == len(marks)


def test_names_and_very_many_groups_are_shown_as_they_are():
    assert figures._name("$a$") == r"\$a\$"
    assert figures._name("_a\nb\x00" + "c" * 60) == " _a b " + "c" * 18 + "…"
    assert figures._name("") == "(empty)"
    view = SimpleNamespace(labels=[f"g{i:03d}" for i in range(100)], row=lambda _, group: {"value": int(group[1:])})
    kept = figures._few(view)
    assert (len(kept), kept[0], kept[-1]) == (figures.MOST_GROUPS, "g000", "g099")
    line = np.array([[1.0, 2.0], [1.1, 1.9]])
    assert [figures._near(line, point) for point in ((1.2, 1.95), (9.0, 9.0), (-9.0, 1.9))] == [True, False, False]
