"""What our number says about a published one: how near it is, and which of four results that is.

A grade is a pure function of the published number and its printed standard deviation, of ours and its standard
deviation, of the other methods of the same cell group, and of the rules in ``data/tolerances.yml``. All comparisons are
made in decimals, starting from the digits as printed: binary fractions would move the edges of the rules. What
agreement is worth is said by the chance agreement: the same rules applied to other methods' results.
"""

import enum
import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ..claim_rules import RuleFile


class Result(enum.Enum):
    """What became of a printed number, in the order in which it is shown; the value is its name."""

    DESCRIBED = "as described"
    OTHER = "other procedure"
    NOT = "not reproduced"
    NO_TEST = "not a test"

    @property
    def css(self) -> str:
        """Class of the mark: shape and colour are given by the style sheet."""
        return f"verdict verdict-{self.name.lower()}"

    def badge(self, title: str = "", name: str = "") -> str:
        """The mark as HTML, with an explanation that appears on hovering, and under a name that links lead to."""
        shown = f' id="{html.escape(name)}"' if name else ""
        shown += f' title="{html.escape(title)}"' if title else ""
        return f'<span class="{self.css}"{shown}>{self.value}</span>'


#: Whether a number agrees as the paper describes it, by the named procedure, within errors of the evaluation.
YES, NO = "yes", "no"
#: Why a number is no test where nothing was declared in ``experiments.yml``.
ALWAYS, ALONE, UNAVAILABLE = "every method gives it", "nothing to compare with", "unavailable"


class Kind(enum.Enum):
    """How near our number is to the printed one: the fine grades of the ledger; the value is their name."""

    EXACT = "exact"
    CLOSE = "close"
    RANK = "same ordering only"
    DIFFERS = "differs"
    NA = "unavailable"
    PENDING = "not yet run"


@dataclass(frozen=True)
class Verdict:
    """A verdict with the deviation, ours minus published, in units of the last printed digit and in deviations.

    These are the published standard deviations, ours if none was published; None where neither exists or it is zero.
    The ``distance`` is the size of the deviation in units of what the rules allow: at most 1 agrees; a time has none.
    """

    kind: Kind
    deviation_digits: Decimal | None = None
    deviation_sd: Decimal | None = None
    distance: Decimal | None = None
    reason: str = ""


def printed_digits(values: Iterable[str]) -> int:
    """Decimals of a column: the most that any of its numbers is printed with."""
    return max((-int(min(number(value).as_tuple().exponent, 0)) for value in values), default=0)


def number(text: str) -> Decimal:
    """A printed number as a decimal, digit for digit."""
    return Decimal(text)


def judge(
    published: str,
    ours: float | None,
    *,
    rules: RuleFile,
    digits: int,
    std: str = "",
    our_std: float | None = None,
    timed: bool = False,
    peers: Sequence[tuple[str, float]] = (),
    reason: str = "",
) -> Verdict:
    """Judge one published number, with ``digits`` decimals in its column, beside ``peers``: pairs of other methods."""
    if ours is None:
        return Verdict(Kind.NA if reason else Kind.PENDING, reason=reason)
    theirs, mine = number(published), _decimal(ours, rules)
    unit, gap = Decimal(1).scaleb(-digits), mine - theirs
    their_sd = number(std) if std else None
    my_sd = None if our_std is None else _decimal(our_std, rules)
    sd = next((sd for sd in (their_sd, my_sd) if sd), None)
    deviations = {"deviation_digits": gap / unit, "deviation_sd": gap / sd if sd else None}
    if not timed:
        rounding = rules.exact["units_of_last_digit"] * unit
        share = rules.close["relative" if my_sd else "relative_without_spread"]
        deviations["distance"] = abs(gap) / max(rounding, share * abs(theirs))
        if abs(gap) <= rounding:
            return Verdict(Kind.EXACT, **deviations)
        if deviations["distance"] <= 1:
            words = f"within {(share * 100).normalize():f} % of the published number"
            return Verdict(Kind.CLOSE, **deviations, reason=words)
    same = 0
    for printed, other in peers:
        side, our_side = _side(theirs, number(printed), unit), _side(mine, _decimal(other, rules), unit)
        if side * our_side < 0:
            return Verdict(Kind.DIFFERS, **deviations)
        same += side * our_side
    if same >= rules.same_ordering["other_methods"]:
        return Verdict(Kind.RANK, **deviations, reason=f"same side of {same} other method{'s' if same > 1 else ''}")
    return Verdict(Kind.DIFFERS, **deviations)


def passes(kind: Kind, timed: bool = False) -> bool:
    """Whether a verdict says that the number came out: exact or close; of a time the ordering is all that is asked."""
    return kind is Kind.RANK if timed else kind in (Kind.EXACT, Kind.CLOSE)


def _decimal(value: float, rules: RuleFile) -> Decimal:
    """Our number without the noise of binary sums."""
    return Decimal(f"{value:.{rules.significant_digits}g}")


def _side(one: Decimal, other: Decimal, unit: Decimal) -> int:
    """-1, 0 or 1: the side of ``other`` on which ``one`` stands after rounding to the printed digits."""
    one, other = one.quantize(unit), other.quantize(unit)
    return (one > other) - (one < other)
