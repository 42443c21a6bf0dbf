"""Each rule of data/tolerances.yml with both outcomes, at its edges."""

import functools
from decimal import Decimal

import pytest
import yaml

from compendium.ledger.verdicts import MEANING, Kind, Peer, Result, Rules, explanation, judge, printed_digits, rules
from evenspan.core.errors import ResultError

HALF, SHARE = Decimal("0.5"), Decimal("0.02")
RULES = Rules(12, HALF, SHARE, Decimal(0), Decimal(2), 1)


def verdict(published, ours, digits=2, rules=RULES, **given):
    return judge(published, ours, rules=rules, digits=digits, **given)


def test_the_rules_are_those_of_the_file():
    assert rules() == RULES


@pytest.mark.parametrize(
    ("published", "ours", "digits", "exact"),
    [
        ("78.1", 78.1, 2, True),
        ("78.1", 78.1049, 2, True),
        ("78.1", 78.105, 2, True),  # a half, to even
        ("78.1", 78.095, 2, True),  # a half, up
        ("78.1", 78.1051, 2, False),
        ("78.1", 78.0949, 2, False),
        ("78.1", 78.13, 1, True),  # the same number in a column printed with one decimal
        ("0.195", 0.1955, 3, True),
        ("0.195", 0.19551, 3, False),
        ("0.3", 0.1 + 0.2, 15, True),  # noise of binary sums only
        ("0.125", 0.135, 2, False),
        ("0", 0.0, 3, True),
        ("0.0", 0.005, 2, True),
        ("0.0", 0.0051, 2, False),
        ("-0.5", -0.5049, 2, True),
        ("-0.5", 0.5, 2, False),
        ("30000", 30000.0, 0, True),
        ("30000", 30001.0, 0, False),
        ("93.64", 0.9364, 2, False),  # a share is not a percentage
    ],
)
def test_exact_is_equality_at_the_printed_digits(published, ours, digits, exact):
    assert (verdict(published, ours, digits).kind is Kind.EXACT) == exact


@pytest.mark.parametrize(
    ("published", "std", "ours", "our_std", "draws", "close"),
    [
        ("50", "", 51.0, 0.1, None, True),  # 2 % exactly
        ("50", "", 51.001, 0.1, None, False),
        ("-50", "", -51.0, 0.1, None, True),
        ("50", "", 50.006, None, None, False),  # one value without splits: only rounding decides
        ("50", "", 50.006, 0.0, (10, 10), False),  # equal in all splits
        ("50", "9", 51.001, 9.0, None, False),  # the paper's own splits: no spread excuses
        ("50", "3", 54.0, 1.0, (1, 3), True),  # 2 sqrt(3^2 / 3 + 1^2 / 1) exactly
        ("50", "3", 54.001, 1.0, (1, 3), False),
        ("50", "", 54.0, 2.0, (2, 2), True),  # 2 sqrt(2^2 / 2 + 2^2 / 2): where none is printed, ours
        ("50", "", 54.001, 2.0, (2, 2), False),
        ("50", "0.0", 52.0, 2.0, (4, 4), True),  # a printed deviation of 0 is one
        ("50", "0.0", 52.001, 2.0, (4, 4), False),
        ("50", "3", 52.0, 2.0, (4, None), True),  # over how many is not said: the published mean has no error
        ("50", "3", 52.001, 2.0, (4, None), False),
        ("0", "", 0.01, 0.001, None, False),  # a published 0 leaves no room by its share
    ],
)
def test_close_is_within_the_share_or_the_error_of_the_difference(published, std, ours, our_std, draws, close):
    kind = verdict(published, ours, std=std, our_std=our_std, draws=draws).kind
    assert kind is (Kind.CLOSE if close else Kind.DIFFERS)


def test_of_a_measured_time_only_the_order_is_judged():
    peers = [Peer("10", 12.0)]
    assert verdict("20", 20.0, peers=peers, timed=True).kind is Kind.RANK
    assert verdict("20", 20.0, timed=True).kind is Kind.DIFFERS


