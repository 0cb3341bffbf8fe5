"""compiling_long: tracing or compiling for very long, with the CPU at work."""

from tests.diagnosis.builders import T0, host, journal, lib, main, py, stacks, started, steps
from tests.diagnosis.pipeline_events import measured, node
from unstall.diagnosis.causes import compiling_long
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import Event, FrameworkLoaded, FunctionTraced, ProcessEnded, SampleFailed, ThreadStack

LOADED = FrameworkLoaded(at=T0 + 1, name="tensorflow", version="2.21")


def tracing(line: int = 38) -> ThreadStack:
    return main(
        lib("tensorflow/python/framework/op_def_library.py", "_apply_op_helper", 791),
        py("model.py", "UnrolledFilter.call", line),
        lib("tensorflow/python/framework/func_graph.py", "func_graph_from_py_func", 1041),
        lib("tensorflow/python/eager/polymorphic_function/tracing_compilation.py", "_create_concrete_function", 310),
        lib("keras/src/backend/tensorflow/trainer.py", "fit", 400),
        py("train.py", "main", 50),
        py("train.py", "<module>", 60),
    )


COMPILING_JAX = main(
    lib("jax/_src/compiler.py", "backend_compile_and_load", 353),
    lib("jax/_src/interpreters/pxla.py", "MeshComputation.compile", 1239),
    lib("keras/src/backend/jax/trainer.py", "fit", 400),
    py("train.py", "<module>", 41),
)
EXECUTING = main(
    lib("tensorflow/python/eager/execute.py", "quick_execute", 53),
    lib("tensorflow/python/eager/polymorphic_function/tracing_compilation.py", "call_function", 139),
    py("train.py", "main", 50),
)


def over(seconds: int, thread: ThreadStack, begin: int = 10, cores: float = 1.0) -> list[Event]:
    samples: list[Event] = [stacks(thread, at=at) for at in range(begin, begin + seconds + 1, 5)]
    return [*samples, *(host(at, cores) for at in range(begin, begin + seconds + 1))]


def test_found_when_it_is_traced_for_long() -> None:
    verdict = compiling_long.examine(journal(started(), LOADED, *over(40, tracing()), now=51))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.SLOWS
    assert "being traced" in verdict.summary
    assert "not stuck" in verdict.summary


def test_names_the_line_that_all_samples_share() -> None:
    moving = [stacks(tracing(line), at=at) for line, at in ((37, 10), (38, 20), (37, 30), (41, 40), (38, 50))]
    verdict = compiling_long.examine(journal(started(), LOADED, *moving, *(host(at, 1.0) for at in range(10, 51)), now=51))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:50"
    assert any("model.py:38" in evidence.claim for evidence in verdict.evidence)


def test_found_when_jax_compiles() -> None:
    verdict = compiling_long.examine(journal(started(), LOADED, *over(40, COMPILING_JAX), now=51))
    assert isinstance(verdict, Found)
    assert "being compiled" in verdict.summary
    assert verdict.where == "train.py:41"


def test_one_that_lasted_until_the_program_was_ended_counts_to_its_end() -> None:
    seen = [*over(40, tracing()), *(host(at, 0.9) for at in range(51, 70))]
    ended = ProcessEnded(at=T0 + 70, exit_code=None, signal=15)
    verdict = compiling_long.examine(journal(started(), LOADED, *seen, ended, now=70))
    assert isinstance(verdict, Found)
    assert "The program was being traced for 60 s" in verdict.summary


def test_clear_for_a_compilation_of_a_quarter_of_a_minute() -> None:
    assert isinstance(compiling_long.examine(journal(started(), LOADED, *over(15, tracing()), now=26)), Clear)


def test_clear_on_a_machine_that_gives_it_no_cpu() -> None:
    assert isinstance(compiling_long.examine(journal(started(), LOADED, *over(40, tracing(), cores=0.2), now=51)), Clear)


def test_found_in_the_first_call_after_a_long_trace() -> None:
    traced = FunctionTraced(at=T0 + 9, function="train_step", count=1, calls=1, seconds=30.0)
    verdict = compiling_long.examine(journal(started(), LOADED, traced, *over(40, EXECUTING), now=51))
    assert isinstance(verdict, Found)
    assert "being compiled" in verdict.summary


def test_clear_when_that_call_waits_for_its_input() -> None:
    traced = FunctionTraced(at=T0 + 9, function="train_step", count=1, calls=1, seconds=30.0)
    waiting = measured(9, [node("Shuffle", 0, buffered=100), node("Root", 0)])
    assert isinstance(compiling_long.examine(journal(started(), LOADED, traced, waiting, *over(40, EXECUTING), now=51)), Clear)


def test_clear_for_a_long_step_of_a_quickly_traced_function() -> None:
    traced = FunctionTraced(at=T0 + 9, function="train_step", count=1, calls=1, seconds=0.4)
    assert isinstance(compiling_long.examine(journal(started(), LOADED, traced, *over(40, EXECUTING), now=51)), Clear)


def test_clear_when_steps_end_in_between() -> None:
    ended = [steps(number, number, at=12 + number * 5, each_s=5.0) for number in range(8)]
    assert isinstance(compiling_long.examine(journal(started(), LOADED, *ended, *over(40, tracing()), now=51)), Clear)


def test_clear_when_the_run_has_made_up_for_it() -> None:
    trained = steps(0, 3000, at=700, each_s=0.2)
    assert isinstance(compiling_long.examine(journal(started(), LOADED, *over(40, tracing()), trained, now=700)), Clear)


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=T0 + 9, signal="stacks", missing="the permission to read the memory", fix="sudo")
    assert compiling_long.examine(journal(started(), LOADED, refused)) == Unknown("the permission to read the memory", "sudo")


def test_clear_for_a_program_that_compiles_nothing() -> None:
    assert isinstance(compiling_long.examine(journal(started(), *over(40, tracing()))), Clear)
