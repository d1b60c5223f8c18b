"""Where and when: a program cut into chunks, and a frame of rows that the chunks read and write.

One *tile* is as many samples as the vector is wide; its *frame* is a table of rows, one vector a row::

    inputs | scratch | outputs | zero

Values that live inside one chunk stay in registers; values that cross chunks get a scratch row, re-used when the last
reader is done. Sines and cosines, and what they need, come first: their code uses many registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinecast.engine.program import TRIG, Op, Program, operands

CHUNK_OPERATIONS = 500  # compile time grows faster than linearly with the size of a basic block


@dataclass(frozen=True)
class Chunk:
    """Values to compute in order; rows to load from; rows to store to."""

    values: tuple[int, ...]
    loads: dict[int, int]  # value -> row
    stores: dict[int, tuple[int, ...]]  # operand -> rows


@dataclass(frozen=True)
class Schedule:
    """Chunks and the frame they work on."""

    program: Program
    chunks: tuple[Chunk, ...]
    n_rows: int
    zero_row: int
    output_rows: tuple[tuple[int, ...], ...]  # for each output: the row of each dense position
    sparse_rows: tuple[tuple[int, ...], ...]  # for each output: the rows of its structural nonzeros, in order


def schedule(program: Program, chunk_operations: int = CHUNK_OPERATIONS) -> Schedule:
    """Order, cut and place a fused program."""
    code, args = program.code, program.args
    computed = [v for v in range(len(code)) if code[v] not in (Op.CONST, Op.INPUT)]
    first = _trig_closure(program)
    order = [v for v in computed if v in first], [v for v in computed if v not in first]
    groups: list[list[int]] = []
    for part in order:
        groups += [part[k : k + chunk_operations] for k in range(0, len(part), chunk_operations)]
    if not groups:
        groups = [[]]
    chunk_of = {v: c for c, group in enumerate(groups) for v in group}

    last_chunk: dict[int, int] = {}
    for v in computed:
        for a in operands(code[v], args[v]):
            last_chunk[a >> 1] = max(last_chunk.get(a >> 1, -1), chunk_of[v])

    n_inputs = program.n_inputs
    slot: dict[int, int] = {}
    expires: dict[int, list[int]] = {}
    free: list[int] = []
    n_slots = 0
    for c, group in enumerate(groups):
        free += expires.pop(c, [])
        for v in group:
            if last_chunk.get(v, c) > c:
                if free:
                    slot[v] = free.pop()
                else:
                    slot[v] = n_slots
                    n_slots += 1
                expires.setdefault(last_chunk[v] + 1, []).append(slot[v])
    first_output = n_inputs + n_slots
    row_of_operand: dict[int, int] = {}
    for output in program.outputs:
        for _, a in output:
            if code[a >> 1] == Op.INPUT and not a & 1:
                row_of_operand[a] = args[a >> 1][0]
            else:
                row_of_operand.setdefault(a, first_output + len(row_of_operand))
    zero_row = first_output + len(row_of_operand)

    stores_by_chunk: list[dict[int, tuple[int, ...]]] = [{} for _ in groups]
    for v, s in slot.items():
        stores_by_chunk[chunk_of[v]][2 * v] = (n_inputs + s,)
    for a, row in row_of_operand.items():
        if row < n_inputs:
            continue
        c = chunk_of.get(a >> 1, len(groups) - 1)
        stores_by_chunk[c][a] = (*stores_by_chunk[c].get(a, ()), row)
    chunks = []
    for c, group in enumerate(groups):
        wanted = {a >> 1 for v in group for a in operands(code[v], args[v])} | {a >> 1 for a in stores_by_chunk[c]}
        loads = {}
        for v in sorted(wanted):
            if code[v] == Op.INPUT:
                loads[v] = args[v][0]
            elif code[v] != Op.CONST and chunk_of[v] != c:
                loads[v] = n_inputs + slot[v]
        chunks.append(Chunk(tuple(group), loads, stores_by_chunk[c]))
    dense = []
    for size, output in zip(program.output_sizes, program.outputs, strict=True):
        rows = [zero_row] * size
        for position, a in output:
            rows[position] = row_of_operand[a]
        dense.append(tuple(rows))
    sparse = tuple(tuple(row_of_operand[a] for _, a in output) for output in program.outputs)
    return Schedule(program, tuple(chunks), zero_row + 1, zero_row, tuple(dense), sparse)


def _trig_closure(program: Program) -> set[int]:
    """All sines and cosines with everything they are computed from."""
    need: set[int] = set()
    stack = [v for v, op in enumerate(program.code) if op in TRIG]
    while stack:
        v = stack.pop()
        if v not in need:
            need.add(v)
            stack += [a >> 1 for a in operands(program.code[v], program.args[v])]
    return need
