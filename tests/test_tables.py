"""Text tables."""

from kinecast.tables import text_table


def test_text_goes_left_and_numbers_right():
    table = text_table(("name", "n", "us"), [("arm", 7, 0.03125), ("human", 55, None)])
    assert table.splitlines() == [
        "name    n       us",
        "arm     7  0.03125",
        "human  55        -",
    ]


def test_a_table_without_rows_is_its_header():
    assert text_table(("a", "b"), []) == "a  b"
