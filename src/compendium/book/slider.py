"""A figure with a slider: every position is drawn ahead, by the page's own cell, and a script shows one of them.

Without the script, and on paper, the figure is that of the position at the start.
"""

import html
import io
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from IPython import get_ipython
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.figure import Figure

_GROUP = re.compile(r'<g id="([^"]*)">')
#: Of a drawing of its own; inside a page the styles would be those of everything on it.
_HEAD = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)


class Position(NamedTuple):
    """One position of a slider: its value in words, what is drawn for it alone, and the sentence that goes with it."""

    value: str
    artists: Sequence[Artist]
    sentence: str


def slider(fig: Figure, positions: Sequence[Position], *, label: str, alt: str, start: int, up: int = 2) -> HTML:
    """The figure under a slider over ``positions``, whose meaning is ``label``, with the sentence of each below.

    It opens at position ``start``; ``alt`` is the figure in words, ``up`` the folders between page and root."""
    for place, position in enumerate(positions):
        for artist in position.artists:
            artist.set_gid(f"position-{place}")
    drawn = io.StringIO()
    fig.savefig(drawn, format="svg")
    for artist in (artist for one in positions if one is not positions[start] for artist in one.artists):
        artist.set_visible(False)
    if get_ipython():  # a cell shows what it leaves open
        plt.close(fig)
    svg = _HEAD.sub("", drawn.getvalue()[drawn.getvalue().index("<svg") :])
    svg = _GROUP.sub(lambda group: _opened(group[1], str(start)), svg)
    value, sentence = html.escape(positions[start].value), html.escape(positions[start].sentence)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt)} {sentence}" ', 1)
    told = {"alt": alt, "positions": [(one.value, one.sentence) for one in positions]}
    # Inside a script element nothing but its own end mark means anything to a browser.
    text = json.dumps(told, ensure_ascii=False).replace("</", r"<\/")
    return HTML(
        f'<div class="slider"><label hidden>{html.escape(label)} <b aria-hidden="true">{value}</b>'
        f'<input type="range" min="0" max="{len(positions) - 1}" value="{start}" aria-valuetext="{value}" '
        f'autocomplete="off"></label>{svg}<p aria-live="polite">{sentence}</p>'
        f'<script type="application/json">{text}</script>'
        f'<script defer src="{"../" * up}_static/slider.mjs"></script></div>'
    )


def _opened(name: str, shown: str) -> str:
    """The start of a group: of its position, hidden if another one is shown; names that nothing needs are left out."""
    place = name.removeprefix("position-")
    if place == name:
        return "<g>"
    return f'<g data-position="{place}">' if place == shown else f'<g data-position="{place}" display="none">'
