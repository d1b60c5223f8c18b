"""Text -> object code -> addresses: the only place that talks to LLVM."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from kinecast.engine.schedule import Schedule
from kinecast.engine.simd import ChunkWriter, Target, sincos_function
from kinecast.engine.tiles import Port, driver_module


@functools.cache
def _initialise() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _machine(target: Target) -> Any:
    llvm = _initialise()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, codemodel="small", reloc="pic"
    )


def object_of(text: str, target: Target, optimise: bool = False) -> bytes:
    """Object code of one module. Chunks skip the optimisation pipeline: the program is folded already."""
    llvm = _initialise()
    machine = _machine(target)
    module = llvm.parse_assembly(text)
    if optimise:
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        passes.getModulePassManager().run(module, passes)
    return bytes(machine.emit_object(module))


def compile_schedule(
    schedule: Schedule,
    target: Target,
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    entry_points: dict[str, bool],
    threads: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> list[bytes]:
    """Objects of all chunks and of the driver, compiled side by side (LLVM runs without the GIL).

    ``progress(modules done, modules in all)`` is called by the calling thread. If that thread is interrupted, modules
    that have not been started are not.
    """

    def driver() -> bytes:
        return object_of(driver_module(schedule, target, inputs, outputs, entry_points), target, optimise=True)

    def chunk(c: int) -> bytes:
        return object_of(ChunkWriter(schedule, schedule.chunks[c], target).text(f"chunk{c}"), target)

    with ThreadPoolExecutor(max(1, threads)) as pool:
        futures = [pool.submit(driver), pool.submit(lambda: object_of(sincos_function(target), target))]
        futures += [pool.submit(chunk, c) for c in range(len(schedule.chunks))]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                future.result()
                if progress:
                    progress(done, len(futures))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def load(objects: Sequence[bytes], names: Sequence[str], target: Target) -> tuple[dict[str, int], Any]:
    """Addresses of functions in object code, and the engine that owns the code."""
    llvm = _initialise()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(target))
    for data in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    addresses = {name: engine.get_function_address(name) for name in names}
    missing = [name for name, address in addresses.items() if not address]
    if missing:
        raise RuntimeError(f"object code without the function {missing[0]!r}")
    return addresses, engine
