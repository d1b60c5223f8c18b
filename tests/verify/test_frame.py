"""Verdicts: what agrees, what does not, and what is no number."""

import math

import numpy as np
import pytest

from kinecast.verify.frame import agree, all_agree, at_most, skipped, summary

TOLERANCE = 1e-12


def compared(reference, computed, **how):
    return agree("paper", "item", reference, computed, TOLERANCE, **how)


def test_the_line_shows_the_numbers_that_differ_most():
    check = compared([1.0, 4.0, 2.0], [1.0, 4.0, 2.5])
    assert (check.reference, check.computed, check.verdict) == ((2.0,), (2.5,), "FAILS")
    assert check.difference == 0.5 / 4.0  # relative to the largest of all


@pytest.mark.parametrize(
    ("computed", "verdict"),
    [(1.0 + 0.9e-12, "agrees"), (1.0 + 1.1e-12, "FAILS"), (math.nan, "FAILS"), (math.inf, "FAILS")],
)
def test_what_agrees_is_within_the_tolerance(computed, verdict):
    check = compared([1.0, 0.5], [computed, 0.5])
    assert (check.verdict, check.failed) == (verdict, verdict == "FAILS")


def test_a_reference_that_is_no_number_fails():
    assert compared([math.nan, 1.0], [0.0, 1.0]).failed


def test_zeros_are_compared_absolutely():
    assert compared(np.zeros(3), np.full(3, 0.9e-12)).verdict == "agrees"
    assert compared(np.zeros(3), np.full(3, 1.1e-12)).failed


def test_a_misprint_corrected_is_its_own_verdict_and_hides_no_failure():
    assert compared(1.0, 1.0, misprint="prints 2").verdict == "corrected"
    assert compared(1.0, 2.0, misprint="prints 2").failed
    assert compared(1.0, 1.0, misprint="prints 2", note="data of others").note == "prints 2; data of others"


@pytest.mark.parametrize(("reference", "computed"), [([1.0, 2.0], [1.0]), ([], [])])
def test_what_cannot_be_compared_is_a_mistake_of_the_check(reference, computed):
    with pytest.raises(ValueError, match="item: shapes"):
        compared(reference, computed)


@pytest.mark.parametrize("wrong", [1.1, math.nan])
def test_of_several_methods_the_furthest_decides(wrong):
    check = all_agree("paper", "item", 1.0, {"a": 1.0, "b": wrong, "c": 1.0}, TOLERANCE)
    assert check.failed
    assert check.note == "a, b, c; furthest: b"


@pytest.mark.parametrize(("counted", "verdict"), [((10, 9), "below"), ((10, 10), "below"), ((3, 11), "FAILS")])
def test_neither_of_two_counts_may_exceed_the_published(counted, verdict):
    assert at_most("paper", "item", (10, 10), counted).verdict == verdict


def test_a_summary_counts_verdicts():
    checks = [compared(1.0, 1.0), skipped("paper", "item", "no data"), compared(1.0, 2.0), compared(3.0, 3.0)]
    assert summary(checks) == {"agrees": 2, "skipped": 1, "FAILS": 1}
