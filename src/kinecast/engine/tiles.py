"""The loop around a program: NumPy arrays -> tiles of samples -> chunks -> NumPy arrays, as LLVM text.

The loop has NumPy's signature ``void (char **args, npy_intp *dimensions, npy_intp *steps, void *data)``. It allocates its frames on
the heap (one set a call, so one a thread), packs a group of tiles, runs every chunk over the group (the code of a chunk
stays in the instruction cache), and unpacks. Contiguous core dimensions go through register transposes; any other stride
goes element by element. A sample with a NaN or an infinity among its inputs gets NaN in every output.
"""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass

from kinecast.engine.schedule import Schedule
from kinecast.engine.simd import Target, Writer

UNROLL_BLOCKS = 3  # blocks of a transposition written out; more become a loop
INSTRUCTION_CACHE_OPERATIONS = 2500  # a program below this stays in the cache by itself: one tile a group
FRAME_BUDGET = 2 * 1024 * 1024  # bytes of frames a group may use: beyond the second-level cache the gain is gone
MAX_TILES = 4


@dataclass(frozen=True)
class Port:
    """One argument of a kernel: its name and the shape of one sample (up to three dimensions)."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def tiles_in_group(schedule: Schedule, target: Target, n_operations: int) -> int:
    """How many tiles run through a chunk before the next chunk starts."""
    if n_operations <= INSTRUCTION_CACHE_OPERATIONS:
        return 1
    return max(1, min(MAX_TILES, FRAME_BUDGET // frame_bytes(schedule, target)))


def frame_bytes(schedule: Schedule, target: Target) -> int:
    """Size of one tile's frame, kept off multiples of the page size (frames a page multiple apart evict each other)."""
    size = -(-schedule.n_rows * 8 * target.width // 64) * 64
    return size + 64 if size % 4096 == 0 else size


def driver_module(
    schedule: Schedule, target: Target, inputs: tuple[Port, ...], outputs: tuple[Port, ...], tiles: int, entry_points: dict[str, bool]
) -> str:
    """LLVM text with one loop for each entry point ``{name: outputs as structural nonzeros only}``."""
    chunks = [f"chunk{c}" for c in range(len(schedule.chunks))]
    parts = [_preamble(target), _transpose(target), _pack_strided(target), _unpack_strided(target), _poison()]
    parts += [f"declare void @{c}(ptr)\n" for c in chunks]
    for k, port in enumerate(inputs):
        parts.append(_pack(target, k, port.size))
    for name, sparse in entry_points.items():
        rows = schedule.sparse_rows if sparse else schedule.output_rows
        shapes = [(len(r),) for r in rows] if sparse else [p.shape for p in outputs]
        for k, r in enumerate(rows):
            parts.append(_unpack(target, f"{name}_unpack{k}", r))
        parts.append(_loop(schedule, target, name, inputs, rows, shapes, chunks, tiles))
    return "\n".join(parts)


def _preamble(target: Target) -> str:
    v, w = target.vector, target.width
    return f"""declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyErr_NoMemory()
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare {v} @llvm.masked.load.v{w}f64.p0(ptr, i32, {target.mask}, {v})
declare void @llvm.masked.store.v{w}f64.p0({v}, ptr, i32, {target.mask})
declare {v} @llvm.fma.v{w}f64({v}, {v}, {v})
"""


def _transpose(target: Target) -> str:
    """``transpose``: a square of vectors, by butterflies of growing distance."""
    w, v = target.width, target.vector
    square = f"[{w} x {v}]"
    out = Writer(target)
    rows = [out.let(f"extractvalue {square} %square, {k}") for k in range(w)]
    distance = 1
    while distance < w:
        fresh = list(rows)
        for i in range(w):
            if i & distance:
                continue
            a, b = rows[i], rows[i + distance]
            low = [k if not k & distance else w + k - distance for k in range(w)]
            high = [k + distance if not k & distance else w + k for k in range(w)]
            for index, target_row in ((low, i), (high, i + distance)):
                mask = ", ".join(f"i32 {k}" for k in index)
                fresh[target_row] = out.let(f"shufflevector {v} {a}, {v} {b}, <{w} x i32> <{mask}>")
        rows = fresh
        distance *= 2
    result = "undef"
    for k in range(w):
        result = out.let(f"insertvalue {square} {result}, {v} {rows[k]}, {k}")
    body = "\n".join(out.lines)
    return f"define internal {square} @transpose({square} %square) alwaysinline {{\n{body}\n ret {square} {result}\n}}\n"


def _blocks(size: int, width: int) -> tuple[list[int], int]:
    """Starts of blocks of ``width`` that cover ``size`` entries (the last may overlap), and the entries of a lone short block."""
    if size < width:
        return [0], size
    starts = list(range(0, size - width + 1, width))
    if starts[-1] + width < size:
        starts.append(size - width)
    return starts, width


def _constant_mask(target: Target, valid: int) -> str:
    return "<" + ", ".join(f"i1 {'true' if k < valid else 'false'}" for k in range(target.width)) + ">"


def _gather(out: Writer, items: list[str]) -> str:
    square = f"[{out.target.width} x {out.target.vector}]"
    result = "undef"
    for k, item in enumerate(items):
        result = out.let(f"insertvalue {square} {result}, {out.target.vector} {item}, {k}")
    turned = out.let(f"call {square} @transpose({square} {result})")
    return turned


def _pack(target: Target, k: int, size: int) -> str:
    """``pack<k>``: `size` contiguous numbers of each of W samples become `size` rows. Lanes share one sample where the stride is 0."""
    w, v = target.width, target.vector
    square = f"[{w} x {v}]"
    out = Writer(target)
    out.do(f" %same = icmp eq i64 %outer, 0\n br i1 %same, label %splat, label %full\nsplat:\n br label %sloop\nsloop:\n"
           f" %r = phi i64 [0, %splat], [%r2, %sloop]\n %sp = getelementptr double, ptr %src, i64 %r\n %x = load double, ptr %sp, align 8\n"
           f" %x0 = insertelement {v} undef, double %x, i64 0\n %xs = shufflevector {v} %x0, {v} undef, <{w} x i32> zeroinitializer\n"
           f" %dp = getelementptr {v}, ptr %dst, i64 %r\n store {v} %xs, ptr %dp, align {8 * w}\n %r2 = add i64 %r, 1\n"
           f" %more = icmp slt i64 %r2, {size}\n br i1 %more, label %sloop, label %done\nfull:")  # fmt: skip
    lanes = []
    for lane in range(w):
        step = out.let(f"mul i64 %outer, {lane}")
        lanes.append(out.let(f"getelementptr i8, ptr %src, i64 {step}"))
    starts, valid = _blocks(size, w)

    def block(start: str) -> None:
        items = []
        for lane in range(w):
            p = out.let(f"getelementptr double, ptr {lanes[lane]}, i64 {start}")
            if valid == w:
                items.append(out.let(f"load {v}, ptr {p}, align 8"))
            else:
                mask = _constant_mask(target, valid)
                items.append(out.let(f"call {v} @llvm.masked.load.v{w}f64.p0(ptr {p}, i32 8, {target.mask} {mask}, {v} zeroinitializer)"))
        turned = _gather(out, items)
        base = out.let(f"getelementptr {v}, ptr %dst, i64 {start}")
        for row in range(valid):
            value = out.let(f"extractvalue {square} {turned}, {row}")
            out.do(f" store {v} {value}, ptr {out.let(f'getelementptr {v}, ptr {base}, i64 {row}')}, align {8 * w}")

    _over_blocks(out, starts, block, w)
    body = "\n".join(out.lines)
    return f"define internal void @pack{k}(ptr noalias %src, i64 %outer, ptr noalias %dst) {{\nentry:\n{body}\ndone:\n ret void\n}}\n"


def _over_blocks(out: Writer, starts: list[int], block, width: int) -> None:  # noqa: ANN001
    """Write the blocks out, or loop over the regular ones; ends in a branch to ``done``."""
    if len(starts) <= UNROLL_BLOCKS:
        for start in starts:
            block(str(start))
        out.do(" br label %done")
        return
    regular = [s for k, s in enumerate(starts) if s == k * width]
    before = out.let("add i64 0, 0")
    out.do(f" br label %pre\npre:\n br label %bloop\nbloop:\n %b = phi i64 [{before}, %pre], [%b2, %bloop]")
    block("%b")
    out.do(f" %b2 = add i64 %b, {width}\n %bmore = icmp slt i64 %b2, {len(regular) * width}\n br i1 %bmore, label %bloop, label %tail\ntail:")
    for start in starts[len(regular) :]:
        block(str(start))
    out.do(" br label %done")


def _unpack(target: Target, name: str, rows: tuple[int, ...]) -> str:
    """``name``: rows of a frame, in the order of a table, become contiguous numbers of W samples; and the table for other strides."""
    w, v = target.width, target.vector
    square = f"[{w} x {v}]"
    size = len(rows)
    out = Writer(target)
    table = ", ".join(f"i32 {r * 8 * w}" for r in rows)
    lanes = []
    for lane in range(w):
        step = out.let(f"mul i64 %outer, {lane}")
        lanes.append(out.let(f"getelementptr i8, ptr %dst, i64 {step}"))
    if size == 0:
        return f"@{name}_rows = internal constant [0 x i32] []\ndefine internal void @{name}(ptr %frame, ptr %dst, i64 %outer) {{\n ret void\n}}\n"
    starts, valid = _blocks(size, w)

    def block(start: str) -> None:
        items = []
        base = out.let(f"getelementptr i32, ptr @{name}_rows, i64 {start}")
        for k in range(w):
            if k >= valid:
                items.append("zeroinitializer")
                continue
            entry = out.let(f"getelementptr i32, ptr {base}, i64 {k}")
            offset = out.let(f"load i32, ptr {entry}, align 4")
            wide = out.let(f"zext i32 {offset} to i64")
            row = out.let(f"getelementptr i8, ptr %frame, i64 {wide}")
            items.append(out.let(f"load {v}, ptr {row}, align {8 * w}"))
        turned = _gather(out, items)
        for lane in range(w):
            value = out.let(f"extractvalue {square} {turned}, {lane}")
            p = out.let(f"getelementptr double, ptr {lanes[lane]}, i64 {start}")
            if valid == w:
                out.do(f" store {v} {value}, ptr {p}, align 8")
            else:
                out.do(f" call void @llvm.masked.store.v{w}f64.p0({v} {value}, ptr {p}, i32 8, {target.mask} {_constant_mask(target, valid)})")

    _over_blocks(out, starts, block, w)
    body = "\n".join(out.lines)
    return (
        f"@{name}_rows = internal constant [{size} x i32] [{table}]\n"
        f"define internal void @{name}(ptr noalias %frame, ptr noalias %dst, i64 %outer) {{\nentry:\n{body}\ndone:\n ret void\n}}\n"
    )


# Element-by-element loops over a core array of up to three dimensions (d0, d1, d2) with byte strides (s0, s1, s2). %at is the
# address of the element and %p its number in row-major order. %body is the text that uses them.
_STRIDED = """define internal void @{name}({arguments}, i64 %outer, i64 %valid, i64 %d0, i64 %s0, i64 %d1, i64 %s1, i64 %d2, i64 %s2) noinline {{
entry:
 br label %lane
lane:
 %l = phi i64 [0, %entry], [%l2, %nextlane]
{choose}
 %lo = mul i64 %sample, %outer
 %la = getelementptr i8, ptr %array, i64 %lo
 br i1 %skip, label %nextlane, label %d0loop
d0loop:
 %i0 = phi i64 [0, %lane], [%i0n, %d0next]
 %o0 = mul i64 %i0, %s0
 %a0 = getelementptr i8, ptr %la, i64 %o0
 %p0 = mul i64 %i0, %d1
 br label %d1loop
d1loop:
 %i1 = phi i64 [0, %d0loop], [%i1n, %d1next]
 %o1 = mul i64 %i1, %s1
 %a1 = getelementptr i8, ptr %a0, i64 %o1
 %p1a = add i64 %p0, %i1
 %p1 = mul i64 %p1a, %d2
 br label %d2loop
d2loop:
 %i2 = phi i64 [0, %d1loop], [%i2n, %d2loop]
 %o2 = mul i64 %i2, %s2
 %at = getelementptr i8, ptr %a1, i64 %o2
 %p = add i64 %p1, %i2
{body}
 %i2n = add i64 %i2, 1
 %c2 = icmp slt i64 %i2n, %d2
 br i1 %c2, label %d2loop, label %d1next
d1next:
 %i1n = add i64 %i1, 1
 %c1 = icmp slt i64 %i1n, %d1
 br i1 %c1, label %d1loop, label %d0next
d0next:
 %i0n = add i64 %i0, 1
 %c0 = icmp slt i64 %i0n, %d0
 br i1 %c0, label %d0loop, label %nextlane
nextlane:
 %l2 = add i64 %l, 1
 %cl = icmp slt i64 %l2, {lanes}
 br i1 %cl, label %lane, label %done
done:
 ret void
}}
"""


def _pack_strided(target: Target) -> str:
    """Every lane gets a sample; lanes beyond the last valid one repeat it."""
    w = target.width
    return _STRIDED.format(
        name="pack_strided",
        arguments="ptr %array, ptr %dst",
        lanes=w,
        choose=" %last = sub i64 %valid, 1\n %sample = call i64 @llvm.smin.i64(i64 %l, i64 %last)\n %skip = icmp slt i64 %valid, 1",
        body=f" %x = load double, ptr %at, align 8\n %f0 = mul i64 %p, {w}\n %f1 = add i64 %f0, %l\n"
        " %fp = getelementptr double, ptr %dst, i64 %f1\n store double %x, ptr %fp, align 8",
    )


def _unpack_strided(target: Target) -> str:
    return _STRIDED.format(
        name="unpack_strided",
        arguments="ptr %array, ptr %frame, ptr %table",
        lanes="%valid",
        choose=" %sample = add i64 %l, 0\n %skip = icmp slt i64 %valid, 1",
        body=" %tp = getelementptr i32, ptr %table, i64 %p\n %off = load i32, ptr %tp, align 4\n %off64 = zext i32 %off to i64\n"
        " %rp = getelementptr i8, ptr %frame, i64 %off64\n %ep = getelementptr double, ptr %rp, i64 %l\n"
        " %x = load double, ptr %ep, align 8\n store double %x, ptr %at, align 8",
    )


def _poison() -> str:
    return _STRIDED.format(
        name="poison",
        arguments="ptr %array, i64 %bad",
        lanes="%valid",
        choose=" %sample = add i64 %l, 0\n %bits = lshr i64 %bad, %l\n %bit = and i64 %bits, 1\n %skip = icmp eq i64 %bit, 0",
        body=" store double 0x7FF8000000000000, ptr %at, align 8",
    )


def _loop(
    schedule: Schedule,
    target: Target,
    name: str,
    inputs: tuple[Port, ...],
    rows: tuple[tuple[int, ...], ...],
    shapes: list[tuple[int, ...]],
    chunks: list[str],
    tiles: int,
) -> str:
    w, v = target.width, target.vector
    size = frame_bytes(schedule, target)
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    operands = [p.shape for p in inputs] + shapes
    out = Writer(target)
    out.do(" %csr = alloca i32\n %n = load i64, ptr %dims, align 8")
    if x86:
        out.do(" call void @llvm.x86.sse.stmxcsr(ptr %csr)")
    step = len(operands)  # core strides follow the outer ones, in the order of the operands
    strides = []
    for k, shape in enumerate(operands):
        out.do(f" %argp{k} = getelementptr ptr, ptr %args, i64 {k}\n %arg{k} = load ptr, ptr %argp{k}, align 8")
        out.do(f" %outp{k} = getelementptr i64, ptr %steps, i64 {k}\n %outer{k} = load i64, ptr %outp{k}, align 8")
        mine = []
        contiguous, expected = "true", 8
        for d in reversed(range(len(shape))):
            s = out.let(f"load i64, ptr {out.let(f'getelementptr i64, ptr %steps, i64 {step + d}')}, align 8")
            mine.insert(0, (shape[d], s))
            if shape[d] > 1:
                contiguous = out.let(f"and i1 {contiguous}, {out.let(f'icmp eq i64 {s}, {expected}')}")
            expected *= shape[d]
        step += len(shape)
        out.do(f" %contiguous{k} = and i1 {contiguous}, true")
        strides.append(", ".join(f"i64 {d}, i64 {s}" for d, s in [(1, "0")] * (3 - len(mine)) + mine))
    out.do(f" %raw = call ptr @malloc(i64 {size * tiles + 64})\n %null = icmp eq ptr %raw, null\n br i1 %null, label %nomemory, label %start")
    out.do("nomemory:\n %gil = call i32 @PyGILState_Ensure()\n call ptr @PyErr_NoMemory()\n call void @PyGILState_Release(i32 %gil)\n ret void")
    out.do("start:\n %rawi = ptrtoint ptr %raw to i64\n %rawu = add i64 %rawi, 63\n %rawa = and i64 %rawu, -64\n %frames = inttoptr i64 %rawa to ptr")
    out.do(f" %bads = alloca [{tiles} x i64], align 8\n br label %group\ngroup:\n %i = phi i64 [0, %start], [%inext, %groupend]")
    out.do(" %more = icmp slt i64 %i, %n\n br i1 %more, label %packs, label %exit\npacks:\n br label %ptile")

    def tile(label: str, before: str, latch: str) -> None:
        out.do(f"{label}:\n %{label}t = phi i64 [0, %{before}], [%{label}n, %{latch}]\n %{label}o = mul i64 %{label}t, {w}")
        out.do(f" %{label}first = add i64 %i, %{label}o\n %{label}left = sub i64 %n, %{label}first")
        out.do(f" %{label}valid = call i64 @llvm.smin.i64(i64 %{label}left, i64 {w})\n %{label}fo = mul i64 %{label}t, {size}")
        out.do(f" %{label}frame = getelementptr i8, ptr %frames, i64 %{label}fo")

    def next_tile(label: str, done: str) -> None:
        out.do(f" %{label}n = add i64 %{label}t, 1\n %{label}no = mul i64 %{label}n, {w}\n %{label}nf = add i64 %i, %{label}no")
        out.do(f" %{label}c1 = icmp slt i64 %{label}nf, %n\n %{label}c2 = icmp slt i64 %{label}n, {tiles}\n %{label}c = and i1 %{label}c1, %{label}c2")
        out.do(f" br i1 %{label}c, label %{label}, label %{done}")

    tile("ptile", "packs", "packed")
    out.do(f" %partial = icmp slt i64 %ptilevalid, {w}\n %single = icmp eq i64 %ptilevalid, 1")
    row = 0
    for k, port in enumerate(inputs):
        source = out.let(f"getelementptr i8, ptr %arg{k}, i64 {out.let(f'mul i64 %ptilefirst, %outer{k}')}")
        dst = out.address("%ptileframe", row * 8 * w)
        # One valid sample is the same as a stride of zero, which the fast path takes.
        stride = out.let(f"select i1 %single, i64 0, i64 %outer{k}")
        zero = out.let(f"icmp eq i64 {stride}, 0")
        whole = out.let("xor i1 %partial, true")
        whole = out.let(f"or i1 {whole}, {zero}")
        fast = out.let(f"and i1 {whole}, %contiguous{k}")
        out.do(f" br i1 {fast}, label %pf{k}, label %ps{k}\npf{k}:\n call void @pack{k}(ptr {source}, i64 {stride}, ptr {dst})\n br label %pd{k}")
        out.do(f"ps{k}:\n call void @pack_strided(ptr {source}, ptr {dst}, i64 %outer{k}, i64 %ptilevalid, {strides[k]})\n br label %pd{k}\npd{k}:")
        row += port.size
    sums = ["zeroinitializer"] * 4
    for r in range(row):
        x = out.load_row("%ptileframe", r)
        sums[r % 4] = out.let(f"call {v} @llvm.fma.v{w}f64({v} {x}, {v} zeroinitializer, {v} {sums[r % 4]})") if target.fma else out.exact(
            "fadd", out.exact("fmul", x, "zeroinitializer"), sums[r % 4])  # fmt: skip
    total = out.exact("fadd", out.exact("fadd", sums[0], sums[1]), out.exact("fadd", sums[2], sums[3]))
    lanes = out.let(f"fcmp uno {v} {total}, zeroinitializer")
    bad = out.let(f"zext i{w} {out.let(f'bitcast {target.mask} {lanes} to i{w}')} to i64")
    out.do(f" %badp = getelementptr i64, ptr %bads, i64 %ptilet\n store i64 {bad}, ptr %badp, align 8")
    out.store_row("%ptileframe", schedule.zero_row, "zeroinitializer")
    out.do(" br label %packed\npacked:")
    next_tile("ptile", "run0")
    for c, chunk in enumerate(chunks):
        following = f"run{c + 1}" if c + 1 < len(chunks) else "unpacks"
        out.do(f"run{c}:\n br label %ctile{c}")
        tile(f"ctile{c}", f"run{c}", f"ctile{c}")
        out.do(f" call void @{chunk}(ptr %ctile{c}frame)")
        next_tile(f"ctile{c}", following)
    out.do("unpacks:\n br label %utile")
    tile("utile", "unpacks", "utend")
    out.do(f" %upartial = icmp slt i64 %utilevalid, {w}")
    for q in range(len(rows)):
        k = len(inputs) + q
        dst = out.let(f"getelementptr i8, ptr %arg{k}, i64 {out.let(f'mul i64 %utilefirst, %outer{k}')}")
        fast = out.let(f"and i1 {out.let('xor i1 %upartial, true')}, %contiguous{k}")
        out.do(f" br i1 {fast}, label %uf{q}, label %us{q}\nuf{q}:\n call void @{name}_unpack{q}(ptr %utileframe, ptr {dst}, i64 %outer{k})\n br label %ud{q}")
        out.do(f"us{q}:\n call void @unpack_strided(ptr {dst}, ptr %utileframe, ptr @{name}_unpack{q}_rows, i64 %outer{k}, i64 %utilevalid, {strides[k]})")
        out.do(f" br label %ud{q}\nud{q}:")
    out.do(" %ubadp = getelementptr i64, ptr %bads, i64 %utilet\n %ubad = load i64, ptr %ubadp, align 8\n %ok = icmp eq i64 %ubad, 0")
    out.do(" br i1 %ok, label %utend, label %poisoning\npoisoning:")
    for q in range(len(rows)):
        k = len(inputs) + q
        dst = out.let(f"getelementptr i8, ptr %arg{k}, i64 {out.let(f'mul i64 %utilefirst, %outer{k}')}")
        out.do(f" call void @poison(ptr {dst}, i64 %ubad, i64 %outer{k}, i64 %utilevalid, {strides[k]})")
    out.do(" br label %utend\nutend:")
    next_tile("utile", "groupend")
    out.do(f"groupend:\n %inext = add i64 %i, {w * tiles}\n br label %group\nexit:\n call void @free(ptr %raw)")
    if x86:
        out.do(" call void @llvm.x86.sse.ldmxcsr(ptr %csr)")
    out.do(" ret void")
    body = "\n".join(out.lines)
    return f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{\nentry:\n{body}\n}}\n"
