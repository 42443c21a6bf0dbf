"""Verdicts: what a number of ours says about a published one.

A verdict is a pure function of the published number and its printed standard deviation, of ours and its standard
deviation, of the other methods of the same cell group, and of the rules in ``data/tolerances.yml``. All comparisons
are made in decimals, starting from the digits as printed: binary fractions would move the edges of the rules.
"""

import enum
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import yaml

from .. import paths
from ..errors import ResultError


class Kind(enum.Enum):
    """The verdicts, in the order in which they are shown; the value is their name."""

    EXACT = "exact"
    CLOSE = "close"
    ORDER = "same order"
    DIFFERS = "differs"
    STALE = "stale"
    NA = "not computable"
    PENDING = "not yet run"

    @property
    def css(self) -> str:
        """Class of the mark: shape and colour are given by the style sheet."""
        return f"verdict verdict-{self.name.lower()}"

    def badge(self, title: str = "") -> str:
        """The mark as HTML, with an explanation that appears on hovering."""
        shown = f' title="{html.escape(title)}"' if title else ""
        return f'<span class="{self.css}"{shown}>{self.value}</span>'


@dataclass(frozen=True)
class Rules:
    """The numbers of ``data/tolerances.yml`` that decide a verdict."""

    significant_digits: int
    units_of_last_digit: Decimal
    relative: Decimal
    standard_deviations: Decimal
    other_methods: int


@dataclass(frozen=True)
class Peer:
    """Another method of the same table, data set, metric, k and split: its published number and ours."""

    published: str
    ours: float


@dataclass(frozen=True)
class Verdict:
    """A verdict with the deviation, ours minus published, in units of the last printed digit and in deviations.

    ``deviation_sd`` is in units of the published standard deviation, of ours if none was published, and None where
    neither exists or it is zero.
    """

    kind: Kind
    deviation_digits: Decimal | None = None
    deviation_sd: Decimal | None = None
    reason: str = ""


def rules() -> Rules:
    """The rules of ``data/tolerances.yml``, checked."""
    path = paths.data("tolerances.yml")
    wanted = {
        "version": 1,
        "significant_digits": int,
        "exact": {"units_of_last_digit": float},
        "close": {"relative": float, "standard_deviations": float},
        "same_order": {"other_methods": int},
        "recheck": {"rtol": float, "atol": float, "experiments": dict},
        "claims": dict,
        "findings": dict,
    }
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ResultError(f"{path} cannot be read ({error}). Restore it; the verdicts are defined there.") from error
    _check(given, wanted, path.name)
    return Rules(
        significant_digits=given["significant_digits"],
        units_of_last_digit=Decimal(str(given["exact"]["units_of_last_digit"])),
        relative=Decimal(str(given["close"]["relative"])),
        standard_deviations=Decimal(str(given["close"]["standard_deviations"])),
        other_methods=given["same_order"]["other_methods"],
    )


def printed_digits(values: Iterable[str]) -> int:
    """Decimals of a column: the most that any of its numbers is printed with.

    >>> printed_digits(["78.1", "81.31", "0"])
    2
    """
    return max((-int(min(number(value).as_tuple().exponent, 0)) for value in values), default=0)


