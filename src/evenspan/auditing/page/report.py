"""The report of an audit: one page that a reader without statistics can begin and one with it can check."""

import importlib.metadata
from typing import TYPE_CHECKING

from ...methods import METHODS
from .. import writing
from ..recommend import CONCERNS
from . import evidence
from .blocks import Code, Head, Items, Pairs, Section, Text, listed, page, picture, plain
from .evidence import SIDE_BY_SIDE, View, said
from .figures import FITTING, HELD_OUT
from .gallery import Drawn

if TYPE_CHECKING:
    from ..run import Audit

MEANING = {
    "error": "The error of a group is the mean squared distance between its rows and what k components keep of them, "
    "summed over the features: what is lost of the people in it.",
    "loss": "The loss of a group is its error less the error that the best k directions for this group alone would "
    "leave: what it pays for sharing directions with the others.",
    "offset": "The offset of a mean is the distance between the mean of the group and that of all rows after the "
    "projection: how far apart the groups lie in what is passed on.",
    "AUC": "A classifier predicts the group from the k components of a row. AUC is the share of pairs of rows, one "
    "inside and one outside the group, that it puts in the right order: 0.5 is guessing, 1 is certain.",
}


def render(audit: "Audit") -> str:
    """The report as one HTML page: no script, no address outside it; whatever came from the table is escaped."""
    views = [View(audit, attribute) for attribute in audit.sample.attributes]
    drawn = audit._drawn
    sections = [
        Section("answer", "The answer", _answer(audit, views), answer=True),
        Section("read", "What was read", _read(audit)),
        Section("groups", "The groups", _groups(audit)),
        Section("pca", "What standard PCA does to each group", _pca(audit, views, drawn)),
        Section("methods", "Every method, side by side", _methods(views, drawn)),
        Section("possible", "What is possible at all", _possible(audit, views, drawn)),
        Section("use", "The recommendation and how to use it", _use(audit, views)),
        Section("held-out", "On rows that no method saw", _held_out(views, drawn)),
        Section("limits", "What these numbers do not say", _limits(audit, views)),
        Section("made", "How this was made", _made(audit)),
    ]
    return page(audit.sample.name, _lead(audit), sections, importlib.metadata.version("evenspan"))


def sentences(audit: "Audit", attribute: str) -> list[str]:
    """The answer for one attribute in three sentences: what to use, the gap before and after, the price."""
    view, advice = View(audit, attribute), audit.recommendation[attribute]
    concern = CONCERNS[advice.concern]
    before, head = view.at(concern.gap), SIDE_BY_SIDE[concern.gap]
    if advice.keeps_pca:
        return [
            f"For {attribute}: keep standard PCA, with k = {advice.k} components.",
            f"Its {head} between the groups is {said(before)} on held-out rows.",
            advice.reason[1],
        ]
    after = view.at(concern.gap, advice.method)
    price = advice.figures["price"]
    more = "more" if price >= 0 else "less"
    return [
        f"For {attribute}: use {advice.method} with k = {advice.k} components.",
        f"The {head} between the groups goes from {said(before)} with PCA to {said(after)}, on held-out rows.",
        f"The price is {abs(price):.1%} {more} error of all rows together: "
        f"{plain(advice.figures['average after'])} instead of {plain(advice.figures['average before'])}.",
    ]


def _lead(audit: "Audit") -> str:
    sample = audit.sample
    return (
        f"{sample.n_used:,} rows, {sample.d:,} features after encoding, groups by {listed(sample.attributes)}. Asked: "
        f"{CONCERNS[audit.settings['concern']].words}."
    )


def _answer(audit: "Audit", views: list[View]) -> list:
    return [Text(" ".join(sentences(audit, view.attribute))) for view in views]


def _read(audit: "Audit") -> list:
    sample = audit.sample
    kept = "all of them used" if sample.n_used == sample.n_rows else f"{sample.n_used:,} of them used"
    unit = "standardised by the rows that methods are fitted to" if audit.settings["standardize"] else "in their units"
    blocks = [
        Text(
            f"{sample.n_rows:,} rows were read, {kept}. The {len(sample.columns):,} columns became {sample.d:,} "
            f"numeric features, {unit}. Sensitive columns are never features."
        )
    ]
    blocks += [Items(list(sample.notes))] if sample.notes else []
    told = "Association with a group goes from 0 (the column tells nothing of it) to 1 (the column tells it)."
    return [*blocks, *evidence.columns_read(sample.columns), Text(told, True)]


def _groups(audit: "Audit") -> list:
    sample, blocks = audit.sample, []
    for attribute in sample.attributes:
        blocks.append(evidence.groups(sample.groups, attribute))
        some = sample.groups[sample.groups["attribute"] == attribute]
        small = list(some.loc[some["small"].astype(bool), "group"])
        if small:
            blocks.append(Text(f"Small, so that its numbers are mostly noise: {listed(small)}."))
    share = audit.settings["holdout"]
    blocks.append(
        Text(
            f"{share:.0%} of the rows, of every group alike, are held out: no method saw them, all are judged on them."
        )
    )
    return blocks


