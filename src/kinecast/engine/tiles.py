"""The loop around a program: NumPy arrays -> tiles of samples -> chunks -> NumPy arrays, as LLVM text.

The loop has NumPy's signature ``void (char **args, npy_intp *dimensions, npy_intp *steps, void *data)``. It allocates
its frames on the heap (one set a call, so threads never share one), packs a group of tiles, runs every chunk over the
group (the code of a chunk stays in the instruction cache), and unpacks. A sample with a NaN or an infinity among its
inputs gets NaN in every output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kinecast.engine import packing
from kinecast.engine.schedule import Schedule
from kinecast.engine.simd import Target, Writer

INSTRUCTION_CACHE_OPERATIONS = 2500  # a program below this stays in the cache by itself: one tile a group
FRAME_BUDGET = 4 * 1024 * 1024  # bytes of frames a group may use
MAX_TILES = 8
CACHE_LINE = 64
PAGE = 4096


@dataclass(frozen=True)
class Port:
    """One argument of a kernel: its name and the shape of one sample (up to three dimensions)."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Numbers in one sample."""
        return math.prod(self.shape)


def tiles_in_group(schedule: Schedule, target: Target) -> int:
    """How many tiles run through a chunk before the next chunk starts."""
    if sum(len(chunk.values) for chunk in schedule.chunks) <= INSTRUCTION_CACHE_OPERATIONS:
        return 1
    return max(1, min(MAX_TILES, FRAME_BUDGET // frame_bytes(schedule, target)))


def frame_bytes(schedule: Schedule, target: Target) -> int:
    """Size of one tile's frame, kept off multiples of the page size (frames a page multiple apart evict each other)."""
    size = -(-schedule.n_rows * 8 * target.width // CACHE_LINE) * CACHE_LINE
    return size + CACHE_LINE if size % PAGE == 0 else size


def driver_module(
    schedule: Schedule,
    target: Target,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    entry_points: dict[str, bool],
) -> str:
    """LLVM text with one loop for each entry point ``{name: outputs as structural nonzeros only}``."""
    parts = [_declarations(target), packing.prelude(target)]
    chunks = [f"chunk{c}" for c in range(len(schedule.chunks))]
    parts += [f"declare void @{chunk}(ptr)\n" for chunk in chunks]
    table = ", ".join(f"ptr @{chunk}" for chunk in chunks)
    parts.append(f"@chunks = internal constant [{len(chunks)} x ptr] [{table}]\n")
    parts += [packing.pack(target, f"pack{k}", port.size) for k, port in enumerate(inputs)]
    for name, sparse in entry_points.items():
        all_rows = schedule.sparse_rows if sparse else schedule.output_rows
        arguments = [_Argument(k, port.shape, f"pack{k}") for k, port in enumerate(inputs)]
        for k, rows in enumerate(all_rows):
            shape = (len(rows),) if sparse else outputs[k].shape
            arguments.append(_Argument(len(inputs) + k, shape, f"{name}_unpack{k}"))
            parts.append(packing.unpack(target, arguments[-1].mover, rows, schedule.zero_row))
        parts.append(_Loop(schedule, target, arguments, len(inputs)).text(name))
    return "\n".join(parts)


def _declarations(target: Target) -> str:
    v, w = target.vector, target.width
    flags = "\n".join(f"declare {line}" for line in _FLAGS.get(target.family, ("", "", ()))[2])
    return f"""declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyErr_NoMemory()
declare {v} @llvm.fma.v{w}f64({v}, {v}, {v})
{flags}
"""


# The processor's floating-point flags are kept as they were: a NaN that comes in and goes out is no reason for NumPy to
# warn. Per family: how to save, how to restore, what that declares.
_FLAGS = {
    "x86": (
        " %csr = alloca i32, align 4\n call void @llvm.x86.sse.stmxcsr(ptr %csr)",
        " call void @llvm.x86.sse.ldmxcsr(ptr %csr)",
        ("void @llvm.x86.sse.stmxcsr(ptr)", "void @llvm.x86.sse.ldmxcsr(ptr)"),
    ),
    "arm": (
        " %fpsr = call i64 @llvm.aarch64.get.fpsr()",
        " call void @llvm.aarch64.set.fpsr(i64 %fpsr)",
        ("i64 @llvm.aarch64.get.fpsr()", "void @llvm.aarch64.set.fpsr(i64)"),
    ),
}


@dataclass(frozen=True)
class _Argument:
    """One array of a call: its position, the shape of one sample, and the function that packs or unpacks it."""

    k: int
    shape: tuple[int, ...]
    mover: str

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class _Loop:
    """One entry point. Its registers: ``%array<k>`` and ``%stride<k>`` (between samples), ``%frames``, ``%bad``."""

    def __init__(self, schedule: Schedule, target: Target, arguments: list[_Argument], n_inputs: int) -> None:
        self.schedule, self.target = schedule, target
        self.inputs, self.outputs = arguments[:n_inputs], arguments[n_inputs:]
        self.tiles = tiles_in_group(schedule, target)
        self.out = Writer(target)
        self.contiguous: list[str] = []
        self.strides: list[str] = []

    def text(self, name: str) -> str:
        """The function."""
        out, w, tiles = self.out, self.target.width, self.tiles
        save, restore, _ = _FLAGS.get(self.target.family, ("", "", ()))
        out.do(f" %n = load i64, ptr %dims, align 8\n %bad = alloca [{tiles} x i64], align 8")
        for k in range(4):
            out.do(f" %sum{k} = alloca {self.target.vector}, align {8 * w}")
        out.do(save)
        self.read_arguments()
        all_tiles = out.let(f"sdiv i64 {out.let(f'add i64 %n, {w - 1}')}, {w}")
        groups = out.let(f"sdiv i64 {out.let(f'add i64 {all_tiles}, {tiles - 1}')}, {tiles}")
        self.allocate(all_tiles)
        out.do(" %any = icmp sgt i64 %n, 0\n br i1 %any, label %work, label %end\nwork:")
        with out.loop(groups) as group:
            first = out.let(f"mul i64 {group}, {tiles}")
            here = self.least(out.let(f"sub i64 {all_tiles}, {first}"), str(tiles))
            with out.loop(here) as tile:
                self.pack_tile(first, tile)
            with out.loop(str(len(self.schedule.chunks))) as c:
                chunk = out.let(f"load ptr, ptr {out.item('ptr', '@chunks', c)}, align 8")
                with out.loop(here) as tile:
                    out.do(f" call void {chunk}(ptr {self.frame(tile)})")
            with out.loop(here) as tile:
                self.unpack_tile(first, tile)
        out.do(f" br label %end\nend:\n call void @free(ptr %memory)\n{restore}\n ret void")
        return f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{\n{out.body()}\n}}\n"

    def read_arguments(self) -> None:
        """Addresses and strides; NumPy's ``steps`` has those between samples first, then the core dimensions'."""
        out = self.out
        step = len(self.inputs) + len(self.outputs)
        for k, argument in enumerate(self.inputs + self.outputs):
            out.do(f" %array{k} = load ptr, ptr {out.item('ptr', '%args', str(k))}, align 8")
            out.do(f" %stride{k} = load i64, ptr {out.item('i64', '%steps', str(k))}, align 8")
            strides = []
            contiguous, expected = "true", 8 * argument.size
            for length in argument.shape:
                stride = out.let(f"load i64, ptr {out.item('i64', '%steps', str(step))}, align 8")
                strides.append(stride)
                step += 1
                expected //= length
                if length > 1:
                    fits = out.let(f"icmp eq i64 {stride}, {expected}")
                    contiguous = out.let(f"and i1 {contiguous}, {fits}")
            self.contiguous.append(contiguous)
            self.strides.append(packing.strides_of(argument.shape, strides))

    def allocate(self, all_tiles: str) -> None:
        """``%frames`` on the heap, aligned, only as many as the call needs; if there is no memory: MemoryError."""
        out = self.out
        count = self.least(all_tiles, str(self.tiles))
        size = out.let(f"mul i64 {count}, {frame_bytes(self.schedule, self.target)}")
        out.do(f" %memory = call ptr @malloc(i64 {out.let(f'add i64 {size}, {CACHE_LINE}')})")
        out.do(" %none = icmp eq ptr %memory, null\n br i1 %none, label %nomemory, label %start\nnomemory:")
        out.do(" %gil = call i32 @PyGILState_Ensure()\n call ptr @PyErr_NoMemory()")
        out.do(" call void @PyGILState_Release(i32 %gil)")
        out.do(" ret void\nstart:")
        up = out.let(f"add i64 {out.let('ptrtoint ptr %memory to i64')}, {CACHE_LINE - 1}")
        out.do(f" %frames = inttoptr i64 {out.let(f'and i64 {up}, {-CACHE_LINE}')} to ptr")

    def least(self, a: str, b: str) -> str:
        return self.out.let(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def frame(self, tile: str) -> str:
        offset = self.out.let(f"mul i64 {tile}, {frame_bytes(self.schedule, self.target)}")
        return self.out.item("i8", "%frames", offset)

    def place(self, first_tile: str, tile: str) -> tuple[str, str]:
        """Number of a tile's first sample, and how many of its samples are valid."""
        sample = self.out.let(f"mul i64 {self.out.let(f'add i64 {first_tile}, {tile}')}, {self.target.width}")
        return sample, self.least(self.out.let(f"sub i64 %n, {sample}"), str(self.target.width))

    def start(self, argument: _Argument, sample: str) -> str:
        return self.out.item("i8", f"%array{argument.k}", self.out.let(f"mul i64 {sample}, %stride{argument.k}"))

    def either(self, fast: str, call_fast: str, call_slow: str) -> None:
        """One of two calls."""
        yes, no, after = (self.out.label(name) for name in ("contiguous", "strided", "moved"))
        self.out.do(f" br i1 {fast}, label %{yes}, label %{no}\n{yes}:\n call void {call_fast}\n br label %{after}")
        self.out.do(f"{no}:\n call void {call_slow}\n br label %{after}\n{after}:")

    def pack_tile(self, first_tile: str, tile: str) -> None:
        """Inputs -> rows; which lanes hold a sample that is not finite; the row of zeros."""
        out, v = self.out, self.target.vector
        sample, valid = self.place(first_tile, tile)
        frame = self.frame(tile)
        # One valid sample is the same as a stride of zero, which packs without turning.
        single = out.let(f"icmp eq i64 {valid}, 1")
        row = 0
        for argument in self.inputs:
            k, rows = argument.k, out.address(frame, row * 8 * self.target.width)
            stride = out.let(f"select i1 {single}, i64 0, i64 %stride{k}")
            common = f"ptr {self.start(argument, sample)}, i64 {stride}, i64 {valid}, ptr {rows}"
            self.either(
                self.contiguous[k], f"@{argument.mover}({common})", f"@pack_strided({common}, {self.strides[k]})"
            )
            row += argument.size
        total = self.not_finite(frame, row)
        lanes = out.let(f"fcmp uno {v} {total}, zeroinitializer")
        bits = out.let(f"bitcast {self.target.mask} {lanes} to i{self.target.width}")
        bad = out.let(f"zext i{self.target.width} {bits} to i64")
        out.do(f" store i64 {bad}, ptr {out.item('i64', '%bad', tile)}, align 8")
        out.store_row(frame, self.schedule.zero_row, "zeroinitializer")

    def not_finite(self, frame: str, rows: int) -> str:
        """NaN in the lanes where any input is NaN or infinite, 0 in the others."""
        out, v, size = self.out, self.target.vector, 8 * self.target.width
        # x * 0 is NaN where x is not finite. Four sums, because each addition waits for the one before.
        for k in range(4):
            out.do(f" store {v} zeroinitializer, ptr %sum{k}, align {size}")

        def add(k: int, x: str) -> None:
            total = out.fma(x, "zeroinitializer", out.let(f"load {v}, ptr %sum{k}, align {size}"))
            out.do(f" store {v} {total}, ptr %sum{k}, align {size}")

        if rows >= 4:
            with out.loop(str(rows // 4)) as i:
                four = out.item(f"[4 x {v}]", frame, i)
                for k in range(4):
                    add(k, out.load_row(four, k))
        for k in range(rows % 4):
            add(k, out.load_row(frame, rows - 1 - k))
        sums = [out.let(f"load {v}, ptr %sum{k}, align {size}") for k in range(4)]
        return out.exact("fadd", out.exact("fadd", *sums[:2]), out.exact("fadd", *sums[2:]))

    def unpack_tile(self, first_tile: str, tile: str) -> None:
        """Rows -> outputs; NaN where an input was not finite."""
        out = self.out
        sample, valid = self.place(first_tile, tile)
        frame = self.frame(tile)
        several = out.let(f"icmp ne i64 {valid}, 1")  # turning squares for one sample would be wasted
        for argument in self.outputs:
            k, mover = argument.k, argument.mover
            target = f"ptr {self.start(argument, sample)}, i64 %stride{k}, i64 {valid}"
            self.either(
                out.let(f"and i1 {several}, {self.contiguous[k]}"),
                f"@{mover}(ptr {frame}, {target})",
                f"@unpack_strided(ptr {frame}, ptr @{mover}_rows, {target}, {self.strides[k]})",
            )
        bad = out.let(f"load i64, ptr {out.item('i64', '%bad', tile)}, align 8")
        finite, poisoned, after = out.let(f"icmp eq i64 {bad}, 0"), out.label("poisoned"), out.label("unpacked")
        out.do(f" br i1 {finite}, label %{after}, label %{poisoned}\n{poisoned}:")
        for argument in self.outputs:
            k = argument.k
            where = f"ptr {self.start(argument, sample)}, i64 {bad}, i64 %stride{k}, i64 {valid}"
            out.do(f" call void @poison({where}, {self.strides[k]})")
        out.do(f" br label %{after}\n{after}:")
