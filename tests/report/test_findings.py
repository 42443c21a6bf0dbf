"""Findings: list, sections and evidence agree; a number that does not bear a statement out stops the page."""

import dataclasses
import html
import re

import numpy as np
import pandas as pd
import pytest

from compendium import paths, store
from compendium.ledger import contradictions, findings, findings_data, findings_theorems
from compendium.ledger.findings_evidence import Evidence, data_sets
from evenspan.core.errors import ResultError

BOOK = paths.root() / "book"
SECTION = re.compile(r"^\(finding-([a-z-]+)\)=\n###? (.+)$", re.MULTILINE)
#: Quick ones of each page, from examples, shipped moments, printed tables or stored results.
QUICK = [
    "equal-errors", "unreachable-equality", "convex-up-to-the-share", "no-kernel-for-newcomers", "sensitive-column",
    "one-group", "stated-shares", "fewer-directions", "joint-gain", "stops-short", "swaps",
    "chance-balance",
]  # fmt: skip


def test_every_finding_has_one_section_on_the_page_of_its_paper():
    for paper in findings.PAPERS:
        text = (BOOK / "papers" / paper / "findings.md").read_text(encoding="utf-8")
        listed = {one.key: one.title for one in findings.FINDINGS if one.paper == paper}
        assert dict(SECTION.findall(text)) == listed
        for part in re.split(r"^\(finding-(?=[a-z-]+\)=)", text, flags=re.MULTILINE)[1:]:
            assert re.findall(r'findings\.show\("([a-z-]+)"\)', part) == [part.partition(")=")[0]]


def test_the_overview_types_no_result():
    """Prose may name theorem numbers, but no decimal fraction and no share."""
    text = (BOOK / "findings" / "index.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.findall(r"\d+\.\d+|\d+ ?%", prose) == []


def test_every_paper_and_kind_of_evidence_has_findings():
    keys = [one.key for one in findings.FINDINGS]
    assert len(keys) == len(set(keys))
    assert {one.paper for one in findings.FINDINGS} == set(findings.PAPERS)
    assert {kind for one in findings.FINDINGS for kind in one.kinds} == set(findings.KINDS)
    markup = findings.overview().data
    for one in findings.FINDINGS:
        assert f'href="../{one.page}.html#finding-{one.key}"' in markup


@pytest.mark.parametrize("key", QUICK)
def test_evidence_bears_the_statement_out(key):
    found = findings.evidence(key)
    assert found is not None
    assert len(found.sentence) > 40
    markup = findings.show(key).data
    assert "finding-about" in markup
    assert ("<table" in markup) == (found.table is not None)
    said = findings.told(key, up="").data
    assert f'href="{findings.finding(key).page}.html#finding-{key}"' in said
    assert html.escape(found.sentence) in said


def test_numbers_against_a_finding_stop_the_page(monkeypatch):
    with pytest.raises(ResultError, match="no finding 'luck'"):
        findings.show("luck")
    against = dataclasses.replace(findings.finding("swaps"), check=lambda: Evidence(False, "No swap helps."))
    monkeypatch.setattr(findings, "finding", lambda key: against)
    with pytest.raises(ResultError, match=r"no longer bear out the finding .swaps.*No swap helps"):
        findings.show("swaps")


def test_missing_results_are_said(monkeypatch):
    monkeypatch.setattr(store, "read_results", lambda experiment: pd.DataFrame())
    for key in ("swaps", "stops-short", "flattened-weights", "joint-gain", "wiped-blocks"):
        assert findings.MISSING in findings.show(key).data


def test_equal_errors_could_be_ruled_out_by_the_data(monkeypatch):
    """Control: groups that differ by a semidefinite matrix of rank k + 1 agree with the printed criterion."""
    A = np.diag([4.0, 3.0, 2.0, 1.0, 0.5])
    pair = np.array([A + np.diag([1.0, 1.0, 1.0, 1.0, 0.0]), A])
    monkeypatch.setattr(findings_theorems, "data_sets", lambda: {"magic": data_sets()["magic"]})
    monkeypatch.setattr(findings_theorems, "matrices", lambda name: pair)
    gaps = findings_theorems.gaps()
    assert gaps.loc[0, "rank"] == findings_theorems.K + 1
    assert not gaps.loc[0, "exists"]
    assert gaps.loc[0, "low"] > 0
    assert not findings_theorems.equal_errors().supported


def test_swaps_that_move_the_shares_do_not_support_the_finding(monkeypatch):
    rows = findings_data.full("zhou2024-tradeoff")
    changed = rows.copy()
    at = (changed["protocol"] == "with swaps") & (changed["metric"] == "MNCE")
    changed.loc[at, "value"] -= 0.2
    monkeypatch.setattr(findings_data, "full", lambda experiment: changed)
    assert not findings_data.swaps().supported


def test_figures_show_every_line():
    advantages = pd.DataFrame(
        [("A", "one", 0.5, 0.4, 0.0), ("B", "two", 0.2, 0.3, 0.01)],
        columns=["data", "method", "printed", "with", "without"],
    )
    axes = findings_data.draw_advantages(advantages).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A: one", "B: two"]
    gaps = pd.DataFrame({"data": list("ab"), "exists": [True, False], "low": [-1.0, 1.0], "high": [2.0, 4.0]})
    axes = findings_theorems.draw_gaps(gaps).axes[0]
    marks = {line.get_label(): sorted(line.get_xdata()) for line in axes.lines if not line.get_label().startswith("_")}
    assert marks == {"zero is among them": [-0.5, 1.0], "zero is not attained": [0.25, 1.0]}


def test_errata_table_has_a_row_and_a_mark_for_each():
    frame = contradictions.described().assign(outcome=contradictions.PENDING, evidence="1 < 2")
    for place, outcome in enumerate(contradictions.MARKS):
        frame.loc[place, "outcome"] = outcome
    markup = contradictions.table(frame).data
    assert markup.count("<tr id=") == len(frame)
    assert "1 &lt; 2" in markup
    marks = set(re.findall(r"verdict-[a-z]+", markup))
    known = re.findall(r"\.(verdict-[a-z]+)::before", (paths.root() / "book/_static/evenspan.css").read_text())
    assert marks <= set(known)
    assert markup.index("data-choice=outcome") < markup.index("data-choice=paper") < markup.index("data-choice=kind")
    counted = contradictions.counted(frame).data
    assert f">{len(frame)}<" in counted


def test_columns_of_words_come_before_those_of_numbers():
    frame = pd.DataFrame({"a": ["x", "2"], "b": ["1 to 3", "2"], "c": ["+1.5%", "-3"], "d": [1.0, np.nan]})
    assert findings._classes(frame) == "result-table"
    assert findings._classes(frame[["a", "c"]]) == "result-table words-1"
    assert findings._classes(frame[["a", "b", "b", "c"]]) == "result-table words-3"
