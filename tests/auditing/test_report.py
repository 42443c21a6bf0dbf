"""The report and its figures: everything of the user's escaped, and the numbers of the tables in words and marks."""

import itertools
import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import typer
from matplotlib.text import Text

import evenspan
from evenspan import cli
from evenspan.auditing import writing
from evenspan.auditing.page import blocks, evidence, figures, gallery, report
from evenspan.reconstruction import JointRange

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
    assert len(page.all("img")) >= 6
    assert all(len(one["alt"]) > 40 and one["src"].startswith("data:image/svg+xml;base64,") for one in page.all("img"))
    assert text.count("<table>") == text.count("<caption>") >= 8
    assert all(th.get("scope") in ("row", "col") for th in page.all("th"))
    bad = '<img src="https://a.example/x.png"><script>1</script><p onclick="x()"><style>@import "x.css";</style>'
    assert len(foreign(_Page(bad), bad)) == 4


def test_what_came_from_the_table_is_text():
    text = report_of("hostile")
    assert [tag for tag in (SCRIPT, "<i>", "<b>") if tag in text] == []
    shown = _Page(text).text
    assert [name for name in (SCRIPT, RACE, *GROUPS, "日本", "$x^2$ & co", "--> end") if name not in shown] == []


def test_the_answer_is_three_sentences_with_the_recommendation():
    for audit in (audited("hostile"), audited("plain")):
        for attribute, advice in audit.recommendation.items():
            first, second, third = report.sentences(audit, attribute)
            assert first.startswith(f"For {attribute}: ")
            assert (f"use {advice.method} with k = {advice.k}" in first) != ("keep standard PCA" in first)
            assert " to " in second  # an interval
            assert third
    assert "use Min-max loss" in first
    view = gallery.View(audit, "team")
    for method in ("PCA", "Min-max loss"):
        row = view.at("loss gap", method)
        assert blocks.number(row["value"], row["low"], row["high"]).text in second
    assert f"{abs(audit.recommendation['team'].figures['price']):.1%}" in third


def test_every_method_has_its_bounds_in_the_population():
    audit = audited("plain")
    view = gallery.View(audit, "team")
    table = evidence.population(view)
    assert [row.cells[0].text for row in table.rows] == list(audit.methods)
    fair = next(row for row in table.rows if row.cells[0].text == "Fair PCA")
    at_most = [view.at("mean distance", "Fair PCA", part)["bound"] for part in ("fitting", "held out")]
    assert fair.cells[1].text == blocks.number(view.at("mean distance", "Fair PCA", "fitting")["value"]).text
    assert [fair.cells[2].text, fair.cells[4].text] == [blocks.number(bound).text for bound in at_most]
    assert table.caption in report_of("plain")


def test_the_lines_of_the_report_make_the_audit_again(tmp_path):
    audit, names = audited("plain"), {}
    exec(writing.call(audit.settings).replace("result.write('report')", ""), {"table": plain()}, names)
    left, right = (a.tables["methods"] for a in (audit, names["result"]))
    timed = left["metric"] == "seconds"
    assert left[~timed].equals(right[~timed])
    audit.write(tmp_path / "report")
    use = writing.use("team").replace("pd.read_csv('new_rows.csv')", "table")
    exec(use.replace("'transformers", f"'{tmp_path}/report/transformers"), {"table": plain()}, names)
    names["model"].fit(plain(), plain()["team"])  # groups are not asked for: the transformer stays as it was audited
    expected = audit.pipeline(attribute="team").transform(plain())
    np.testing.assert_allclose(np.asarray(names["components"]), np.asarray(expected), rtol=1e-12)


def test_the_command_of_the_report_is_read_by_the_command_line():
    settings = audited("plain").settings | {
        "table": "my table.csv", "sensitive": ["a b"], "exclude": ["-x"], "keep": ["nr"], "missing": "mean",
        "standardize": False,
    }  # fmt: skip
    words = shlex.split(writing.command(settings).replace("\\\n", " "))
    given = typer.main.get_command(cli.app).commands["audit"].make_context("audit", words[2:]).params
    wanted = {
        "sensitive": ["a b"], "exclude": ["-x"], "keep": ["nr"], "methods": list(audited("plain").methods), "k": "1..2",
        "missing": "mean", "no_standardize": True, "bootstrap": 60,
    }  # fmt: skip
    assert {name: given[name] for name in wanted} == wanted
    assert str(given["table"]) == "my table.csv"


