"""What the numbers of an audit do not say, computed from the situation."""

from collections.abc import Mapping

from ..sample import Sample
from .judging import LEVEL

#: What columns are used as that enter the methods.
FEATURES = ("number", "0/1", "categories", "days")


def of_attribute(
    sample: Sample, attribute: str, methods: int, held_out: bool, left_out: Mapping[str, int] | None = None
) -> list[str]:
    """Sentences about the groups of one attribute, whatever is recommended for them."""
    said = []
    if left_out:
        said.append(
            "Nothing was said of "
            + ", ".join(f"{group} ({n} row{'s' * (n != 1)})" for group, n in left_out.items())
            + ": too few rows to be compared. They are left out of all numbers; merge them with other groups to have "
            "them counted."
        )
    if held_out:
        said.append(
            f"The methods ({methods}) were compared on the same held-out rows on which the one named is described: its "
            "numbers there are a little too good. The rows are from the same table; another year or place is another "
            "matter."
        )
    else:
        said.append(
            "Nothing was held out: all numbers are of the rows that the methods were fitted to, and are too good."
        )
    said.append(
        f"Intervals are about other rows from the same source ({LEVEL:.0%}), for the projection as it is fitted; they "
        f"do "
        "not say how another fitting sample would change it."
    )
    groups = sample.groups[sample.groups["attribute"] == attribute]
    small = groups.loc[groups["small"].astype(bool), "group"].astype(str).tolist()
    small = [group for group in small if group not in (left_out or {})]
    if small:
        said.append(
            f"Small groups ({', '.join(small)}): their numbers are mostly noise, and equality with noise is no gain."
        )
    proxies = _proxies(sample, attribute)
    if proxies:
        said.append(
            f"Columns that tell much of {attribute} are among the features ({', '.join(proxies)}). Readers other than "
            "the two that were tried may find it through them."
        )
    else:
        said.append(
            "What a reader finds of the group depends on the reader: a linear one and one with a Gaussian kernel were "
            "tried, on some thousand rows."
        )
    if sample.target is None:
        said.append("No target was named: what is left to predict, and how equally, was not looked at.")
    else:
        said.append(
            f"No method looked at {sample.target}. If it is recorded with a bias, that stays; whether predictions from "
            "the representation treat groups alike has to be measured on the predictions."
        )
    others = [name for name in sample.attributes if name != attribute]
    if others:
        said.append(f"This is about {attribute} alone; what the method does to {', '.join(others)} was not looked at.")
    return said


def _proxies(sample: Sample, attribute: str) -> list[str]:
    columns = sample.columns
    if "proxy" not in columns:
        return []
    names = {part.strip() for part in attribute.split(" x ")} | {attribute}
    return [
        str(name)
        for name, proxy, use in zip(columns["column"], columns["proxy"], columns["used as"], strict=True)
        if use in FEATURES and names & {part.strip() for part in str(proxy or "").split(",")}
    ]
