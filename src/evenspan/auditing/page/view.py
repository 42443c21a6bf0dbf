"""One attribute of an audit, as figures and tables look at it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from ..analysis.recommendation import CONCERNS
from .evidence import value_of
from .figures import FITTING, HELD_OUT

if TYPE_CHECKING:
    from ..result import Audit


@dataclass(frozen=True, eq=False)
class View:
    """One attribute of an audit: its rows, groups and recommendation, as figures and tables need them."""

    attribute: str
    rows: pd.DataFrame
    frontier: pd.DataFrame
    labels: tuple[str, ...]
    k: int
    best: str
    gap: str
    metric: str

    @classmethod
    def of(cls, audit: "Audit", attribute: str) -> "View":
        """Of an audit."""
        methods, frontier, groups = (audit.tables[name] for name in ("methods", "frontier", "groups"))
        said = audit.recommendation[attribute]
        concern = CONCERNS[said.concern]
        labels = groups.loc[groups["attribute"] == attribute, "group"].astype(str)
        return cls(
            attribute,
            methods[methods["attribute"] == attribute],
            frontier[frontier["attribute"] == attribute],
            tuple(labels),
            int(said.k),
            said.method,
            concern.gap,
            concern.metric,
        )

    @property
    def part(self) -> str:
        """The part that methods are compared on: held-out rows, or the fitting part where nothing is held out."""
        return HELD_OUT if (self.rows["part"] == HELD_OUT).any() else FITTING

    @property
    def sizes(self) -> list[int]:
        """Numbers of components that were looked at."""
        return sorted(int(k) for k in self.rows["k"].unique())

    def at(self, metric: str, method: str = "PCA", part: str | None = None) -> pd.Series | None:
        """One number about all rows at the recommended number of components."""
        return value_of(self.rows, metric=metric, method=method, part=part or self.part, k=self.k, group="")


def slug(attribute: str, taken: set[str]) -> str:
    """A name for files: lower-case letters, digits and hyphens, not yet taken."""
    plain_name = re.sub(r"[^a-z0-9]+", "-", attribute.lower()).strip("-")[:40] or "attribute"
    name, number = plain_name, 2
    while name in taken:
        name, number = f"{plain_name}-{number}", number + 1
    taken.add(name)
    return name
