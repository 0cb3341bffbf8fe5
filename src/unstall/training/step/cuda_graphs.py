"""What a function launches on a card, kept, and launched again in one go: a step of PyTorch is thousands of small kernels, and
calling them one by one from Python takes several times as long as the card computes.

    step = GraphReplay(function)    # of tensors, giving tensors; always of the same shapes
    step(*tensors)                  # what it gives lies where the next call will write: use it, or copy it, before that

The function is traced once, down to PyTorch's own operations, with what it computed from no tensor (anchors, say) as constants.
Each stretch of operations is then recorded as a CUDA graph; one that must ask the card in between (`WAITING`) runs by itself
between two stretches. The operations are the same, in the same order, on the same values; that it gives the same is tried before
it is used, and where it does not, or cannot be recorded, the function is called as ever.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.split_module import split_module

from unstall.backends.ops import WAITING

Tensors = Sequence[torch.Tensor]
WARM_UP = 2  # calls as they are: libraries choose their kernels meanwhile, which must not be recorded
# What PyTorch raises of an operation that it cannot trace, split or record.
UNRECORDABLE = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, AssertionError)
# Of what is recorded, from what the function gives: libraries may choose other kernels for it, and over fifty layers in 16 bits
# gradients come 2 % apart by rounding alone. With a wrong constant they have nothing in common.
MAX_GAP = 0.1
NEARLY_NOTHING = 1e-3  # of the largest


class GraphReplay:
    def __init__(self, function: Callable[..., Tensors]) -> None:
        self._function = function
        self._calls = 0
        self._traced: fx.GraphModule | None = None
        self._recorded: RecordedGraph | None = None
        self._cannot = False

    def __call__(self, *tensors: torch.Tensor) -> Tensors:
        self._calls += 1
        if self._recorded is None and self._calls > WARM_UP and not self._cannot and tensors[0].is_cuda:
            self._record(tensors)
        return self._function(*tensors) if self._recorded is None else self._recorded(*tensors)

    def forget(self) -> None:
        """What is recorded keeps the memory that it computes in, whoever else needs some. The next call records anew."""
        self._recorded = None

    def _record(self, tensors: Tensors) -> None:
        try:
            expected = [each.clone() for each in self._function(*tensors)]
            if self._traced is None:
                self._traced = trace_operations(self._function, tensors)
            recorded = RecordedGraph(self._traced, tensors)
            alike = is_bitwise_equal if torch.are_deterministic_algorithms_enabled() else agree
            # Twice: what is left behind by one run must not be found by the next.
            if not all(alike(recorded(*tensors), expected) for _ in range(2)):
                raise RuntimeError("what was recorded does not give what the step gives")
            self._recorded = recorded
        except torch.OutOfMemoryError:
            raise
        except UNRECORDABLE as problem:  # a step that cannot be recorded can be taken all the same
            self._cannot = True
            warnings.warn(f"The step is launched kernel by kernel, as it cannot be recorded: {problem}", stacklevel=3)


def is_bitwise_equal(these: Tensors, those: Tensors) -> bool:
    """A run that is promised to repeat is recorded at another step when it is resumed: it must not matter at which."""
    return all(torch.allclose(a, b, rtol=0.0, atol=0.0, equal_nan=True) for a, b in zip(these, those, strict=True))


def agree(these: Tensors, those: Tensors) -> bool:
    """But for rounding, and the order in which kernels add up. What is small against the largest may be left by cancelling."""
    if not all(torch.equal(a.isnan(), b.isnan()) for a, b in zip(these, those, strict=True)):
        return False
    pairs = [(a.float().nan_to_num(), b.float().nan_to_num()) for a, b in zip(these, those, strict=True)]
    norms = [float(torch.linalg.vector_norm(b)) for _, b in pairs]
    distances = [float(torch.linalg.vector_norm(a - b)) for a, b in pairs]
    least = NEARLY_NOTHING * max(norms, default=0.0)
    return all(distance <= MAX_GAP * max(norm, least) for distance, norm in zip(distances, norms, strict=True))


def trace_operations(function: Callable[..., Tensors], tensors: Tensors) -> fx.GraphModule:
    """Its operations, in the order in which they came. Variables are the tensors themselves: what is written to them counts."""
    graph = make_fx(function)(*tensors)
    move_constants(graph, tensors[0].device)
    return graph


def move_constants(graph: fx.GraphModule, device: torch.device) -> None:
    """Constants that are made elsewhere and copied to the device each time are brought there once: no such copy can be recorded.
    Then they are copied on the device, as an operation may write to what it was given."""
    elsewhere: dict[fx.Node, torch.Tensor] = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr" and getattr(graph, node.target).device != device:
            elsewhere[node] = getattr(graph, node.target)
        elif _is_constant(node) and all(each in elsewhere for each in node.all_input_nodes):
            args, more = fx.map_arg((node.args, node.kwargs), elsewhere.__getitem__)
            made = node.target(*args, **more)
            if made.device != device:
                elsewhere[node] = made
                continue
            name = f"brought_{node.name}"
            graph.register_buffer(name, made)
            with graph.graph.inserting_before(node):
                brought = graph.graph.call_function(torch.ops.aten.clone.default, (graph.graph.get_attr(name),))
            node.replace_all_uses_with(brought)
            graph.graph.erase_node(node)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _is_constant(node: fx.Node) -> bool:
    """If all that it is computed from is. What comes by chance never is; what is made on the device of nothing needs no help."""
    is_made_elsewhere = bool(node.all_input_nodes) or node.kwargs.get("device") == torch.device("cpu")
    is_random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    return node.op == "call_function" and is_made_elsewhere and not is_random


class RecordedGraph:
    """Stretches of a traced function, and between them what waits for the card."""

    def __init__(self, graph: fx.GraphModule, tensors: Tensors) -> None:
        self._inputs = [tensor.clone() for tensor in tensors]
        stretches = split_into_stretches(graph)
        pool = torch.cuda.graph_pool_handle()
        self._pieces: list[Callable[[], None]] = []
        with torch.no_grad():
            self._outputs = self._run_through(stretches, pool)

    def __call__(self, *tensors: torch.Tensor) -> Tensors:
        torch._foreach_copy_(self._inputs, list(tensors))
        for piece in self._pieces:
            piece()
        return self._outputs

    def _run_through(self, stretches: fx.GraphModule, pool: Any) -> Tensors:
        """Once, recording. What a stretch leaves to later ones is let go with its last reader: another may lie there then."""
        held: dict[fx.Node, Any] = {}
        last_reader = {source: node for node in stretches.graph.nodes for source in node.all_input_nodes}
        inputs = iter(self._inputs)
        for node in stretches.graph.nodes:
            if node.op == "output":
                return list(fx.map_arg(node.args[0], lambda source: held[source]))
            given = fx.map_arg(node.args, lambda source: held[source])
            for source in node.all_input_nodes:
                if last_reader[source] is node:
                    del held[source]
            if node.op == "placeholder":
                held[node] = next(inputs)
            elif node.op == "get_attr":
                held[node] = getattr(stretches, node.target)
            elif node.op == "call_module":
                given = list(given)  # the only place that holds them now
                held[node] = self._recorded_stretch(getattr(stretches, node.target), given, pool)
            else:
                held[node] = self._between(node.target, given, node.kwargs)
        raise AssertionError("a graph ends with its output")

    def _recorded_stretch(self, stretch: fx.GraphModule, given: list[torch.Tensor], pool: Any) -> Any:
        if all(node.op in {"placeholder", "output"} for node in stretch.graph.nodes):
            return stretch(*given)
        # Libraries choose kernels for each thread anew, which cannot be recorded; gradients were computed in another one so far.
        fx.Interpreter(stretch).run(*given)
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded, pool=pool, capture_error_mode="thread_local"):
            # It empties the list of what it was given, and forgets each value with its last reader.
            made = fx.Interpreter(stretch).boxed_run(given)
        self._pieces.append(recorded.replay)
        # A recording does not compute: the next piece may need what this one gives.
        recorded.replay()
        return made

    def _between(self, target: Any, given: Any, more: Any) -> Any:
        """What waits for the card writes to the same place each time. Taking a member of a tuple is done once and for all."""
        if target not in WAITING:
            return target(*given, **more)
        made = target(*given, **more).clone()
        self._pieces.append(lambda: made.copy_(target(*given, **more)))
        return made


def split_into_stretches(graph: fx.GraphModule) -> fx.GraphModule:
    """The same as a row of modules, with the operations that wait between them."""
    number = 0
    of_node: dict[fx.Node, int] = {}
    for node in graph.graph.nodes:
        number += node.target in WAITING
        of_node[node] = 2 * number - (node.target in WAITING)
    split = split_module(graph, None, lambda node: of_node[node], keep_original_order=True)
    return _without_shells(split)


def _without_shells(split: fx.GraphModule) -> fx.GraphModule:
    """What waits stands in a module of its own after the split: it comes out of that."""
    for node in list(split.graph.nodes):
        if node.op != "call_module":
            continue
        inner = getattr(split, node.target)
        waiting = [each for each in inner.graph.nodes if each.target in WAITING]
        if not waiting:
            continue
        (operation,) = waiting
        outside = dict(zip((each for each in inner.graph.nodes if each.op == "placeholder"), node.args, strict=True))
        with split.graph.inserting_before(node):
            args = fx.map_arg(operation.args, lambda source: outside[source])  # noqa: B023 (used at once)
            plain = split.graph.call_function(operation.target, args, dict(operation.kwargs))
        node.replace_all_uses_with(plain)
        split.graph.erase_node(node)
    split.recompile()
    return split
