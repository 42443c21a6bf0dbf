"""What the page of the search shows: tables and sentences, all computed from its rows and from the published table."""

import pandas as pd

from . import zhou2024_search as protocol
from . import zhou2024_search_credit as credit
from . import zhou2024_search_k1b as k1b
from .zhou2024_search_arithmetic import consistency, implied, out_of_order, shares_allowed

#: Shares of groups whose consistency with the table is shown for Credit Card: rows of the search -> what they are.
PARTS = {"share in all rows": "sex, all rows", "share in first 1000 of each class": "sex, first 1000 of each class"}
DIGITS = 3


def arithmetic(dataset: str, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the printed table alone says, by caption."""
    found = {
        "The entropy of the groups, and their smaller share, that each column states if it is one run": implied(dataset)
    }
    if len(pairs := out_of_order(dataset)):
        found["Pairs of methods that Bal and MNCE put in different orders: two groups and one run allow none"] = pairs
    for said, share in known_shares(dataset, rows).items():
        found[f"Which columns a share of {share:.4f} can give ({said})"] = consistency(dataset, share)
    return {caption: _shown(frame) for caption, frame in found.items()}


def known_shares(dataset: str, rows: pd.DataFrame) -> dict[str, float]:
    """Smaller shares of groups that are compared with the table: those of the search, or equal halves."""
    if dataset == k1b.DATASET:
        return {"equal halves": 0.5}
    table = protocol.shares(rows)
    if table.empty:
        return {}
    sex = table.set_index("groups by").loc["sex"]
    return {said: min(sex[column], 1.0 - sex[column]) for column, said in PARTS.items()}


def results(dataset: str, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the full run found, by caption; nothing without it."""
    if protocol.fine(rows).empty and protocol.groupings(rows).empty:
        return {}
    if dataset == credit.DATASET:
        found = {
            "The best candidates after the fine search": protocol.fine(rows),
            "The choice beside the printed numbers; the last two methods had no part in the search": protocol.beside(
                rows
            ),
            "The best candidate of each label and group in the coarse search": protocol.by_label(rows),
            "Share of one group, by what may be the groups": protocol.shares(rows),
        }
    else:
        found = {
            "Candidates for the groups: Bal and MNCE are means over ten seeds": protocol.groupings(rows),
            "Bal of random halves by the sizes of the clusters: the central 95 of 100, and the mean": protocol.halves(
                rows
            ),
            "The printed Bal beside random halves of the method's own clusters": protocol.own_place(rows),
            "Share of random halves with a smaller Bal than printed, by the sizes of the clusters": protocol.places(
                rows
            ),
            "FKKM where the groups are random halves": protocol.fair_on_halves(rows),
            "Methods that see no groups, on our terms and weights": protocol.blind(rows),
        }
    return {caption: _shown(frame) for caption, frame in found.items() if len(frame)}


def sentences(dataset: str, rows: pd.DataFrame) -> list[str]:
    """The findings in words, each from its numbers."""
    low, high = shares_allowed(dataset)
    found = [
        f"If all columns are means over runs with the same two groups, the smaller group has a share of {low:.4f} to "
        f"{high:.4f}."
    ]
    if dataset == credit.DATASET and not protocol.fine(rows).empty:
        counts, verdict = protocol.counts(rows), protocol.verdict(rows)
        found.append(
            f"{counts['candidates']:,.0f} candidates were tried, {counts['admissible candidates']:,.0f} of them with "
            f"admissible groups; the median score is {counts['median score']:.2f}."
        )
        found.append(f"The choice: {protocol.selected(rows)}.")
        fits = "fits" if verdict["fits"] else "does not fit"
        decisive = "decisive" if verdict["decisive"] else "not decisive"
        found.append(
            f"Its score is {verdict['score']:.2f}: by the rule, which asks for less than {credit.FITS}, it {fits}. The "
            f"best with another label scores {verdict['best score of another label']:.2f}, the next with this label "
            f"{verdict['best other score of this label']:.2f}; by the rule the choice is {decisive}."
        )
    if dataset == k1b.DATASET and len(own := protocol.own_place(rows)):
        found.append(f"The rule chooses: {protocol.selected_groups(rows)}.")
        found.append(
            f"Of the printed balances of {len(own)} methods that see no groups, {int(own['inside'].sum(axis=0))} lie "
            "where 95 of 100 random halves of our clusters of the same method lie."
        )
        fair = protocol.fair_on_halves(rows).set_index("metric").loc["Bal"]
        found.append(
            f"FKKM itself reaches a Bal of {fair['mean']:.3f} on random halves ({fair['min']:.3f} to "
            f"{fair['max']:.3f}); printed is {fair['printed']:.3f}."
        )
        place = protocol.places(rows).set_index("method").loc["FKKM"]
        found.append(
            "Of random halves of clusters that see no groups and have the sizes of the true classes, "
            f"{100 * place['the true classes']:.0f} of 100 have less than the printed Bal of FKKM; of clusters of "
            f"equal size {100 * place['clusters of equal size']:.0f}."
        )
    return found


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers at the digits of the printed table, entropies and shares at one more; words for true and false."""
    shown = frame.copy()
    for name in shown.columns:
        if shown[name].dtype == bool:
            shown[name] = shown[name].map({True: "yes", False: "no"})
        elif pd.api.types.is_float_dtype(shown[name]):
            whole = (shown[name].dropna() % 1 == 0).all() and name in ("size of one group", "admissible")
            digits = 0 if whole else DIGITS + name.startswith(("entropy", "share"))
            shown[name] = [f"{value:.{digits}f}" if pd.notna(value) else "–" for value in shown[name]]
    return shown
