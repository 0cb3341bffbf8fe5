"""A traced value of JAX was used where Python or NumPy needs a concrete one, or what is no array was given to a traced function.

What it is
----------
Inside `jit`, `grad`, `vmap` and `scan` the arguments of a function are tracers: they have a shape and a dtype, and their values
cannot be read, since the function is recorded once and run later. Python's `if`, `while`, `int()` and `range`, NumPy's functions,
and shapes that depend on values need the values. A tracer that is kept outside the function is of no use there. An argument that
is no array must be static, and a static one must be hashable.

How we know
-----------
JAX refuses the use. Unstall reads which values in the line are tracers, and from the error which function was traced and
which of its arguments the value depends on.

When this is wrong
------------------
If the value was to be static: then it is the call that must change, by `static_argnames`, and not the line.

What to do
----------
Use jnp instead of np, `jnp.where` or `lax.cond` instead of `if`, `lax.while_loop` or `lax.fori_loop` for loops whose length
depends on values, and masks instead of boolean indices. Make static what is a setting and no data.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import describe_failure, find_failing_values
from unstall.diagnosis.errors.failures import Failure, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import format_place

_TRACED = re.compile(r"while tracing the function (?P<name>\S+) at \S+?:(?P<line>\d+) for (?P<by>\w+)")
_DEPENDS = re.compile(r"depends on the values? of the arguments? (?P<names>[^\n]+?)\.?(?:\n|$)")
_STATIC = "make it static, if it is a setting: jax.jit(f, static_argnames=(…))"
_CREATED = re.compile(r"leaked intermediate value was created on line (?P<file>\S+?):(?P<line>\d+)")
_LEAKED_TYPE = re.compile(r"intermediate value with type (?P<type>\S+\]) wrapped in")
_GIVEN = re.compile(
    r"problematic value is of type <class '(?P<type>[^']+)'> and was passed to the function at path (?P<path>\S+?)\.?(?:\s|$)"
)
_NOT_VALID = re.compile(r"Argument '(?P<path>.*)' of type <class '(?P<type>[^']+)'> is not a valid JAX type")
_UNHASHABLE = re.compile(r"hash an object of type <class '(?P<type>[^']+)'>")
# Of each kind of error or message: what needs the value, and what to write instead.
_USES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        r"TracerBoolConversionError",
        "Python needs to know whether it is true",
        ("choose by jnp.where(condition, a, b), or run one of two functions by jax.lax.cond", "a while loop: jax.lax.while_loop"),
    ),
    (
        r"TracerArrayConversionError",
        "NumPy needs the values",
        ("use jnp instead of np for what is traced; a table of NumPy that a tracer indexes: jnp.asarray(table)[i]",),
    ),
    (
        r"TracerIntegerConversionError",
        "Python needs a whole number",
        ("a loop: jax.lax.fori_loop or jax.lax.scan; an index into a list: put the list into one array and index that", _STATIC),
    ),
    (
        r"NonConcreteBooleanIndexError",
        "the size of a selection by a boolean mask depends on its values",
        ("keep all elements and weight them: jnp.where(mask, x, 0).sum() / mask.sum(), or jnp.where(mask, x, y)",),
    ),
    (
        r"Shapes must be 1D sequences of concrete values|Slice entries must be static",
        "a shape, or the end of a slice, must be known when the function is compiled",
        ("take sizes from x.shape, which is concrete; a slice of fixed size that moves: jax.lax.dynamic_slice", _STATIC),
    ),
    (
        r"size argument of (?:jnp|jax\.numpy)\.\w+ must be (?:statically )?specified|make jnp\.\w+\(\) compatible with JIT",
        "the size of the result depends on its values",
        ("give the size of the result: size=… with fill_value=…, or use jnp.where(condition, a, b) with three arguments",),
    ),
    (
        r"ConcretizationTypeError",
        "a concrete value is needed",
        ("return the array and convert it outside the traced function; inside, convert by x.astype(…)", _STATIC),
    ),
    (
        r"unsupported format string passed to \w*Tracer",
        "the value was to be printed",
        ('print by jax.debug.print("{x}", x=x), or outside the traced function',),
    ),
)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    said = _leaked(failure) or _argument(failure) or _used(failure)
    if said is None:
        return Clear("the error is about something else")
    summary, actions = said
    return Found(
        certainty=Certainty.CERTAIN,
        summary=summary,
        evidence=describe_failure(failure, *_stores(failure)),
        actions=actions,
        where=failure.raised.where if failure.raised is not None else None,
    )


def _stores(failure: Failure) -> list[str]:
    return [f"`{maker.name}` is stored at {maker.where}: {maker.code}" for maker in failure.makers if maker.what == "stored"]


def _used(failure: Failure) -> tuple[str, tuple[str, ...]] | None:
    text = f"{failure.error.kind}: {failure.error.message}"
    use = next(((needs, actions) for pattern, needs, actions in _USES if re.search(pattern, text)), None)
    if use is None:
        return None
    needs, actions = use
    tracers = _tracers(failure)
    actions = _fitting(failure, actions, tracers)
    who = " and ".join(f"`{value.name}`" for value in tracers[:3])
    first = f"{who} {'are tracers' if len(tracers) > 1 else 'is a tracer'}" if tracers else "A value in this line is a tracer"
    return f"{first}: values cannot be read while JAX transforms the function, and here {needs}.{_context(failure)}", actions


def _fitting(failure: Failure, actions: tuple[str, ...], tracers: list[Value]) -> tuple[str, ...]:
    """Of the advice, what is about the statement at hand; and first the arguments of the traced function that must be static."""
    raised, traced = failure.raised, _TRACED.search(failure.error.message)
    if raised is not None and raised.statement in ("If", "IfExp", "Assert"):
        actions = tuple(action for action in actions if not action.startswith("a while loop"))
    elif raised is not None and raised.statement == "While":
        actions = tuple(action for action in reversed(actions) if action.startswith("a while loop"))
    is_traced = raised is not None and traced is not None and raised.function == traced["name"]
    given = [value.name for value in tracers if value.facts.get("is_argument") and value.shape == ()]
    if _STATIC not in actions or not is_traced or not given or len(given) != len(tracers) or raised is None:
        return actions
    names = ", ".join(f'"{name}"' for name in given)
    them = "they are settings" if len(given) > 1 else "it is a setting"
    return (
        f"if {them}, make {'them' if len(given) > 1 else 'it'} static: jax.jit({raised.function}, static_argnames=({names}"
        f"{',' if len(given) == 1 else ''})). JAX then compiles once for each value",
        "else take sizes from the shape of an array inside the traced function",
    )


def _tracers(failure: Failure) -> list[Value]:
    raised = failure.raised
    return [
        value for value in (find_failing_values(raised) if raised is not None else []) if "Tracer" in str(value.facts.get("type"))
    ]


def _context(failure: Failure) -> str:
    """By which transformation of JAX it is traced, and from which of its arguments it comes."""
    message = failure.error.message
    traced, depends = _TRACED.search(message), _DEPENDS.search(message)
    said = f" The function `{traced['name']}` is traced for {traced['by']}" if traced is not None else ""
    if said and depends is not None:
        names = [name for name in re.split(r",? and |, ", depends["names"].strip()) if name]
        listed = " and ".join(
            [", ".join(f"`{name}`" for name in names[:-1]), f"`{names[-1]}`"] if len(names) > 1 else [f"`{names[0]}`"]
        )
        said += f", and the value depends on its argument{'s' if len(names) > 1 else ''} {listed}"
    return f"{said}." if said else ""


def _leaked(failure: Failure) -> tuple[str, tuple[str, ...]] | None:
    if not failure.error.kind.endswith("UnexpectedTracerError"):
        return None
    kept = _tracers(failure)
    name = f"`{kept[0].name}`" if len(kept) == 1 else "A value"
    match = _LEAKED_TYPE.search(failure.error.message)
    kind = f" ({match['type']})" if match is not None else ""
    made = _CREATED.search(failure.error.message)
    at = f" at {format_place(made['file'], int(made['line']), failure.folder)}" if made is not None else ""
    stored = [maker for maker in failure.makers if maker.what == "stored" and maker.where]
    kept_at = list(dict.fromkeys(f"`{maker.name}` at {maker.where}" for maker in stored))
    assigned = f" The traced function stores it outside itself: {', '.join(kept_at)}." if kept_at else ""
    return (
        f"{name}{kind} was computed{at} while JAX traced a function, and is used after that: outside the traced function it has "
        f"a shape and a dtype, and no values.{assigned}",
        (
            "return it from the traced function, and pass it in as an argument, instead of storing it in an attribute, a list or "
            "a global variable",
            *(() if stored else ("jax.checking_leaks() names the function that keeps it",)),
        ),
    )


def _argument(failure: Failure) -> tuple[str, tuple[str, ...]] | None:
    message = failure.error.message
    if "Non-hashable static arguments" in message:
        match = _UNHASHABLE.search(message)
        kind = f" of the type {match['type']}" if match is not None else ""
        is_array = match is not None and ("ndarray" in match["type"] or "Array" in match["type"])
        fix = "do not mark it as static: it is an array" if is_array else "pass a tuple instead of a list, or a frozen dataclass"
        return f"A static argument{kind} cannot be hashed, and JAX finds compiled functions by the hash of what is static.", (
            fix,
        )
    given = _GIVEN.search(message) or _NOT_VALID.search(message)
    if given is None:
        return None
    path = given["path"]
    at = f"`{path}`" if _GIVEN.search(message) is not None else f"the value {path!r}"
    return (
        f"A function that JAX traces was given {at} of the type {given['type']}, which is no array and no number.",
        (
            f"mark it as static where it is a setting: static_argnames=({path.partition('[')[0].partition('.')[0]!r},)"
            if _GIVEN.search(message) is not None and "[" not in path
            else "keep it out of what is traced: pass it separately as a static argument, or close over it",
        ),
    )
