"""autograd_refused: what autograd refuses, and the statement above that cut the gradients off."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.error_builders import array, call, ended, line, unseen
from unstall.diagnosis.causes import autograd_refused
from unstall.diagnosis.verdict import Clear, Found, Unknown

NO_GRADIENTS = "element 0 of tensors does not require grad and does not have a grad_fn"
TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed)."
)


def found(kind: str, message: str, *lines: dict[str, Any], **seen: Any) -> Found:
    verdict = autograd_refused.examine(ended(kind, message, *lines, **seen))
    assert isinstance(verdict, Found)
    return verdict


def without_gradients(*origins: dict[str, Any], made_by: str = "loss = (probs * gain).sum()") -> Found:
    loss = array("loss", requires_grad=False, made_at=42, made_by=[made_by])
    return found("RuntimeError", NO_GRADIENTS, line("loss.backward()", loss, origins=list(origins)))


def test_found_with_the_statement_that_copied_the_values() -> None:
    verdict = without_gradients(array("probs", 5, requires_grad=False, made_at=40, made_by=["probs = torch.tensor(probs)"]))
    assert verdict.where == "train.py:40"
    assert verdict.summary.startswith("`loss` does not require gradients")
    assert "no operation that was recorded connects it" in verdict.summary  # under no_grad there are such operations
    assert "`probs` at train.py:40 by torch.tensor" in verdict.summary
    assert "torch.stack" in verdict.actions[0]


def test_of_two_such_statements_both_are_told_and_none_is_chosen() -> None:
    verdict = without_gradients(
        array("probs", 5, made_at=40, made_by=["probs = torch.tensor(probs)"]),
        array("gain", 5, made_at=41, made_by=["gain = torch.from_numpy(rows)"]),
    )
    assert verdict.where == "train.py:43"
    assert "train.py:40" in verdict.summary and "train.py:41" in verdict.summary


@pytest.mark.parametrize(
    "made_by",
    ["probs = model(torch.tensor(rows))", "probs = torch.stack(rows)", "probs = f(x.detach())", "probs = (", "probs += 1"],
)
def test_a_call_inside_another_is_not_said_to_cut_the_gradients(made_by: str) -> None:
    verdict = without_gradients(array("probs", 5, made_at=40, made_by=[made_by]))
    assert verdict.where == "train.py:43"
    assert "was made without gradients here" not in verdict.summary


def test_a_value_that_a_name_had_before_is_not_judged() -> None:
    verdict = without_gradients({"name": "probs", "replaced": True, "made_at": 30, "made_by": ["probs = torch.tensor(a)"]})
    assert "train.py:30" not in verdict.summary


def test_found_where_a_graph_was_freed_with_the_values_that_may_be_shared() -> None:
    loss = array("g_loss", grad_fn="MeanBackward0", made_at=42, made_by=["g_loss = bce(D(fake))"])
    fake = array("fake", 4, grad_fn="AddmmBackward0", made_at=40, made_by=["fake = G(noise)"])
    verdict = found("RuntimeError", TWICE, line("g_loss.backward()", loss, origins=[fake]))
    assert verdict.summary.startswith("backward went through `g_loss`")
    assert "`fake`" in verdict.actions[0] and ".detach()" in verdict.actions[0]


def test_found_where_the_optimizer_is_given_the_result_of_an_operation() -> None:
    delta = array("delta", 3, grad_fn="MulBackward0", made_at=40, made_by=["delta = torch.randn(3, requires_grad=True) * 0.1"])
    verdict = found("ValueError", "can't optimize a non-leaf Tensor", line("opt = torch.optim.Adam([delta])", delta))
    assert verdict.where == "train.py:40"
    assert "the result of an operation (Mul) at train.py:40" in verdict.summary


def test_found_where_the_loss_is_no_single_number() -> None:
    message = "grad can be implicitly created only for scalar outputs"
    loss = array("loss", 3)
    verdict = found("RuntimeError", message, line("loss.backward()", loss), calls=[call("backward", {**loss, "name": "self"})])
    assert verdict.summary.startswith("`loss` of shape (3,) is no single number")


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("RuntimeError", "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], which is output 0 of ExpBackward0, is at version 2; expected version 0 instead.", "the output of Exp, and was changed 2 times"),
        ("RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation.", "changed in place"),
        ("ValueError", "optimizer got an empty parameter list", "no parameters"),
        ("RuntimeError", "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.", "`x` requires gradients"),
        ("RuntimeError", "Only Tensors of floating point and complex dtype can require gradients", "whole numbers"),
        ("TypeError", "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32.", "whole numbers"),
        ("TypeError", "Gradient only defined for scalar-output functions. Output was (Array(3.), Array([1.])).", "must return one number"),
        ("RuntimeError", "The differentiated Tensor at index 1 appears to not have been used in the graph.", "does not depend on"),
        ("AttributeError", "'float' object has no attribute 'backward'", "plain number"),
    ],
)  # fmt: skip
def test_found_of_the_other_refusals(kind: str, message: str, said: str) -> None:
    verdict = found(kind, message, line("f(x)", array("x", 3, requires_grad=True)))
    assert said in verdict.summary
    assert verdict.actions


def test_clear_of_another_error() -> None:
    assert isinstance(autograd_refused.examine(ended("ValueError", "no such row", line("f(x)"))), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(autograd_refused.examine(unseen()), Unknown)


def carried(state: dict[str, Any], made_by: str = "logits, state = model(x, state)") -> Found:
    made = {"made_at": 53, "made_by": [made_by]}
    logits = {"name": "logits", "type": "torch.Tensor", "grad_fn": "AddBackward0", "requires_grad": True, **made}
    row = line("loss.backward()", at=55, origins=[logits, state], loops=[{"line": 51, "values": [], "over": []}])
    message = "Trying to backward through the graph a second time (or directly access saved tensors)"
    return found("RuntimeError", message, row)


def test_a_value_that_the_loop_computes_from_itself_is_to_be_detached() -> None:
    now = {"type": "torch.Tensor", "grad_fn": "StackBackward0"}
    verdict = carried({"name": "state", "replaced": True, "now": now})
    assert verdict.where == "train.py:53"
    assert "`state` carries that graph from pass to pass: it is computed from itself at train.py:53" in verdict.summary
    assert verdict.actions[0].endswith("state = state.detach()")
    pair = {"type": "tuple", "items": [now, now]}
    verdict = carried({"name": "state", "replaced": True, "now": pair})
    assert verdict.actions[0].endswith("state = tuple(part.detach() for part in state)")


def test_a_value_without_gradients_is_not_called_carried() -> None:
    assert "carries" not in carried({"name": "state", "replaced": True, "now": {"type": "torch.Tensor"}}).summary
    assert "carries" not in carried({"name": "state", "now": {"grad_fn": "A"}}, "logits = model(x)").summary


def test_numpy_of_what_requires_gradients_is_replaced_by_the_functions_of_pytorch() -> None:
    p = {"name": "p", "type": "torch.Tensor", "shape": [4], "dtype": "float32", "requires_grad": True, "in_failing": True}
    inner = line("a, b = np.log(p), np.log(1 - p)", p, at=14, function="loss")
    message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    verdict = found("RuntimeError", message, inner)
    assert verdict.changes[0].after == ("a, b = torch.log(p), torch.log(1 - p)",)
    assert verdict.changes[0].when == "if its gradient is needed"


def test_a_function_of_numpy_without_a_counterpart_is_left_alone() -> None:
    p = {"name": "p", "type": "torch.Tensor", "shape": [4], "dtype": "float32", "requires_grad": True, "in_failing": True}
    message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    assert found("RuntimeError", message, line("a = np.histogram(p)", p)).changes == ()


IN_PLACE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [8, 12]], which "
    "is output 0 of SoftmaxBackward0, is at version 1; expected version 0 instead."
)


def in_place(source: str, operator: str) -> dict[str, Any]:
    place = {"where": f"{FOLDER}/net.py:13", "first": 13, "source": [source]}
    return {"what": "in place", "name": "weights", "operator": operator, **place}


@pytest.mark.parametrize(
    ("source", "operator", "after"),
    [
        ("    weights *= mask", "*", "    weights = weights * mask"),
        ("    weights -= a + b", "-", ""),  # needs brackets
        ("    weights[0] = 0", "", ""),
    ],
)
def test_the_line_that_changed_a_tensor_in_place(source: str, operator: str, after: str) -> None:
    verdict = found("RuntimeError", IN_PLACE, line("loss.backward()"), makers=[in_place(source, operator)])
    assert verdict.where == "net.py:13"
    assert "The output of Softmax, which the backward pass needs as it was, was changed in place" in verdict.summary
    assert "The one line that was found to change such an output changes `weights`" in verdict.summary
    assert [change.after for change in verdict.changes] == ([(after,)] if after else [])


def test_of_several_changes_in_place_none_is_chosen() -> None:
    makers = [in_place("weights *= mask", "*"), in_place("weights += 1", "+")]
    assert found("RuntimeError", IN_PLACE, line("loss.backward()"), makers=makers).where == "train.py:43"


def test_a_function_that_copies_the_losses_is_told_with_its_line() -> None:
    made = {"made_at": 40, "made_by": ["loss = total(parts)"], "made_with": "total"}
    inside = [{"where": f"{FOLDER}/train.py:18", "source": "return torch.tensor(parts).sum()"}]
    verdict = found(
        "RuntimeError", NO_GRADIENTS, line("loss.backward()", array("loss", requires_grad=False, **made, made_in=inside))
    )
    assert verdict.where == "train.py:18"
    assert "`loss` at train.py:18 by torch.tensor" in verdict.summary


WHOLE = "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32."


def test_the_whole_number_that_jax_was_to_differentiate_is_named() -> None:
    items = [{"type": "jax.Tracer", "shape": [6, 8], "dtype": "float32"}, {"type": "jax.Tracer", "shape": [], "dtype": "int32"}]
    params = {"name": "params", "type": "dict", "length": 2, "keys": ["w", "bias"], "items": items}
    outer = line("params = update(params, x)", {**params, "made_at": 22, "made_by": ["params = {'bias': jnp.array(0)}"]}, at=24)
    labels = array("y", 4, dtype="int32", kind="jax.Tracer")
    verdict = found("TypeError", WHOLE, outer, line("grads = jax.grad(loss_fn)(params, y)", params, labels, function="update"))
    assert verdict.summary == (
        "Gradients were asked for `params['bias']`, which is int32: they exist only for floating-point numbers. `params` was given its "
        "value at train.py:22."
    )
    assert verdict.where == "train.py:22"


@pytest.mark.parametrize(
    "code", ["grads = jax.grad(loss_fn, argnums=1)(params, y)", "grads = jax.grad(loss_fn)(weights, params)"]
)
def test_whole_numbers_of_another_argument_are_not_named(code: str) -> None:
    params = array("params", 4, dtype="int32", kind="jax.Tracer")
    assert "`params`" not in found("TypeError", WHOLE, line(code, params)).summary
