"""The published operation counts, at the numbers of joints where the tables print them."""

import pytest

from kinecast.literature import BY_ALGORITHM

PRINTED = {
    "inverse_dynamics": {
        6: [(2195, 1719), (852, 834), (800, 595), (676, 527), (538, 478), (521, 435), (489, 421), (483, 417)],
    },
    "forward_dynamics": {
        # Three printed additions contradict the formula printed beside them, whose value stands here: Walker and Orin's
        # at n = 6 and 10 (480 and 1209, see literature.py), Featherstone's at n = 10 (1527, one digit from 174n - 173).
        6: [(633, 708), (1278, 1122), (1013, 891), (996, 871), (862, 797), (694, 663), (1429, 1063)],
        7: [(842, 898), (1528, 1342), (1239, 1097), (1195, 1045), (1053, 984), (829, 794), (1687, 1254)],
        10: [(1653, 1597), (2278, 2002), (1917, 1715), (1792, 1567), (1626, 1545), (1234, 1187), (2461, 1827)],
    },
}


@pytest.mark.parametrize(("algorithm", "n"), [(a, n) for a, rows in PRINTED.items() for n in rows])
def test_formulas_give_the_printed_counts(algorithm, n):
    assert [count.at(n) for count in BY_ALGORITHM[algorithm]] == PRINTED[algorithm][n]


def test_formulas_read_as_printed():
    formulas = {count.source: count.formula() for count in BY_ALGORITHM["forward_dynamics"]}
    assert formulas["ReDySim, Shah et al. (2013)"] == ("135n - 116", "131n - 123")
    assert formulas["Walker and Orin (1982)"] == ("n³/6 + 23n²/2 + 115n/3 - 47", "n³/6 + 7n² + 233n/3 - 46")
