"""PyTorch's autograd or JAX's grad refused to compute gradients of what it was given.

What it is
----------
Gradients flow back through the operations that made the loss. They cannot where the loss was made without gradients (by
`torch.tensor`, `.item()`, `.detach()`, under `no_grad`), where its graph was freed by an earlier `backward`, where a value that
the backward pass needs was changed in place, or where the parameters are no leaves, are none at all, or are whole numbers.

How we know
-----------
The error that ended the program is the refusal. Unstall reads of the values in the line whether they require gradients and which
operation made them, and follows the assignments above to the statement that cuts the graph.

When this is wrong
------------------
Which of two passes through a graph is the unwanted one cannot be known from the error: both are shown as far as they are seen.

What to do
----------
Keep every operation between the parameters and the loss in PyTorch or JAX. Detach what an earlier step has computed. Change
tensors out of place, or after the backward pass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from unstall.diagnosis.errors.evidence import describe_failure, find_failing_values, is_called_by_keras
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure, format_shape
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.errors.gradient_paths import CUTS, find_carried, find_cuts, find_whole_numbers, write_without_numpy
from unstall.diagnosis.errors.line_changes import replace_text
from unstall.diagnosis.verdict import Certainty, Clear, Found, LineChange, Verdict
from unstall.journal.reader import Journal

EXPLAINS = ("gradients_disconnected",)
_IN_PLACE = re.compile(
    r"which is output (?P<output>\d+) of (?P<name>\w+), is at version (?P<now>\d+); expected version (?P<then>\d+)"
)
# summary, actions, where, claims, and changes if there are any
_Said = (
    tuple[str, tuple[str, ...], str | None, tuple[str, ...]]
    | tuple[str, tuple[str, ...], str | None, tuple[str, ...], tuple[LineChange | None, ...]]
)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    explain = next((explain for pattern, explain in _REFUSALS if re.search(pattern, failure.error.message)), None)
    if explain is None:
        return Clear("the error is about something else")
    summary, actions, where, claims, *changes = explain(failure)
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=describe_failure(failure, *claims),
        actions=actions,
        where=where or (failure.raised.where if failure.raised is not None else None),
        changes=tuple(change for each in changes for change in each if change is not None),
    )


# --- PyTorch ---


def _of_no_gradients(failure: Failure) -> _Said:
    """The loss does not depend on anything that requires gradients."""
    name = _name_of(failure) or "what backward was called on"
    cuts = find_cuts(failure)
    start = f"{_capital(name)} does not require gradients: no operation that was recorded connects it to parameters that do."
    frozen = "or, where all parameters are frozen: set requires_grad=True for those that are to learn"
    if not cuts:
        return (
            start,
            (
                "look where it is made: torch.tensor, .item(), .detach(), .data, NumPy and torch.no_grad() cut off gradients",
                frozen,
            ),
            None,
            (),
        )
    rows = [f"`{value.name}` at {maker.where} by {call}, which {CUTS[call]}" for maker, value, call in cuts]
    only = cuts[0][0] if len(cuts) == 1 else None
    return (
        f"{start} What it is computed from was made without gradients here: {'; '.join(rows)}.",
        (
            *(
                f"where `{value.name}` holds what the model gave, keep its gradients at {maker.where}: "
                + (
                    "torch.stack(…) for a list of tensors, or the tensor itself"
                    if call.startswith("torch.")
                    else f"leave out {call}"
                )
                for maker, value, call in cuts
            ),
            "else look further up: .item(), .detach(), NumPy and torch.no_grad() cut off gradients",
            frozen,
        ),
        only.where if only is not None else None,
        tuple(f"{maker.where}: {maker.code}" for maker, _, _ in cuts),
    )


def _of_second_backward(failure: Failure) -> _Said:
    name = _name_of(failure) or "the loss"
    raised = failure.raised
    used = [value for value in raised.origins if value.facts.get("grad_fn")] if raised is not None else []
    shared = [value for value in used if raised is not None and raised.find_maker(value) is not None]
    loops = bool(raised is not None and raised.loops)
    claims = tuple(
        f"`{value.name}` requires gradients and was computed at {maker.where}: {maker.code}"
        for value in shared[:3]
        if raised is not None and (maker := raised.find_maker(value)) is not None
    )
    where, kept = find_carried(failure)
    if kept is not None:
        name_of, tensor = f"`{kept.name}`", f"{kept.name} = {kept.name}.detach()"
        if kept.facts.get("type") in ("tuple", "list"):
            tensor = f"{kept.name} = tuple(part.detach() for part in {kept.name})"
        return (
            f"backward went through {name} into the graph of an earlier pass of the loop, which the backward of that pass has "
            f"freed. {_capital(name_of)} carries that graph from pass to pass: it is computed from itself at {where}.",
            (
                f"detach it before the next pass, so that gradients stop there: {tensor}",
                "or add up the losses of the passes that belong together, and call backward once for them",
            ),
            where,
            claims,
        )
    listed = ", ".join(f"`{value.name}`" for value in shared[:3])
    detach = (
        [f"where an earlier loss used {listed}: give that loss the value with .detach(), so that its backward stops there"]
        if listed
        else []
    )
    carried = (
        ["where a value is carried from step to step (a state, a running loss): detach it after each step, h = h.detach()"]
        if loops
        else []
    )
    return (
        f"backward went through {name} into a part of the graph that an earlier backward has already gone through and freed.",
        (
            *detach,
            *carried,
            "or compute that part again before each backward, or add up the losses and call backward once",
            "or keep the graph in the earlier call, backward(retain_graph=True), where both passes are meant",
        ),
        None,
        claims,
    )


def _of_change_in_place(failure: Failure) -> _Said:
    match = _IN_PLACE.search(failure.error.message)
    changes = [maker for maker in failure.makers if maker.what == "in place" and maker.where]
    if len(changes) == 1 and match is not None:
        return _of_known_change(changes[0], match["name"])
    made = match["name"] if match is not None else ""
    is_parameter = made.startswith(("AsStrided", "TBackward"))
    times = int(match["now"]) - int(match["then"]) if match is not None else 0
    what = f" It is the output of {made.replace('Backward0', '')}" if made else ""
    changed = f"{what}, and was changed {times} time{'s' if times > 1 else ''} since." if made and times > 0 else ""
    optimizer = "call the optimizer's step only after all backward calls: it changes the parameters in place"
    return (
        f"A tensor that the backward pass needs was changed in place after it was used.{changed}",
        (
            *((optimizer,) if is_parameter else ()),
            "write x = x + y instead of x += y, and F.relu(x) instead of an inplace operation, before backward",
            *(() if is_parameter else (optimizer,)),
            "torch.autograd.set_detect_anomaly(True) names the line whose result was changed",
        ),
        None,
        (),
    )


def _of_known_change(maker: Maker, made: str) -> _Said:
    operation, symbol = made.replace("Backward0", ""), maker.facts["operator"]
    before = f"{maker.name} {symbol}= "
    change = (
        replace_text(maker, before, f"{maker.name} = {maker.name} {symbol} ") if symbol and _is_plain(maker, before) else None
    )
    return (
        f"The output of {operation}, which the backward pass needs as it was, was changed in place. The one line that was found "
        f"to change such an output changes `{maker.name}`: {maker.where}.",
        (
            f"make a new tensor there instead of changing it: {maker.name} = {maker.name} {symbol} …"
            if symbol
            else "make a new tensor there instead of changing it: without the underscore of the method, or by torch.where",
        ),
        maker.where,
        (f"{maker.where}: {maker.code}",),
        (change,),
    )


def _is_plain(maker: Maker, before: str) -> bool:
    """Whether the other operand is one name, number or call, so that it needs no brackets."""
    try:
        return isinstance(ast.parse(maker.code.partition(before)[2], mode="eval").body, (ast.Name, ast.Constant, ast.Call))
    except SyntaxError:
        return False


def _of_leaf(failure: Failure) -> _Said:
    return (
        "A tensor that requires gradients, and is the result of no operation, was changed in place while gradients are recorded.",
        ("change it under `with torch.no_grad():`, as for an initial value or an update", "or make a new tensor: x = x + y"),
        None,
        (),
    )


def _of_non_scalar(failure: Failure) -> _Said:
    raised = failure.raised
    value = failure.argument("backward", "self")
    shape = f" of shape {format_shape(value.shape)}" if value is not None and value.shape else ""
    name = next(
        (
            each.name
            for each in (find_failing_values(raised) if raised is not None else [])
            if value is not None and each.shape == value.shape
        ),
        "",
    )
    subject = f"`{name}`{shape}" if name else f"A tensor{shape}"
    return (
        f"{subject} is no single number, and backward without arguments needs one.",
        (
            f"reduce it first: {name or 'loss'}.mean().backward(), or .sum()",
            "a loss made with reduction='none' gives one number for each element",
        ),
        None,
        (),
    )


def _of_empty(failure: Failure) -> _Said:
    return (
        "The optimizer was given no parameters: the list, or what model.parameters() gives, is empty.",
        (
            "keep layers in attributes, nn.ModuleList or nn.ModuleDict: those in a plain list or dict are not found",
            "look whether a filter (by name, by requires_grad) leaves nothing",
            "make a list of a generator of parameters that is used twice: it is empty after the first use",
        ),
        None,
        (),
    )


def _of_non_leaf(failure: Failure) -> _Said:
    raised = failure.raised
    made = [value for value in (raised.values if raised is not None else ()) if value.facts.get("grad_fn")]
    if raised is None or not made:
        return (
            "The optimizer was given a tensor that is the result of an operation; it takes only tensors that were made directly.",
            ("call .requires_grad_() last, on the finished tensor: after .to(…), arithmetic and reshaping",),
            None,
            (),
        )
    value = made[0]
    maker = raised.find_maker(value)
    operation = str(value.facts["grad_fn"]).replace("Backward0", "")
    at = f" at {maker.where}" if maker is not None else ""
    return (
        f"`{value.name}` is no leaf tensor: it is the result of an operation ({operation}){at}, which optimizers refuse.",
        ("call .requires_grad_() last, after .to(…), arithmetic and reshaping: (…).detach().requires_grad_()",),
        maker.where if maker is not None else None,
        (f"made at {maker.where}: {maker.code}",) if maker is not None else (),
    )


def _of_numpy(failure: Failure) -> _Said:
    values = [
        value
        for value in (find_failing_values(failure.raised) if failure.raised is not None else [])
        if value.facts.get("requires_grad")
    ]
    name = f"`{values[0].name}`" if len(values) == 1 else "A tensor"
    said = f"{name} requires gradients and was converted to NumPy, which knows of none."
    library = "keras.ops" if is_called_by_keras(failure) else "torch"
    change = write_without_numpy(failure, {value.name for value in values}, library)
    if library == "keras.ops":
        return (
            f"{said} Keras computes with PyTorch here (its backend is torch), so it is a PyTorch tensor.",
            ("compute it with keras.ops in place of NumPy: gradients then flow, and it works on every backend",),
            None,
            (),
            (change,),
        )
    return (
        said,
        (
            "where the gradient is needed, as in a loss or a forward pass: compute it with operations of PyTorch",
            "where only the numbers are needed, as for a plot or a metric: x.detach().cpu().numpy()",
        ),
        None,
        (),
        (change,),
    )


def _of_whole_numbers(failure: Failure) -> _Said:
    is_of_jax = failure.text.message.startswith("grad requires")
    found = find_whole_numbers(failure) if is_of_jax else None
    if found is not None:
        value, maker = found
        made = f" `{value.name.partition('[')[0]}` was given its value at {maker.where}." if maker is not None else ""
        return (
            f"Gradients were asked for `{value.name}`, which is {value.dtype}: they exist only for floating-point numbers.{made}",
            (
                "make it floating-point where it is made: 0.0 instead of 0, or .astype(jnp.float32)",
                "or keep what is not learned, such as a counter, out of the first argument",
            ),
            maker.where if maker is not None else None,
            (f"{maker.where}: {maker.code}",) if maker is not None else (),
        )
    fix = "x.astype(jnp.float32), or 1.0 instead of 1" if is_of_jax else "x.float(), or 1.0 instead of 1"
    return (
        f"Gradients were asked for whole numbers, and exist only for floating-point ones: {failure.text.message.rstrip('.')}.",
        (f"make the values floating-point: {fix}",),
        None,
        (),
    )


def _of_unused(failure: Failure) -> _Said:
    return (
        f"Gradients were asked for a tensor that the output does not depend on: {failure.text.message.rstrip('.')}.",
        ("use the tensor in what the output is computed from", "or take allow_unused=True, which gives None for it"),
        None,
        (),
    )


def _of_plain_number(failure: Failure) -> _Said:
    return (
        f"{_name_of(failure) or 'The loss'} is a plain number and no tensor: backward needs a tensor with its graph.",
        ("call backward on the tensor, and .item() only for printing and logs",),
        None,
        (),
    )


# --- JAX ---


def _of_jax_output(failure: Failure) -> _Said:
    is_pair = "Output was (" in failure.error.message
    first = "the function returns more than the loss: give has_aux=True, or return the loss alone" if is_pair else ""
    return (
        f"The function that was differentiated must return one number. {failure.text.message.rstrip('.')}.",
        tuple(each for each in (first, "reduce the loss to one number (.mean() or .sum())" if not is_pair else "") if each),
        None,
        (),
    )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _name_of(failure: Failure) -> str:
    """What backward was called on, where it is a name."""
    raised = failure.raised
    match = re.search(r"([\w.]+)\.backward\(", raised.code) if raised is not None else None
    return f"`{match[1]}`" if match is not None else ""


_REFUSALS: tuple[tuple[str, Callable[[Failure], _Said]], ...] = (
    (r"does not require grad and does not have a grad_fn", _of_no_gradients),
    (r"[Tt]rying to backward through the graph a second time", _of_second_backward),
    (r"needed for gradient computation has been modified by an inplace operation", _of_change_in_place),
    (r"leaf Variable that requires grad (?:is being|has been) used in an in-?place operation", _of_leaf),
    (r"grad can be implicitly created only for scalar outputs", _of_non_scalar),
    (r"optimizer got an empty parameter list", _of_empty),
    (r"can't optimize a non-leaf Tensor", _of_non_leaf),
    (r"Can't call numpy\(\) on Tensor that requires grad", _of_numpy),
    (r"Only Tensors of floating point and complex dtype can require gradients", _of_whole_numbers),
    (r"grad requires real- or complex-valued inputs", _of_whole_numbers),
    (r"grad requires real-valued outputs", _of_whole_numbers),
    (r"appears to not have been used in the graph", _of_unused),
    (r"'(?:float|int)' object has no attribute 'backward'", _of_plain_number),
    (r"Gradient only defined for scalar-output functions", _of_jax_output),
)