def number(text: str) -> Decimal:
    """A printed number as a decimal, digit for digit."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise ResultError(f"{text!r} in a published table is not a number. Compare the table with data/paper.")
    return value


def judge(
    published: str,
    ours: float | None,
    *,
    rules: Rules,
    digits: int,
    std: str = "",
    our_std: float | None = None,
    peers: Sequence[Peer] = (),
    reason: str = "",
) -> Verdict:
    """Judge one published number.

    Parameters
    ----------
    published : str
        The number as printed.
    ours : float or None
        Our number in the same unit; None if there is none.
    rules : Rules
        From :func:`rules`.
    digits : int
        Decimals of the metric's column, from :func:`printed_digits`.
    std : str
        The published standard deviation as printed, empty if none.
    our_std : float, optional
        Standard deviation over our splits.
    peers : sequence of Peer
        The other methods of the same table, data set, metric, k and split for which both numbers exist.
    reason : str
        Why ours cannot be computed; without a reason a missing number has not been run yet.
    """
    if ours is None:
        return Verdict(Kind.NA if reason else Kind.PENDING, reason=reason)
    theirs, mine = number(published), _decimal(ours, rules)
    unit, gap = Decimal(1).scaleb(-digits), mine - theirs
    their_sd = number(std) if std else None
    my_sd = None if our_std is None else _decimal(our_std, rules)
    sd = next((sd for sd in (their_sd, my_sd) if sd), None)
    deviations = {"deviation_digits": gap / unit, "deviation_sd": gap / sd if sd else None}
    if abs(gap) <= rules.units_of_last_digit * unit:
        return Verdict(Kind.EXACT, **deviations)
    if abs(gap) <= rules.relative * abs(theirs):
        return Verdict(Kind.CLOSE, **deviations, reason=f"within {_percent(rules.relative)} of the published number")
    for spread, whose in ((their_sd, "published"), (my_sd, "our")):
        if spread is not None and abs(gap) <= rules.standard_deviations * spread:
            return Verdict(Kind.CLOSE, **deviations, reason=f"within {rules.standard_deviations:f} {whose} deviations")
    same = 0
    for peer in peers:
        side, our_side = _side(theirs, number(peer.published), unit), _side(mine, _decimal(peer.ours, rules), unit)
        if side * our_side < 0:
            return Verdict(Kind.DIFFERS, **deviations)
        same += side * our_side
    if same >= rules.other_methods:
        return Verdict(Kind.ORDER, **deviations, reason=f"same side of {same} other method{'s' if same > 1 else ''}")
    return Verdict(Kind.DIFFERS, **deviations)


def explanation(rules: Rules) -> dict[Kind, str]:
    """What each verdict means, in words with the numbers of the rules."""
    return {
        Kind.EXACT: f"Ours lies within {rules.units_of_last_digit:f} units of the last printed digit: it rounds to the "
        "published number. The printed digits are those of the metric's whole column, since print drops trailing "
        "zeros; a half may be rounded up or to even.",
        Kind.CLOSE: f"Not exact, but within {_percent(rules.relative)} of the published number, or within "
        f"{rules.standard_deviations:f} of the standard deviations published with it, or of those over our splits.",
        Kind.ORDER: "Neither, but no other method of the same table, data set, metric, number of components and split "
        f"stands on the other side of this one, and at least {rules.other_methods} stands strictly on the same side. "
        "Numbers equal at the printed digits stand on no side.",
        Kind.DIFFERS: "A number of ours exists and none of the rules above holds.",
        Kind.STALE: "A number of ours is stored, but the code or the data that gave it changed since and it was not "
        "computed again. It is shown and never counted as reproduced.",
        Kind.NA: "No number of ours can exist, or none was published; the reason stands beside it.",
        Kind.PENDING: "No number of ours exists yet.",
    }


def _decimal(value: float, rules: Rules) -> Decimal:
    """Our number without the noise of binary sums."""
    return Decimal(f"{value:.{rules.significant_digits}g}")


def _side(one: Decimal, other: Decimal, unit: Decimal) -> int:
    """-1, 0 or 1: the side of ``other`` on which ``one`` stands after rounding to the printed digits."""
    one, other = one.quantize(unit), other.quantize(unit)
    return (one > other) - (one < other)


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f} %"


def _check(given: object, wanted: object, where: str) -> None:
    if isinstance(wanted, dict):
        if not isinstance(given, dict) or set(given) != set(wanted):
            raise ResultError(f"{where} must have exactly the entries {', '.join(wanted)}, but holds {given!r}.")
        for key, kind in wanted.items():
            _check(given[key], kind, f"{where}, {key}")
        return
    if wanted is dict:
        good, needed = isinstance(given, dict), "a mapping"
    elif type(wanted) is int:
        good, needed = given == wanted, f"the value {wanted}"
    elif wanted is int:
        good, needed = type(given) is int and given >= 1, "a whole number of at least 1"
    else:
        good, needed = type(given) in (int, float) and given >= 0, "a number of at least 0"
    if not good:
        raise ResultError(f"{where} needs {needed}, but holds {given!r}. Correct data/tolerances.yml.")
