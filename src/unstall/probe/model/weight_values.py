"""Reads a sample of a model's variables, on every backend, as small NumPy arrays of their own."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Optional

from unstall.probe.model.gradients import count_elements, get_name

MAX_VARIABLES = 32
MAX_ELEMENTS = 8192  # of one variable
LARGEST_COPIED = 262_144  # elements; of a larger variable only the sample is copied to the host, where that can be done
LARGEST_ON_JAX = 4_194_304  # JAX has no sample without a compilation: larger ones are left out unless they lie in host memory
_SLOTS = ("_velocities", "_accumulators")


# An attribute that does not keep its value alive: what the program lets go must go, whatever we looked at.


class Weak:
    """class Probe: model = Weak(). Reading gives the object, or None once it is gone."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"{name} (weak)"

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        reference = instance.__dict__.get(self._slot) if instance is not None else None
        return reference() if reference is not None else None

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._slot] = None if value is None else weakref.ref(value)


class Values:
    model = Weak()

    def __init__(self, model: Any) -> None:
        self.model = model
        self.names: list[str] = []
        self.shapes: list[list[int]] = []
        self._variables: list[Any] = []  # weak references
        self._positions: list[int] = []
        self._ids: set[int] = set()
        self._optimizer_positions: dict[int, int] = {}

    def choose(self, variables: list[Any]) -> None:
        """Kernels first, spread over the model; then what is left of the last ones."""
        self._ids = {id(variable) for variable in variables}
        indexed = list(enumerate(variables))
        large = [(index, variable) for index, variable in indexed if len(variable.shape) >= 2]
        chosen = _spread(large, MAX_VARIABLES - 4)
        taken = {index for index, _ in chosen}
        chosen += [pair for pair in indexed[::-1] if pair[0] not in taken][: MAX_VARIABLES - len(chosen)][:4]
        chosen.sort(key=lambda pair: pair[0])
        self._variables = [weakref.ref(variable) for _, variable in chosen]
        self._positions = [index for index, _ in chosen]
        self.names = [get_name(variable) for _, variable in chosen]
        self.shapes = [[int(part or 0) for part in variable.shape] for _, variable in chosen]

    def holds(self, variable: Any) -> bool:
        return id(variable) in self._ids

    # --- reading ---

    def read(self) -> list[Any]:
        return [self._sample(index) for index in range(len(self._variables))]

    def read_outside_graph(self) -> list[Any]:
        """The same while a step may be being traced; empty where the variables have no values yet."""
        tf = sys.modules.get("tensorflow")
        if tf is None or tf.executing_eagerly():
            return self.read()
        try:
            with tf.init_scope():
                return self.read()
        except (RuntimeError, ValueError, AttributeError, tf.errors.OpError):
            return []  # they are made in this very trace

    def array(self, variable: Any) -> Any:
        """The whole value of a variable of the optimizer, such as the learning rate."""
        state = self._jax_state("optimizer_variables")
        if state is not None:
            position = self._position(variable)
            return None if position is None else state[position]
        return _host_array(_inner(variable), 1)

    def _sample(self, index: int) -> Any:
        state = self._jax_state("trainable_variables")
        if state is not None:
            return self._thin(state[self._positions[index]])
        variable = self._variables[index]()
        return None if variable is None else self._thin(_inner(variable))

    def _thin(self, value: Any) -> Any:
        if value is None:
            return None
        size = count_elements(value)
        stride = max(1, -(-size // MAX_ELEMENTS))
        array = _host_array(value, stride)
        # One that is being made in the trace of this very step has no value yet, and reads as empty.
        return None if array is None or (not array.size and size) else array.copy()

    def _jax_state(self, key: str) -> Any:
        """Within an epoch Keras on JAX keeps the values beside the model."""
        state = getattr(self.model, "_jax_state", None)
        return state.get(key) if state and not getattr(self.model, "_jax_state_synced", True) else None

    def _position(self, variable: Any) -> Optional[int]:
        if id(variable) not in self._optimizer_positions:
            own = getattr(getattr(self.model, "optimizer", None), "variables", ())
            self._optimizer_positions = {id(each): index for index, each in enumerate(own)}
        return self._optimizer_positions.get(id(variable))

    # --- what is known of the gradients ---

    def gradients(self, optimizer: Any, step: int) -> list[Optional[float]]:
        """The size (rms) of each variable's gradient: of the last step where it is kept, else as the optimizer remembers it."""
        inner = getattr(optimizer, "inner_optimizer", None) or optimizer
        slots, correction = _squares(inner, step)
        places = self._slot_places(inner) if slots else {}
        found: list[Optional[float]] = []
        for reference in self._variables:
            variable = reference()
            kept = getattr(_inner(variable), "grad", None) if variable is not None else None
            if kept is not None and hasattr(kept, "detach"):
                found.append(compute_rms(self._thin(kept)))
                continue
            place = places.get(id(variable))
            slot = slots[place] if place is not None and place < len(slots) else None
            found.append(None if slot is None else self._root_mean(slot, correction))
        return found

    def _slot_places(self, optimizer: Any) -> dict[int, int]:
        trained = getattr(optimizer, "_trainable_variables", None) or getattr(optimizer, "_build_variables", None) or ()
        if not trained and self.model is not None:
            trained = self.model.trainable_variables
        return {id(variable): index for index, variable in enumerate(trained)}

    def _root_mean(self, slot: Any, correction: float) -> Optional[float]:
        state = self._jax_state("optimizer_variables")
        if state is not None:
            position = self._position(slot)
            value = None if position is None else state[position]
        else:
            value = _inner(slot)
        array = self._thin(value)
        if array is None:
            return None
        numpy = sys.modules["numpy"]

        with numpy.errstate(all="ignore"):
            mean = float(array.astype("float64").mean()) / correction
        return mean**0.5 if mean >= 0 and mean - mean == 0 else None

    # --- numbers about the samples ---

    def size(self, array: Any) -> dict[str, Any]:
        numpy = sys.modules["numpy"]

        bad = int(array.size - numpy.isfinite(array).sum()) if array.dtype.kind == "f" else 0
        return {"rms": None, "not_finite": bad} if bad else {"rms": compute_rms(array)}

    def distance(self, array: Any, other: Any) -> Optional[float]:
        numpy = sys.modules["numpy"]

        with numpy.errstate(all="ignore"):
            return compute_rms(array.astype("float64") - other.astype("float64"))

    def still(self, array: Any, other: Any) -> dict[str, int]:
        """How many output units have weights that have not changed by one bit."""
        if array.ndim < 2:
            return {"units": 1, "still": int(bool((array == other).all()))}
        same = (array == other).reshape(-1, array.shape[-1]).all(axis=0)
        return {"units": len(same), "still": int(same.sum())}


def compute_rms(array: Any) -> Optional[float]:
    """None where it is not finite."""
    numpy = sys.modules["numpy"]

    if array is None or not array.size:
        return None
    with numpy.errstate(all="ignore"):
        mean = float(numpy.square(array.astype("float64")).mean())
    return mean**0.5 if mean - mean == 0 else None


def _spread(pairs: list[Any], most: int) -> list[Any]:
    if len(pairs) <= most:
        return pairs
    step = (len(pairs) - 1) / (most - 1)
    return [pairs[round(index * step)] for index in range(most)]


def are_readable() -> bool:
    """Whether the values of weights can be read: not in TensorFlow 1, where only a session could."""
    return not str(getattr(sys.modules.get("tensorflow"), "__version__", "")).startswith("1.")


def _squares(optimizer: Any, step: int) -> tuple[Any, float]:
    """Running means of squared gradients, if the optimizer keeps them, and what they are to be divided by."""
    slots = next(filter(None, (getattr(optimizer, name, None) for name in _SLOTS)), None)
    if not slots or type(optimizer).__name__ not in ("Adam", "AdamW", "Nadam", "RMSprop"):
        return None, 1.0
    decay = getattr(optimizer, "beta_2", None) or getattr(optimizer, "rho", None)
    return slots, max(1e-12, 1.0 - float(decay) ** max(1, step)) if isinstance(decay, float) else 1.0


def _inner(variable: Any) -> Any:
    """A variable of Keras holds one of the backend's."""
    return getattr(variable, "_value", variable)


def _host_array(value: Any, stride: int) -> Any:
    """Every stride-th row as an array in host memory; the whole where that is as cheap."""
    numpy = sys.modules["numpy"]

    if hasattr(value, "detach"):
        rows = value.detach()
        return (rows[::stride] if stride > 1 and rows.ndim else rows).cpu().numpy()
    size = count_elements(value)
    if hasattr(value, "numpy"):
        read = getattr(value, "value", None)
        tensor = read() if callable(read) else value
        if hasattr(tensor, "_numpy") and "CPU" in str(getattr(tensor, "device", "")):
            array = tensor._numpy()  # shares the tensor's memory
        elif stride > 1 and size > LARGEST_COPIED:
            return tensor[::stride].numpy()
        else:
            array = tensor.numpy()
    elif hasattr(value, "__array__"):
        if size > LARGEST_ON_JAX and "cpu" not in str(getattr(value, "device", "")).lower():
            return None
        array = numpy.asarray(value)
    else:
        return None
    return array[::stride] if stride > 1 and array.ndim else array
