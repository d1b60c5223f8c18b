"""NumPy arrays <-> rows of a frame, as LLVM text.

A frame's row holds one number of each of W samples; an array holds the numbers of one sample side by side. Where they
are contiguous, squares of W x W numbers are turned in registers; any other strides go element by element. Lanes beyond
the last valid sample repeat it: reading and writing it more than once is harmless, and spares the masks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kinecast.engine.simd import Target, Writer

UNROLLED_BLOCKS = 3  # blocks written out one after the other; more become a loop over a table
NAN = "0x7FF8000000000000"


@dataclass(frozen=True)
class Block:
    """Where a piece of W numbers begins, and whether all of it is structural zeros or overwritten by the next piece."""

    start: int
    zero: bool = False


def blocks(size: int, width: int, zeros: frozenset[int] = frozenset()) -> list[Block]:
    """Pieces of ``width`` in ascending order that cover ``size`` numbers; the last may reach back into its predecessor.

    Runs of zeros that are worth it get pieces of their own, which store without reading or turning anything; what such
    a piece writes beyond its run is overwritten by its successor. A size below the width gives one piece (see `_mask`).
    """
    found = []
    at = 0
    while at < size:
        run = 0
        while run < width and at + run in zeros:
            run += 1
        if 2 * run >= width and at + width <= size:
            found.append(Block(at, zero=True))
            at += run
        else:
            found.append(Block(max(0, min(at, size - width))))
            at += width
    return found


def prelude(target: Target) -> str:
    """What the functions of this module call."""
    v, w = target.vector, target.width
    declares = f"""declare {v} @llvm.masked.load.v{w}f64.p0(ptr, i32, {target.mask}, {v})