@pytest.mark.parametrize(
    ("peers", "same"),
    [
        ([], False),  # nothing to stand beside
        ([Peer("10", 12.0)], True),
        ([Peer("10", 33.0)], False),
        ([Peer("10", 12.0), Peer("40", 41.0)], True),
        ([Peer("10", 12.0), Peer("40", 29.0)], False),  # one reversal is enough
        ([Peer("20", 35.0), Peer("10", 12.0)], True),  # a published tie stands on no side
        ([Peer("10", 30.004), Peer("15", 12.0)], True),  # our tie at the printed digits
        ([Peer("10", 30.006), Peer("15", 12.0)], False),  # our difference at the printed digits
        ([Peer("20", 12.0)], False),  # ties alone prove nothing
        ([Peer("10", 30.0)], False),
    ],
)
def test_same_rank_needs_every_other_method_on_its_side(peers, same):
    assert verdict("20", 30.0, peers=peers).kind is (Kind.RANK if same else Kind.DIFFERS)


def test_a_missing_number_is_not_run_or_cannot_be_computed():
    assert verdict("20", None).kind is Kind.PENDING
    lost = verdict("20", None, reason="the images are not public")
    assert (lost.kind, lost.reason) == (Kind.NA, "the images are not public")


def test_deviations_are_in_printed_digits_and_standard_deviations():
    one = verdict("20.5", 21.25, std="1.5", our_std=3.0)
    assert (one.deviation_digits, one.deviation_sd) == (75, Decimal("0.5"))
    assert verdict("20.5", 19.0, std="0.0", our_std=3.0).deviation_sd == Decimal("-0.5")
    assert verdict("20.5", 19.0, std="", our_std=0.0).deviation_sd is None
    assert verdict("20.5", 20.5, std="", our_std=None).deviation_sd is None


def test_printed_digits_are_the_most_of_the_column():
    assert printed_digits(["78.1", "81.31", "0", "100"]) == 2
    assert printed_digits(["1", "0"]) == 0
    assert printed_digits(["0.20", "0.2"]) == 2
    assert printed_digits([]) == 0


@pytest.mark.parametrize("text", ["nan", "inf", "1,5"])
def test_what_is_not_a_number_is_refused(text):
    with pytest.raises(ResultError, match="is not a number"):
        verdict(text, 1.0)


def test_every_verdict_is_explained_and_marked():
    words = explanation(RULES)
    assert list(words) == list(Kind)
    assert list(MEANING) == list(Result)
    assert "within 2 % of" in words[Kind.CLOSE]
    assert Result.OTHER.badge('5 > "4"') == (
        '<span class="verdict verdict-other" title="5 &gt; &quot;4&quot;">other procedure</span>'
    )


RULE = ("claims", "V14", "data sets")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (["digits"], 3, "digits: Extra inputs"),
        (["close"], {"relative": 0.02}, "close, standard_errors: Field required"),
        (["close", "relative"], "two", "close, relative.* valid number, but holds 'two'"),
        (["close", "relative"], True, "close, relative.* but holds True"),
        (["close", "standard_errors"], -0.1, "close, standard_errors.* greater than or equal to 0"),
        (["same_ordering", "other_methods"], 0, "same_ordering, other_methods: .* greater than or equal to 1"),
        (["recheck"], None, "recheck: .* valid dictionary"),
        (["findings"], None, "findings: "),
        (["claims", "V14"], {}, "claims, V14: .* at least 1 item"),
        (RULE, 11, "claims, V14, data sets: .*but holds 11"),
        (RULE, {"value": 3}, "V14, data sets, words: Field required"),
        (RULE, {"value": 3, "words": ""}, "words: .* at least 1 character"),
        (RULE, {"value": 3, "words": "a", "said": 4}, "said: .* valid string"),
        (RULE, {"value": "1e-9", "words": "a"}, r"valid number, but holds '1e-9'.*1\.0e-9, not 1e-9"),
        (RULE, {"value": True, "words": "a"}, "valid number, but holds True"),
        (RULE, {"value": float("nan"), "words": "a"}, "finite number"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(toy_checkout, place, value, said):
    path = toy_checkout / "data" / "tolerances.yml"
    given = yaml.safe_load(path.read_text(encoding="utf-8"))
    functools.reduce(dict.get, place[:-1], given)[place[-1]] = value
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    with pytest.raises(ResultError, match=said):
        rules()


def test_a_file_that_cannot_be_read_is_named(toy_checkout):
    path = toy_checkout / "data" / "tolerances.yml"
    path.write_text("exact: [", encoding="utf-8")
    with pytest.raises(ResultError, match=r"tolerances\.yml cannot be read"):
        rules()
    path.unlink()
    with pytest.raises(ResultError, match=r"tolerances\.yml cannot be read"):
        rules()