def _pca(audit: "Audit", views: list[View], drawn: dict) -> list:
    blocks = [Items(list(MEANING.values()))]
    for view in views:
        blocks += _heading(views, view, "pca")
        blocks += _pictures(drawn[view.attribute], "pca-groups")
        blocks.append(evidence.under_pca(view, audit.sample.groups))
        blocks.append(evidence.spread_under_pca(view))
        blocks += _pictures(drawn[view.attribute], "pca-over-k")
    return blocks


def _methods(views: list[View], drawn: dict) -> list:
    blocks = [
        Text(
            "Each method gives up some of what PCA keeps in order to make something equal between groups, named in the "
            "second column. Below each number is its 95% interval."
        )
    ]
    family = {name: method.equalises for name, method in METHODS.items()}
    for view in views:
        blocks += _heading(views, view, "methods")
        blocks += _pictures(drawn[view.attribute], "methods")
        blocks += evidence.side_by_side(view, family)
        blocks += _pictures(drawn[view.attribute], "predictability")
        if len(view.sizes) > 1:
            blocks += _pictures(drawn[view.attribute], "methods-over-k")
            blocks.append(evidence.over_k(view))
    blocks.append(Text("Every number, for every k, part, group and method, is in tables/methods.csv.", True))
    return blocks


def _possible(audit: "Audit", views: list[View], drawn: dict) -> list:
    blocks = [
        Text(
            "No choice of k directions can do better than the certified bounds here, whatever method finds it. They "
            "are computed on the rows that methods are fitted to, for projections about the mean of all rows."
        )
    ]
    for view in views:
        blocks += _heading(views, view, "possible")
        names = [name for name in drawn[view.attribute] if name == "possible" or name.startswith("frontier-")]
        blocks += _pictures(drawn[view.attribute], *names)
        blocks.append(evidence.own_best(view))
        blocks.append(evidence.bounds(view))
    return blocks


def _use(audit: "Audit", views: list[View]) -> list:
    blocks = []
    for view in views:
        advice = audit.recommendation[view.attribute]
        blocks += _heading(views, view, "use")
        title = "Keep PCA" if advice.keeps_pca else f"Use {advice.method}"
        blocks.append(Text(f"{title} with k = {advice.k}, because:"))
        blocks.append(Items(list(advice.reason)))
        blocks.append(
            Text("The fitted transformer takes raw rows with the columns of this table; groups are not needed:")
        )
        blocks.append(Code(writing.use(writing.transformer_names(audit)[None, None, view.attribute])))
    other = audit.tables["recommendation"]
    other = other[~other["asked"].astype(bool)]
    if len(other):
        blocks.append(Text("The same rule for what was not asked for gives:"))
        found = []
        for _, line in other.iterrows():
            use = f"{line['method']} at {line['price']:+.1%} of the average error"
            answer = "keep PCA" if line["method"] == "PCA" else use
            found.append(f"{line['attribute']}, {CONCERNS[line['concern']].words}: {answer}.")
        blocks.append(Items(found))
    return blocks


def _held_out(views: list[View], drawn: dict) -> list:
    blocks = []
    for view in views:
        blocks += _heading(views, view, "held-out")
        blocks += _pictures(drawn[view.attribute], "held-out")
        head = SIDE_BY_SIDE.get(view.metric, view.metric)
        pair = {part: view.at(view.metric, view.best, part) for part in (FITTING, HELD_OUT)}
        blocks.append(
            Text(
                f"The {head} of {view.best} is {said(pair[FITTING])} on the rows it was fitted to and "
                f"{said(pair[HELD_OUT])} on held-out rows."
            )
        )
        metrics = {name: SIDE_BY_SIDE[name] for name in dict.fromkeys(["average error", view.metric])}
        blocks.append(evidence.both_parts(view, metrics))
        blocks.append(evidence.population(view))
    blocks.append(
        Text(
            "These bounds are about all people whom the rows were drawn from at random, and hold in 95 of 100 such "
            "tables, where no few rows carry much of a group's error. A distance of zero on the rows that a method was "
            "fitted to promises no more than its bound.",
            True,
        )
    )
    return blocks


def _limits(audit: "Audit", views: list[View]) -> list:
    blocks = [
        Text(
            "Equal numbers are no verdict about the people behind them. What should be equal, and what that is worth, "
            "is for those to decide who know what the data are used for and whom it touches."
        )
    ]
    for view in views:
        blocks += _heading(views, view, "limits")
        blocks.append(Items(list(audit.recommendation[view.attribute].limits)))
    return blocks


def _made(audit: "Audit") -> list:
    blocks = [Pairs(writing.described(audit))]
    if audit.settings["table"] != writing.FRAME:  # a data frame has no name that a command could be given
        blocks += [Head("Again, from the command line", "again-command"), Code(writing.command(audit.settings))]
    return [*blocks, Head("Again, from Python", "again-python"), Code(writing.call(audit.settings))]


def _heading(views: list[View], view: View, section: str) -> list:
    """A heading for each attribute where there are several."""
    return [Head(view.attribute, f"{section}-{views.index(view) + 1}")] if len(views) > 1 else []


def _pictures(drawn: dict[str, Drawn], *names: str) -> list:
    found = [drawn[name] for name in names if name in drawn]
    return [
        picture(one.svg, one.figure.get_size_inches(), title=one.title, alt=one.alt, caption=one.caption)
        for one in found
    ]
