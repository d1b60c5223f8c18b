import numpy as np
import pytest
from engine_cases import CLOSE, compiled, everything, expected, random_program

from kinecast.engine.program import Op, fuse, operands, read
from kinecast.engine.schedule import schedule


@pytest.mark.parametrize("chunk_operations", [1, 2, 3, 7, 50, 10_000])
def test_chunks_of_any_size_compute_the_same(rng, chunk_operations):
    function = everything()
    dense, _, _ = compiled(function, chunk_operations=chunk_operations)
    x, y = rng.normal(size=(13, 3)), rng.normal(size=(13, 2, 2))
    for ours, theirs in zip(dense(x, y), expected(function, x, y), strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    function = random_program(rng)
    dense, _, _ = compiled(function, chunk_operations=int(rng.integers(5, 60)))
    x = rng.normal(size=(9, 6))
    for ours, theirs in zip(dense(x), expected(function, x), strict=True):
        np.testing.assert_allclose(ours, theirs, **CLOSE)


@pytest.fixture(params=[1, 4, 30, 1000])
def plan(request):
    return schedule(fuse(read(random_program(np.random.default_rng(5), operations=600))), request.param)


def test_every_value_is_computed_once_in_a_chunk_of_the_size_asked_for(plan):
    values = [v for chunk in plan.chunks for v in chunk.values]
    assert sorted(values) == [v for v, op in enumerate(plan.program.code) if op not in (Op.CONST, Op.INPUT)]


def test_a_row_is_read_only_while_it_holds_the_value_asked_for(plan):
    program = plan.program
    holds = {row: v for v, op in enumerate(program.code) if op == Op.INPUT for row in program.args[v]}
    for chunk in plan.chunks:
        assert all(holds[row] == v for v, row in chunk.loads.items())
        have = set(chunk.loads)
        for v in chunk.values:
            needed = {a >> 1 for a in operands(program.code[v], program.args[v])}
            assert all(u in have or program.code[u] == Op.CONST for u in needed)
            have.add(v)
        for operand, rows in chunk.stores.items():
            # Loads may come late in a chunk's code, so no row that it reads may be written by it.
            assert not set(rows) & set(chunk.loads.values())
            holds.update((row, operand >> 1) for row in rows)


def test_rows_are_used_again(plan):
    crossing = sum(len(chunk.stores) for chunk in plan.chunks)
    if len(plan.chunks) > 10:
        assert plan.n_rows < crossing
