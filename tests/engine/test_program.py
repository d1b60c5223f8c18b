import casadi as ca
import numpy as np
import pytest
from engine_cases import CLOSE, compiled, expected

from kinecast.engine.program import Op, fuse, read
from kinecast.errors import NotSupportedError

A, B = ca.SX.sym("a"), ca.SX.sym("b")
X = ca.SX.sym("x", 4)


def program_of(*outputs, inputs=(X,)):
    return read(ca.Function("f", list(inputs), list(outputs)))


def operations(program):
    return sorted(Op(op).name for op in program.code if op not in (Op.CONST, Op.INPUT))


def counted(*outputs):
    c = program_of(*outputs).counts
    return c.multiplications, c.additions, c.divisions, c.trig, c.other


# Every operation with vector code, each defined for arguments in [0.1, 0.9]; those with corners also at the corner.
OPERATIONS = {
    "add": A + B, "subtract": A - B, "multiply": A * B, "divide": A / B, "negate": -A, "square": A**2,
    "twice": 2 * A, "invert": 1 / A, "sin": ca.sin(A), "cos": ca.cos(A), "sqrt": ca.sqrt(A), "fabs": ca.fabs(A - 0.5),
    "fmin": ca.fmin(A, B), "fmax": ca.fmax(A, B), "lt": A < B, "le": A <= B, "eq": ca.eq(A, B), "ne": ca.ne(A, B),
    "not": ca.logic_not(A < B), "and": ca.logic_and(A < 0.5, B < 0.5), "or": ca.logic_or(A < 0.5, B < 0.5),
    "if_else": ca.if_else(A < B, 3 * A, 4 * B), "floor": ca.floor(5 * A), "ceil": ca.ceil(5 * A), "tan": ca.tan(A),
    "asin": ca.asin(A), "acos": ca.acos(A), "atan": ca.atan(A), "sinh": ca.sinh(A), "cosh": ca.cosh(A),
    "tanh": ca.tanh(A),
    "exp": ca.exp(A), "log": ca.log(A), "erf": ca.erf(A), "pow": A**B, "constpow": A**2.5, "atan2": ca.atan2(A, B),
    "fmod": ca.fmod(5 * A, B), "fma": A * B + 3, "fms": A * B - 3, "fnma": 3 - A * B, "negated sum": -(A + B) - A,
    "constant": ca.SX(-1.5), "floor of negative": ca.floor(-5 * A),
    "sin of negative": ca.sin(-A), "cos of negative": ca.cos(-A),
}  # fmt: skip


@pytest.fixture(scope="module")
def all_operations():
    function = ca.Function("f", [A, B], [ca.vertcat(*OPERATIONS.values())])
    dense, _, _ = compiled(function)
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0.1, 0.9, (2, 37))
    b[5:9] = a[5:9]  # equal ones, where comparisons turn
    return dict(zip(OPERATIONS, np.stack([dense(a, b), *expected(function, a, b)]).transpose(2, 0, 1), strict=True))


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_is_what_casadi_computes(all_operations, name):
    ours, theirs = all_operations[name]
    np.testing.assert_allclose(ours, theirs, rtol=4e-15, atol=1e-15)


def test_counts_are_those_of_the_literature():
    x = X
    assert counted(x[0] * x[1] + x[2]) == (1, 1, 0, 0, 0)
    assert counted(x[0] ** 2) == (1, 0, 0, 0, 0)
    assert counted(2 * x[0]) == (0, 1, 0, 0, 0)
    assert counted(-x[0]) == (0, 0, 0, 0, 0)
    assert counted(ca.sin(x[0]) + ca.cos(x[0])) == (0, 1, 0, 2, 0)
    assert counted(ca.sqrt(x[0]) / x[1]) == (0, 0, 1, 0, 1)
    assert counted(x[0] * x[1], x[1] * x[0]) == (1, 0, 0, 0, 0)  # computed once


def test_flops_leave_out_sines():
    assert program_of(ca.sin(X[0]) * X[1] + X[2] / X[3]).counts.flops == 3