declare void @llvm.masked.store.v{w}f64.p0({v}, ptr, i32, {target.mask})
declare i64 @llvm.smin.i64(i64, i64)
"""
    return declares + _transpose(target) + _pack_strided(target) + _unpack_strided(target) + _poison(target)


def pack(target: Target, name: str, size: int) -> str:
    """``name(array, stride, valid, frame)``: contiguous numbers of samples ``stride`` bytes apart become rows."""
    out = Writer(target)
    w, v = target.width, target.vector
    out.do(" %same = icmp eq i64 %stride, 0\n br i1 %same, label %splat, label %turn\nsplat:")
    with out.loop(str(size)) as k:
        number = out.let(f"load double, ptr {out.item('double', '%array', k)}, align 8")
        one = out.let(f"insertelement {v} poison, double {number}, i64 0")
        every = out.let(f"shufflevector {v} {one}, {v} poison, <{w} x i32> zeroinitializer")
        out.do(f" store {v} {every}, ptr {out.item(v, '%frame', k)}, align {8 * w}")
    out.do(" ret void\nturn:")
    samples = _samples(out)

    def turned(start: str) -> None:
        rows = _turn(out, [_load(out, out.item("double", sample, start), size) for sample in samples])
        for k, row in enumerate(rows[:size]):
            to = out.item(v, out.item(v, "%frame", start), str(k))
            out.do(f" store {v} {row}, ptr {to}, align {8 * w}")

    table = _each_block(out, name, blocks(size, w), turned)
    return table + _function(name, "ptr noalias %array, i64 %stride, i64 %valid, ptr noalias %frame", out)


def unpack(target: Target, name: str, rows: tuple[int, ...], zero_row: int) -> str:
    """``name(frame, array, stride, valid)``: rows of a frame, in the order of ``rows``, become contiguous numbers.

    Defines ``name_rows`` too, the table of byte offsets that `unpack_strided` reads.
    """
    out = Writer(target)
    w, v, size = target.width, target.vector, len(rows)
    samples = _samples(out)

    def turned(start: str) -> None:
        entries = out.item("i32", f"@{name}_rows", start)
        loaded = []
        for k in range(min(w, size)):
            offset = out.let(f"load i32, ptr {out.item('i32', entries, str(k))}, align 4")
            row = out.item("i8", "%frame", out.let(f"zext i32 {offset} to i64"))
            loaded.append(out.let(f"load {v}, ptr {row}, align {8 * w}"))
        turned = _turn(out, loaded + ["zeroinitializer"] * (w - len(loaded)))
        for sample, numbers in zip(samples, turned, strict=True):
            _store(out, numbers, out.item("double", sample, start), size)

    def zeros(start: str) -> None:
        for sample in samples:
            _store(out, "zeroinitializer", out.item("double", sample, start), size)

    structural = frozenset(k for k, row in enumerate(rows) if row == zero_row)
    table = _each_block(out, name, blocks(size, w, structural), turned, zeros)
    offsets = ", ".join(f"i32 {row * 8 * w}" for row in rows)
    signature = "ptr noalias %frame, ptr noalias %array, i64 %stride, i64 %valid"
    return f"@{name}_rows = internal constant [{size} x i32] [{offsets}]\n{table}" + _function(name, signature, out)


def _function(name: str, signature: str, out: Writer) -> str:
    return f"define internal void @{name}({signature}) {{\n{out.body()}\n ret void\n}}\n"


def _samples(out: Writer) -> list[str]:
    """Addresses of the W samples of a tile; beyond the last valid one, that one again."""
    last = out.let("sub i64 %valid, 1")
    lanes = [out.let(f"call i64 @llvm.smin.i64(i64 {lane}, i64 {last})") for lane in range(out.target.width)]
    return [out.item("i8", "%array", out.let(f"mul i64 %stride, {lane}")) for lane in lanes]


def _each_block(
    out: Writer,
    name: str,
    pieces: list[Block],
    turned: Callable[[str], None],
    zeros: Callable[[str], None] | None = None,
) -> str:
    """Write ``turned`` or ``zeros`` for every piece, as a loop if they are many; gives the table that needs."""
    if len(pieces) <= UNROLLED_BLOCKS:
        for piece in pieces:
            (zeros if zeros and piece.zero else turned)(str(piece.start))
        return ""
    with out.loop(str(len(pieces))) as k:
        entry = out.let(f"load i32, ptr {out.item('i32', f'@{name}_blocks', k)}, align 4")
        start = out.let(f"sext i32 {entry} to i64")
        if not (zeros and any(piece.zero for piece in pieces)):
            turned(start)
        else:  # a piece of zeros stands in the table as the complement of its start
            zero = out.let(f"icmp slt i64 {start}, 0")
            out.do(f" br i1 {zero}, label %zeros, label %numbers\nzeros:")
            zeros(out.let(f"xor i64 {start}, -1"))
            out.do(" br label %both\nnumbers:")
            turned(start)
            out.do(" br label %both\nboth:")
    entries = ", ".join(f"i32 {~piece.start if piece.zero else piece.start}" for piece in pieces)
    return f"@{name}_blocks = internal constant [{len(pieces)} x i32] [{entries}]\n"


def _mask(target: Target, valid: int) -> str:
    return "<" + ", ".join(f"i1 {'true' if k < valid else 'false'}" for k in range(target.width)) + ">"


def _load(out: Writer, address: str, size: int) -> str:
    t, v = out.target, out.target.vector
    if size >= t.width:
        return out.let(f"load {v}, ptr {address}, align 8")
    rest = f"{t.mask} {_mask(t, size)}, {v} zeroinitializer"
    return out.let(f"call {v} @llvm.masked.load.v{t.width}f64.p0(ptr {address}, i32 8, {rest})")


def _store(out: Writer, numbers: str, address: str, size: int) -> None:
    t, v = out.target, out.target.vector
    if size >= t.width:
        out.do(f" store {v} {numbers}, ptr {address}, align 8")
    else:
        mask = f"{t.mask} {_mask(t, size)}"
        out.do(f" call void @llvm.masked.store.v{t.width}f64.p0({v} {numbers}, ptr {address}, i32 8, {mask})")


def _turn(out: Writer, vectors: list[str]) -> list[str]:
    """The transpose of a square of vectors, by a call that is inlined."""
    square = f"[{out.target.width} x {out.target.vector}]"
    packed = "poison"
    for k, vector in enumerate(vectors):
        packed = out.let(f"insertvalue {square} {packed}, {out.target.vector} {vector}, {k}")
    turned = out.let(f"call {square} @transpose({square} {packed})")
    return [out.let(f"extractvalue {square} {turned}, {k}") for k in range(len(vectors))]


def _transpose(target: Target) -> str:
    """``transpose``: a square of vectors, by butterflies of growing distance."""
    w, v = target.width, target.vector
    square = f"[{w} x {v}]"
    out = Writer(target)
    rows = [out.let(f"extractvalue {square} %square, {k}") for k in range(w)]
    distance = 1
    while distance < w:
        fresh = list(rows)
        for i in (i for i in range(w) if not i & distance):
            upper = [k if not k & distance else w + k - distance for k in range(w)]
            lower = [k + distance if not k & distance else w + k for k in range(w)]
            for pattern, row in ((upper, i), (lower, i + distance)):
                mask = ", ".join(f"i32 {k}" for k in pattern)
                fresh[row] = out.let(f"shufflevector {v} {rows[i]}, {v} {rows[i + distance]}, <{w} x i32> <{mask}>")
        rows = fresh
        distance *= 2
    result = "poison"
    for k, turned in enumerate(rows):
        result = out.let(f"insertvalue {square} {result}, {v} {turned}, {k}")
    body = f"{out.body()}\n ret {square} {result}"
    return f"define internal {square} @transpose({square} %square) alwaysinline {{\n{body}\n}}\n"


STRIDES = "i64 %d0, i64 %s0, i64 %d1, i64 %s1, i64 %d2, i64 %s2"  # three core dimensions and their strides in bytes


def strides_of(shape: tuple[int, ...], strides: list[str]) -> str:
    """Arguments for `STRIDES`: the core dimensions of a port, filled up with ones."""
    missing = [("1", "0")] * (3 - len(shape))
    pairs = [*missing, *zip(map(str, shape), strides, strict=True)]
    return ", ".join(f"i64 {d}, i64 {s}" for d, s in pairs)


def _elements(out: Writer, sample: str, body: Callable[[str, str], None]) -> None:
    """Write ``body(address, number)`` for every element of a sample, in row-major order of up to three dimensions."""
    with out.loop("%d0") as i, out.loop("%d1") as j, out.loop("%d2") as k:
        address, number = sample, "0"
        for index, d in ((i, 0), (j, 1), (k, 2)):
            address = out.item("i8", address, out.let(f"mul i64 {index}, %s{d}"))
            number = out.let(f"add i64 {out.let(f'mul i64 {number}, %d{d}')}, {index}")
        body(address, number)


def _pack_strided(target: Target) -> str:
    """``pack_strided(array, stride, valid, frame, STRIDES)``: as `pack`, for any strides."""
    out, w = Writer(target), target.width
    last = out.let("sub i64 %valid, 1")
    with out.loop(str(w)) as lane:
        sample = out.let(f"call i64 @llvm.smin.i64(i64 {lane}, i64 {last})")

        def body(address: str, number: str) -> None:
            x = out.let(f"load double, ptr {address}, align 8")
            place = out.let(f"add i64 {out.let(f'mul i64 {number}, {w}')}, {lane}")
            out.do(f" store double {x}, ptr {out.item('double', '%frame', place)}, align 8")

        _elements(out, out.item("i8", "%array", out.let(f"mul i64 {sample}, %stride")), body)
    return _function("pack_strided", f"ptr %array, i64 %stride, i64 %valid, ptr %frame, {STRIDES}", out)


def _unpack_strided(target: Target) -> str:
    """``unpack_strided(frame, rows, array, stride, valid, STRIDES)``: as `unpack`, for any strides."""
    out = Writer(target)
    with out.loop("%valid") as lane:

        def body(address: str, number: str) -> None:
            offset = out.let(f"load i32, ptr {out.item('i32', '%rows', number)}, align 4")
            row = out.item("i8", "%frame", out.let(f"zext i32 {offset} to i64"))
            x = out.let(f"load double, ptr {out.item('double', row, lane)}, align 8")
            out.do(f" store double {x}, ptr {address}, align 8")

        _elements(out, out.item("i8", "%array", out.let(f"mul i64 {lane}, %stride")), body)
    signature = f"ptr %frame, ptr %rows, ptr %array, i64 %stride, i64 %valid, {STRIDES}"
    return _function("unpack_strided", signature, out)


def _poison(target: Target) -> str:
    """``poison(array, bad, stride, valid, STRIDES)``: NaN into the samples whose bit is set in ``bad``."""
    out = Writer(target)
    with out.loop("%valid") as lane:
        bit = out.let(f"and i64 {out.let(f'lshr i64 %bad, {lane}')}, 1")
        out.do(f" %good = icmp eq i64 {bit}, 0\n br i1 %good, label %after, label %sample\nsample:")
        _elements(
            out,
            out.item("i8", "%array", out.let(f"mul i64 {lane}, %stride")),
            lambda address, _: out.do(f" store double {NAN}, ptr {address}, align 8"),
        )
        out.do(" br label %after\nafter:")
    return _function("poison", f"ptr %array, i64 %bad, i64 %stride, i64 %valid, {STRIDES}", out)
