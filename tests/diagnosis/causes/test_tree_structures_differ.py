"""tree_structures_differ: in what two trees differ, in the words of each version of JAX."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import tree_structures_differ
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

TREE = "/x/site-packages/jax/_src/tree_util.py"


def examine(kind: str, message: str, within: str = TREE) -> Verdict:
    row = line(4, "params = jax.tree.map(update, params, gradients)")
    return tree_structures_differ.examine(failed(kind, message, row, within=within, versions={"jax": "0.10.2"}))


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        (
            "ValueError",
            "pytree structure error: different numbers of pytree children at key path\n    tree_map tree\nAt that key path, the prefix "
            "pytree tree_map tree has a subtree of type\n    <class 'dict'>\nwith 2 child keys\n    b w\nbut at the same key path the "
            "full pytree has a subtree of the same type but with 1 child keys\n    w\nso the symmetric difference on key sets is\n    b",
            "differ: only the first has the key `b`.",
        ),
        (
            "ValueError",
            "pytree structure error: different types at key path\n    tree_map tree[0]\nAt that key path, the prefix pytree tree_map tree "
            "has a subtree of type\n    <class 'list'>\nbut at the same key path the full pytree has a subtree of different type\n    "
            "<class 'tuple'>.",
            "differ at [0]: the first has a list there, and the other a tuple.",
        ),
        (
            "ValueError",
            "pytree structure error: different lengths of list at key path\n    tree_map tree['layers']\nAt that key path, the prefix pytree "
            "tree_map tree has a subtree of type list of length 2, but the full pytree has a subtree of the same type but of length 1.",
            "differ at ['layers']: the first has a list of length 2 there, and the other one of length 1.",
        ),
        ("ValueError", "Dict key mismatch; expected keys: ['b', 'w']; dict: {'w': Array(1.)}.", "expected keys: ['b', 'w']."),
        ("ValueError", "List arity mismatch: 2 != 1; list: [Array(1.)].", "List arity mismatch: 2 != 1."),
        (
            "TypeError",
            "scan body function carry input and carry output must have the same pytree structure, but they differ:\n\nThe input carry state "
            "is a tuple of length 2 but the corresponding component of the carry output is a tuple of length 3, so the lengths do not match."
            "\n\nRevise the function.",
            "length 3, so the lengths do not match.",
        ),
        (
            "TypeError",
            "cond branch outputs must have the same pytree structure, but they differ:\n\ntrue_fun output is a <class 'tuple'> but false_fun "
            "output is a pytree leaf, so their Python types differ.\n",
            "true_fun output is a tuple but",
        ),
        (
            "TypeError",
            "true_fun and false_fun output must have same type structure, got PyTreeDef((*, *)) and PyTreeDef(*).",
            "PyTreeDef((*, *)) and PyTreeDef(*)",
        ),
    ],
)
def test_found(kind: str, message: str, said: str) -> None:
    verdict = examine(kind, message)
    assert isinstance(verdict, Found)
    assert said in verdict.summary
    assert verdict.where == "train.py:4"


def test_clear_of_other_errors() -> None:
    assert isinstance(examine("ValueError", "Expected dict, got list", "/x/site-packages/yaml/reader.py"), Clear)
    assert isinstance(examine("TypeError", "add got incompatible shapes for broadcasting: (3,), (4,)."), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(tree_structures_differ.examine(unseen()), Unknown)


def test_the_lines_outside_that_made_the_trees_are_told() -> None:
    tree = {"name": "moments", "type": "dict", "length": 1, "keys": ["enc"]}
    made = {"made_at": 27, "made_by": ["params, moments = init(key)"], "made_with": "init"}
    inside = [{"where": f"{FOLDER}/train.py:8", "source": "moments = jax.tree.map(jnp.zeros_like, params)"}]
    outer = line(29, "step(params, moments)", {**tree, **made, "made_in": inside})
    inner = line(22, "jax.tree.map(f, grads, moments)", {**tree, "is_argument": True, "in_failing": True}, function="step")
    message = "List arity mismatch: 2 != 1; list: [Array(1.)]."
    verdict = tree_structures_differ.examine(failed("ValueError", message, outer, inner, within=TREE, versions={"jax": "0.10.2"}))
    assert isinstance(verdict, Found)
    claims = " ".join(each.claim for each in verdict.evidence)
    assert "`moments` was given its value at train.py:27" in claims and "init() makes `moments` at train.py:8" in claims
