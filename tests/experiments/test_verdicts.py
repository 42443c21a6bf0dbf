"""Each rule of data/tolerances.yml with both outcomes, at its edges."""

import functools
from decimal import Decimal

import pytest
import yaml

from compendium.claim_rules import rule_file
from compendium.ledger.verdicts import Kind, judge, printed_digits
from evenspan.core.errors import ResultError

RULES = rule_file()


def verdict(published, ours, digits=2, rules=RULES, **given):
    return judge(published, ours, rules=rules, digits=digits, **given)


@pytest.mark.parametrize(
    ("published", "ours", "digits", "exact"),
    [
        ("78.1", 78.1, 2, True),
        ("78.1", 78.1049, 2, True),
        ("78.1", 78.105, 2, True),  # a half, to even
        ("78.1", 78.1051, 2, False),
        ("78.1", 78.13, 1, True),  # the same number in a column printed with one decimal
        ("0.3", 0.1 + 0.2, 15, True),  # noise of binary sums only
        ("-0.5", 0.5, 2, False),
        ("93.64", 0.9364, 2, False),  # a share is not a percentage
    ],
)
def test_exact_is_equality_at_the_printed_digits(published, ours, digits, exact):
    assert (verdict(published, ours, digits).kind is Kind.EXACT) == exact


@pytest.mark.parametrize(
    ("published", "std", "ours", "our_std", "distance"),
    [
        ("50", "", 51.0, 0.1, "1"),  # 2 % exactly
        ("50", "", 51.001, 0.1, "1.001"),
        ("50", "", 50.006, None, "1.2"),  # one value without splits: only rounding decides
        ("50", "9", 51.001, 9.0, "1.001"),  # no spread between splits excuses
        ("0", "", 0.01, 0.001, "2"),  # a published 0 leaves no room by its share
        ("0.1", "", 0.1025, 0.001, "0.5"),  # 2 % are less than half a digit
        ("50", "", 49.5, 0.1, "0.5"),
    ],
)
def test_close_is_within_the_share_and_a_distance_of_at_most_one(published, std, ours, our_std, distance):
    found = verdict(published, ours, std=std, our_std=our_std)
    assert found.distance == Decimal(distance)
    assert (found.kind in (Kind.EXACT, Kind.CLOSE)) == (found.distance <= 1)
    assert verdict(published, ours, our_std=our_std, timed=True).distance is None


@pytest.mark.parametrize(
    ("peers", "same"),
    [
        ([], False),  # nothing to stand beside
        ([("10", 12.0)], True),
        ([("10", 33.0)], False),
        ([("10", 12.0), ("40", 29.0)], False),  # one reversal is enough
        ([("20", 35.0), ("10", 12.0)], True),  # a published tie stands on no side
        ([("10", 30.004), ("15", 12.0)], True),  # our tie at the printed digits
        ([("10", 30.006), ("15", 12.0)], False),  # our difference at the printed digits
        ([("20", 12.0)], False),  # ties alone prove nothing
    ],
)
def test_same_rank_needs_every_other_method_on_its_side(peers, same):
    assert verdict("20", 30.0, peers=peers).kind is (Kind.RANK if same else Kind.DIFFERS)


def test_times_missing_numbers_and_deviations():
    assert verdict("20", 20.0, peers=[("10", 12.0)], timed=True).kind is Kind.RANK
    assert verdict("20", 20.0, timed=True).kind is Kind.DIFFERS
    assert verdict("20", None).kind is Kind.PENDING
    lost = verdict("20", None, reason="the images are not public")
    assert (lost.kind, lost.reason) == (Kind.NA, "the images are not public")
    one = verdict("20.5", 21.25, std="1.5", our_std=3.0)
    assert (one.deviation_digits, one.deviation_sd) == (75, Decimal("0.5"))
    assert verdict("20.5", 19.0, std="0.0", our_std=3.0).deviation_sd == Decimal("-0.5")
    assert verdict("20.5", 19.0, std="", our_std=0.0).deviation_sd is None
    assert (printed_digits(["78.1", "81.31", "0", "100"]), printed_digits([])) == (2, 0)


RULE = ("claims", "V14", "data sets")


def test_rules_that_cannot_be_meant_are_refused(toy_checkout):
    path = toy_checkout / "data" / "tolerances.yml"
    whole = path.read_text(encoding="utf-8")
    for place, value, said in (
        (["close", "relative"], -0.1, r"close\.relative\s+Input should be greater than or equal to 0"),
        (RULE, {"value": 3}, r"V14\.data sets\.words\s+Field required"),
        (RULE, {"value": "1e-9", "words": "a"}, r"(?s)valid number.*1\.0e-9, not 1e-9"),
    ):
        given = yaml.safe_load(whole)
        functools.reduce(dict.get, place[:-1], given)[place[-1]] = value
        path.write_text(yaml.safe_dump(given), encoding="utf-8")
        with pytest.raises(ResultError, match=said):
            rule_file()
    path.unlink()
    with pytest.raises(ResultError, match=r"No such file.*tolerances\.yml"):
        rule_file()
