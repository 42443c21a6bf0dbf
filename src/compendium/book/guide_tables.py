"""Tables of the guide: methods with what they take, what their certificate says and where they are derived."""

import html

import pandas as pd
from IPython.display import HTML

from .guide_methods import BOUND, MET, NONE
from .tables import table

CERTIFICATES = {MET: "bound met", BOUND: "bound, not met", NONE: "none"}


def linked(fact: pd.Series, up: int) -> str:
    """The name of a method as a link to the chapter that derives it."""
    return f'<a href="{"../" * up}{fact["chapter"]}.html">{html.escape(fact["method"])}</a>'


def methods(facts: pd.DataFrame, *, up: int = 1) -> HTML:
    """All methods: what they make alike, what they take, and what their answer says about itself.

    Parameters
    ----------
    facts : DataFrame
        As ``guide_methods.facts`` gives them.
    up : int
        How many folders the page lies below the book's root.

    Returns
    -------
    HTML
    """
    shown = pd.DataFrame(
        {
            "method": [f"{linked(fact, up)}<br><code>{fact['class']}</code>" for _, fact in facts.iterrows()],
            "alike": facts["alike"],
            "groups": facts["groups"],
            "fits to": facts["needs"],
            "new rows": facts["new rows"].map({True: "yes", False: "no"}),
            "certificate": facts["certificate"].map(CERTIFICATES),
        }
    )
    caption = "What each method takes and answers, found by trying it on one small sample"
    return table(shown, caption=caption, classes="result-table words-3")


def certified(facts: pd.DataFrame, *, up: int = 1) -> HTML:
    """What each certificate speaks of, for methods that have one.

    Parameters
    ----------
    facts, up
        As for ``methods``.

    Returns
    -------
    HTML
    """
    some = facts[facts["certificate"] != NONE]
    shown = pd.DataFrame(
        {
            "method": [linked(fact, up) for _, fact in some.iterrows()],
            "certificate": some["certificate"].map(CERTIFICATES),
            "it speaks of": some["certifies"].map(html.escape),
        }
    )
    return table(shown, caption="The problem that each certificate is about", classes="result-table words-3")


def refusals(facts: pd.DataFrame, *, up: int = 1) -> HTML:
    """What methods for two groups say to three.

    Parameters
    ----------
    facts, up
        As for ``methods``.

    Returns
    -------
    HTML
    """
    some = facts[facts["refusal"] != ""]
    shown = pd.DataFrame(
        {
            "method": [linked(fact, up) for _, fact in some.iterrows()],
            "what it says": some["refusal"].map(html.escape),
        }
    )
    return table(shown, caption="What methods for two groups say to three", classes="result-table words-2")