def test_numbers_have_the_digits_that_their_interval_allows():
    nan = np.nan
    for value, low, high, shown, interval in (
        (0.123456, 0.1, 0.15, "0.123", "0.100 to 0.150"),
        (1234.5, 1100, 1400, "1234", "1100 to 1400"),
        (0.5, 0.5, 0.5, "0.500", "0.500 to 0.500"),
        (1.7, nan, nan, "1.70", ""),
        (nan, nan, nan, "–", ""),
        (0.0, 0.0, 0.0, "0.000", "0.000 to 0.000"),
    ):
        cell = blocks.number(value, low, high)
        assert (cell.text, cell.interval) == (shown, interval)
    plain_numbers = " ".join(blocks.plain(x) for x in (0, 1234567.0, 0.01234, 12.345, -3.14159, 1.2e-7))
    assert plain_numbers == "0 1,234,567 0.0123 12.3 -3.14 1.2e-07"


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["hostile", pytest.param("plain", marks=pytest.mark.exhaustive)])
def test_figures_are_the_same_bytes_on_every_run_and_hold_no_script(which):
    once, again = gallery.named(audited(which)._drawn), gallery.gallery(audited(which))
    for name, one in once.items():
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert min(len(one.alt), len(one.caption)) > 60
        first = audited(which).drawings[name]
        assert first == blocks.svg(again[name].figure)
        spaces = rb'xmlns[:a-z]*="[^"]*"|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>'
        assert re.search(rb"<script|http", re.sub(spaces, b"", first, flags=re.S)) is None
    wanted = {"pca-groups", "pca-over-k", "methods", "methods-over-k", "predictability", "possible", "held-out"}
    assert wanted <= {name.partition("-")[2] for name in audited("plain").drawings}


def test_names_of_groups_are_shown_as_they_are(tmp_path):
    view = gallery.View(audited("hostile"), RACE)
    found = gallery.of_attribute(view)
    order = figures.chosen(view.rows, method="PCA", metric="error", k=view.k, part="held out").sort_values("value")
    legend = found["pca-over-k"].figure.legends[0]
    assert [text.get_text().strip() for text in legend.get_texts()] == [figures.shown(name) for name in order["group"]]
    words = [text.get_text() for text in found["pca-groups"].figure.findobj(Text)]
    assert [name for name in GROUPS if figures.shown(name) not in words] == []
    assert figures.shown("$a$") == r"\$a\$"
    assert figures.shown("a\nb\x00" + "c" * 60) == "a b " + "c" * (figures.LETTERS - 5) + "…"
    assert figures.shown("") == "(empty)"
    # Letters that the font does not have stay text, without a warning.
    table = plain(300)
    table["team"] = table["team"].map({"red": "日本", "blue": "_x $y$"})
    audit = evenspan.audit(table, sensitive="team", k=[2], methods=["Fair PCA"], n_boot=30)
    audit.write(tmp_path / "report")
    drawn = (tmp_path / "report" / "figures" / "team-pca-groups.svg").read_text(encoding="utf-8")
    assert "日本" in drawn
    assert "_x $y$" in drawn
    # Who asks for figures may change them; they are written as they are then.
    changed = audit.figures.pop("team-pca-groups")
    audit.figures.clear()
    audit.figures["mine"] = changed
    changed.suptitle("my own title")
    audit.write(tmp_path / "own")
    (mine,) = (tmp_path / "own" / "figures").iterdir()
    assert "my own title" in mine.read_text(encoding="utf-8")


def test_the_marks_are_where_the_numbers_are():
    audit = audited("plain")
    view = gallery.View(audit, "team")
    panel = gallery.of_attribute(view)["methods"].figure.axes[0]
    marks = {line.get_label(): line for line in panel.lines if line.get_linestyle() == "None"}
    for name in audit.methods:
        point = [float(view.at(metric, name)["value"]) for metric in (view.metric, "average error")]
        np.testing.assert_allclose([marks[name].get_xdata()[0], marks[name].get_ydata()[0]], point)
    assert len({marks[name].get_marker() for name in audit.methods}) == len(audit.methods)


def test_no_projection_lies_below_the_edge():
    joint = JointRange.from_moments(audited("plain").sample.moments("team"), 2)
    edge = gallery.lower_edge(joint.boundary(90))
    rng = np.random.default_rng(0)
    pairs = np.array([joint.pair(np.linalg.qr(rng.normal(size=(4, 2)))[0]) for _ in range(200)])
    own = [joint.support(0.0).value, joint.support(np.pi / 2).value]
    np.testing.assert_allclose([edge[0, 0], edge[-1, 1]], own, rtol=1e-3)
    assert (np.diff(edge[:, 0]) >= 0).all()
    assert (np.diff(edge[:, 1]) <= 0).all()
    below = np.interp(pairs[:, 0], edge[:, 0], edge[:, 1])
    # A chord lies above the curve by little; a wrong edge would be far above many pairs.
    assert (pairs[:, 1] >= below - 0.01 * np.ptp(edge[:, 1])).all()


def test_what_is_far_away_and_very_many_groups_are_left_out():
    line, points = np.array([[1.0, 2.0], [1.1, 1.9]]), {"near": (1.2, 1.95), "far": (9.0, 9.0), "low": (-9.0, 1.9)}
    assert list(figures.inside(line, points)) == ["near"]
    assert "far" in gallery._outside(line, points, "the frame")
    assert gallery._outside(line, {"near": (1.2, 1.95)}, "the frame") == ""
    kept = figures.few_groups(pd.DataFrame({"group": [f"g{i:03d}" for i in range(100)], "value": np.arange(100.0)}))
    assert (len(kept), kept[0], kept[-1]) == (figures.MOST_GROUPS, "g000", "g099")
    taken: set[str] = set()
    names = [gallery.slug(name, taken) for name in ("../../Sex", "sex", "日本", "日本")]
    assert names == ["sex", "sex-2", "attribute", "attribute-2"]