def test_unused_values_are_neither_kept_nor_counted():
    program = read(ca.Function("f", [X], [X[0] * X[1], ca.sin(X[2])]))
    kept = read(ca.Function("f", [X], [X[0] * X[1]]))
    assert operations(program) == ["MUL", "SIN"]
    assert operations(kept) == ["MUL"]


def test_signs_fold_away():
    x = X
    # -(x0 x1) - (-x2) x3 = x2 x3 - x0 x1; sin is odd, cos is even; a - b and b - a are one value
    assert operations(program_of(-x[0] * x[1] - (-x[2]) * x[3])) == ["MUL", "MUL", "SUB"]
    assert operations(program_of(ca.sin(-x[0]), ca.sin(x[0]))) == ["SIN"]
    assert operations(program_of(ca.cos(-x[0]), ca.cos(x[0]))) == ["COS"]
    assert operations(program_of(x[0] - x[1], x[1] - x[0])) == ["SUB"]
    assert operations(program_of(-x[0] - x[1], x[0] + x[1])) == ["ADD"]
    assert operations(program_of((-x[0]) / x[1], x[0] / (-x[1]))) == ["DIV"]
    assert operations(program_of((x[0] * x[1]) * -1.0, x[0] * x[1])) == ["MUL"]


def test_a_number_minus_itself_is_zero():
    hidden = ca.sin(X[0])
    function = ca.Function("f", [X], [(hidden + 1) - (1 + hidden)])
    assert operations(read(function)) == []
    np.testing.assert_array_equal(compiled(function)[0](np.ones((3, 4))), np.zeros(3))


def test_a_divisor_used_twice_becomes_a_reciprocal():
    counts = program_of(X[0] / X[3], X[1] / X[3], X[2] / X[3]).counts
    assert (counts.divisions, counts.multiplications) == (1, 3)
    given = program_of(1 / X[3], X[1] / X[3]).counts
    assert (given.divisions, given.multiplications) == (1, 1)


def test_fusing_joins_products_with_sums_and_keeps_the_counts():
    program = program_of(X[0] * X[1] + X[2])
    fused = fuse(program)
    assert operations(fused) == ["FMA"]
    assert fused.counts == program.counts
    assert operations(fuse(program_of(X[0] * X[1] - X[2]))) == ["FMS"]
    assert operations(fuse(program_of(X[2] - X[0] * X[1]))) == ["FNMA"]


def test_fusing_leaves_products_that_are_needed_themselves():
    product = X[0] * X[1]
    assert operations(fuse(program_of(product, product + X[2]))) == ["ADD", "MUL"]
    assert operations(fuse(program_of(ca.sin(product) + (product + X[2])))) == ["ADD", "ADD", "MUL", "SIN"]
    assert operations(fuse(program_of(product + product))) == ["ADD", "MUL"]
    assert operations(fuse(program_of(product + X[2] * X[3]))) == ["FMA", "MUL"]
    assert operations(fuse(program_of(product + X[2], product - X[3]))) == ["FMA", "FMS"]


def test_outputs_are_row_major_and_know_their_structural_nonzeros():
    matrix = ca.SX(2, 3)
    matrix[0, 2], matrix[1, 0] = X[0], X[1]
    program = program_of(matrix, ca.SX(2, 2))
    assert program.output_sizes == (6, 4)
    assert [[p for p, _ in output] for output in program.outputs] == [[2, 3], [0]]  # the last one: an explicit zero


def test_inputs_that_are_matrices_are_row_major(rng):
    matrix = ca.SX.sym("m", 2, 3)
    function = ca.Function("f", [matrix], [matrix * ca.DM([[1, 2, 3], [4, 5, 6]]), matrix[0, 2]])
    dense, _, _ = compiled(function)
    m = rng.normal(size=(11, 2, 3))
    for ours, theirs in zip(dense(m), expected(function, m), strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


def test_an_operation_without_vector_code_is_named():
    with pytest.raises(NotSupportedError, match="^f: CasADi's operation OP_SIGN has no vector code$"):
        program_of(ca.sign(X[0]))


def test_a_sparse_input_is_refused():
    sparse = ca.SX.sym("s", ca.Sparsity.lower(3))
    with pytest.raises(NotSupportedError, match="^f: input i0 is sparse; make it dense$"):
        program_of(ca.sum1(sparse), inputs=(sparse,))
