"""The figures of an audit: every one is drawn, its words match its numbers, and names are shown as they are."""

import re

import numpy as np
import pytest
from matplotlib.text import Text

import evenspan
from evenspan.auditing.page import figures, gallery
from evenspan.auditing.page.blocks import svg
from evenspan.auditing.page.gallery import View, slug
from evenspan.reconstruction import JointRange

from .tables import GROUPS, RACE, audited, plain


@pytest.fixture(scope="module", params=["hostile", "plain"])
def drawn(request):
    return gallery.gallery(audited(request.param))


def words(fig) -> list[str]:
    return [text.get_text() for text in fig.findobj(Text)]


def test_every_question_has_a_figure(drawn):
    names = {name.partition("-")[2] for name in gallery.gallery(audited("plain"))}
    assert names >= {"pca-groups", "pca-over-k", "methods", "methods-over-k", "predictability", "possible", "held-out"}
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in drawn)
    assert all(len(one.alt) > 60 and len(one.caption) > 60 for one in drawn.values())


@pytest.mark.parametrize("which", ["hostile", "plain"])
def test_figures_are_the_same_bytes_on_every_run_and_hold_no_script(which):
    once, again = (gallery.gallery(audited(which)) for _ in range(2))
    for name, one in once.items():
        first = svg(one.figure)
        assert first == svg(again[name].figure)
        assert b"<script" not in first
        assert b"http" not in re.sub(
            rb'xmlns[:a-z]*="[^"]*"|<!DOCTYPE[^>]*>|<metadata>.*?</metadata>', b"", first, flags=re.S
        )


def test_names_of_groups_are_shown_as_they_are():
    audit = audited("hostile")
    found = gallery.of_attribute(View.of(audit, RACE))
    legend = found["pca-over-k"].figure.legends[0]
    assert [text.get_text().strip() for text in legend.get_texts()] == [figures.shown(name) for name in order(audit)]
    assert all(figures.shown(name) in words(found["pca-groups"].figure) for name in GROUPS)
    assert figures.shown("$a$") == r"\$a\$"
    assert figures.shown("a\nb\x00" + "c" * 60) == "a b " + "c" * (figures.LETTERS - 5) + "…"
    assert figures.shown("") == "(empty)"


def order(audit):
    view = View.of(audit, RACE)
    rows = view.rows[(view.rows["method"] == "PCA") & (view.rows["metric"] == "error") & (view.rows["k"] == view.k)]
    return list(rows[rows["part"] == "held out"].sort_values("value", kind="stable")["group"])


def test_letters_that_the_font_does_not_have_stay_text():
    fig, panel = figures._figure()
    panel.set_title("plain")
    assert b">plain<" not in svg(fig)
    panel.set_title("日本")
    assert "日本".encode() in svg(fig)


def test_an_audit_of_such_groups_is_written_without_a_warning(tmp_path):
    table = plain(300)
    table["team"] = table["team"].map({"red": "日本", "blue": "_x $y$"})
    found = evenspan.audit(table, sensitive="team", k=[2], methods=["Fair PCA"], n_boot=30)
    found.write(tmp_path / "report")
    drawn = (tmp_path / "report" / "figures" / "team-pca-groups.svg").read_text(encoding="utf-8")
    assert "日本" in drawn
    assert "_x $y$" in drawn


def test_the_marks_are_where_the_numbers_are():
    audit = audited("plain")
    view = View.of(audit, "team")
    panel = gallery.of_attribute(view)["methods"].figure.axes[0]
    marks = {line.get_label(): line for line in panel.lines if line.get_linestyle() == "None"}
    for name in audit.methods:
        point = [float(view.at(metric, name)["value"]) for metric in (view.metric, "average error")]
        np.testing.assert_allclose([marks[name].get_xdata()[0], marks[name].get_ydata()[0]], point)
    looks = {(line.get_marker(), line.get_color()) for line in (marks[name] for name in audit.methods)}
    assert len({marker for marker, _ in looks}) == len(audit.methods)


def test_no_projection_lies_below_the_edge():
    audit = audited("plain")
    moments = audit.sample.moments("team")
    joint = JointRange.from_moments(moments, 2)
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


def test_the_frame_leaves_out_what_is_far_away():
    line = np.array([[1.0, 2.0], [1.1, 1.9]])
    points = {"near": (1.2, 1.95), "far": (9.0, 9.0)}
    assert list(figures.inside(line, points)) == ["near"]
    assert "far" in gallery._outside(line, points, "the frame")
    assert gallery._outside(line, {"near": (1.2, 1.95)}, "the frame") == ""


def test_of_very_many_groups_both_ends_are_drawn():
    import pandas as pd

    values = pd.DataFrame({"group": [f"g{i:03d}" for i in range(100)], "value": np.arange(100.0)})
    kept = figures.few_groups(values)
    assert len(kept) == figures.MOST_GROUPS
    assert kept[0] == "g000"
    assert kept[-1] == "g099"


def test_file_names_are_plain_and_never_the_same():
    taken: set[str] = set()
    assert [slug(name, taken) for name in ("../../Sex", "sex", "日本", "日本")] == [
        "sex",
        "sex-2",
        "attribute",
        "attribute-2",
    ]
