"""Text -> object code -> addresses: the only place that talks to LLVM."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kinecast.engine.schedule import Schedule
from kinecast.engine.simd import ChunkWriter, Target, sincos_function
from kinecast.engine.tiles import Port, driver_module, tiles_in_group


@functools.cache
def _initialise() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine(target: Target) -> Any:
    llvm = _initialise()
    return llvm.Target.from_default_triple().create_target_machine(cpu=target.cpu, features=target.features, opt=2, codemodel="small", reloc="pic")


def object_of(text: str, target: Target, optimise: bool = False) -> bytes:
    """Object code of one module. Chunks skip the optimisation pipeline: the program is folded already."""
    llvm = _initialise()
    machine = _machine(target)
    module = llvm.parse_assembly(text)
    if optimise:
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        passes.getModulePassManager().run(module, passes)
    return machine.emit_object(module)


def compile_schedule(
    schedule: Schedule,
    target: Target,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    entry_points: dict[str, bool],
    threads: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> list[bytes]:
    """Objects of all chunks and of the driver, compiled side by side (LLVM runs without the GIL)."""
    n_operations = sum(len(c.values) for c in schedule.chunks)
    tiles = tiles_in_group(schedule, target, n_operations)
    jobs: list[tuple[Callable[[], str], bool]] = [
        (lambda: driver_module(schedule, target, inputs, outputs, tiles, entry_points), True),
        (lambda: sincos_function(target), False),
    ]
    for c, chunk in enumerate(schedule.chunks):
        jobs.append((lambda c=c, chunk=chunk: ChunkWriter(schedule, chunk, target).text(f"chunk{c}"), False))
    done = 0

    def run(job: tuple[Callable[[], str], bool]) -> bytes:
        nonlocal done
        result = object_of(job[0](), target, job[1])
        done += 1
        if progress:
            progress(done, len(jobs))
        return result

    with ThreadPoolExecutor(max(1, threads)) as pool:
        return list(pool.map(run, jobs))


def load(objects: Sequence[bytes], names: Sequence[str], target: Target) -> tuple[dict[str, int], Any]:
    """Addresses of functions in object code, and the engine that owns the code."""
    llvm = _initialise()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(target))
    for data in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return {name: engine.get_function_address(name) for name in names}, engine
