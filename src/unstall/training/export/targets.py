"""What can be exported from which backend, and what that needs."""

from __future__ import annotations

import warnings

from unstall.backends import is_installed
from unstall.base.errors import InvalidInputError, MissingDependencyError, UnstallError

# Packages that Keras calls, by the name that is imported and that which is installed; or why it cannot be done from this backend.
NEEDS: dict[str, dict[str, tuple[tuple[str, str], ...] | str]] = {
    "savedmodel": {
        "tensorflow": (),
        "jax": (("tensorflow", "tensorflow-cpu"),),
        "torch": "Keras has no way to",
    },
    "onnx": {
        "tensorflow": (("tf2onnx", "tf2onnx"), ("onnx", "onnx")),
        "jax": (("jax2onnx", "jax2onnx"), ("onnx", "onnx")),
        "torch": "PyTorch's exporter does not know every operation of a detector",
    },
    "litert": {"tensorflow": (), "jax": "Keras has no way to", "torch": (("litert_torch", "litert-torch"),)},
}
SUFFIXES = {"savedmodel": "", "onnx": ".onnx", "litert": ".tflite"}


def refuse_impossible(target: str, backend: str, out: str) -> None:
    """Before a detector is built, which takes longer than to say so."""
    needs = NEEDS[target][backend]
    if isinstance(needs, str):
        others = ", ".join(name for name, packages in NEEDS[target].items() if not isinstance(packages, str))
        raise InvalidInputError(
            f"A detector cannot be exported as {target} from {backend}: {needs}. Choose another with --backend: {others}."
        )
    for package, installed_as in needs:
        if not is_installed(package):
            raise MissingDependencyError(
                f"To export {target} from {backend}, the package '{package}' is needed. Install: pip install {installed_as}"
            )
    if SUFFIXES[target] and not out.endswith(SUFFIXES[target]):
        raise InvalidInputError(f"'{out}': expected a name that ends in '{SUFFIXES[target]}' for {target}.")


def refuse_unloadable(target: str, backend: str, out: str, shape: tuple[int, ...]) -> None:
    """A converter may write what the runtime then cannot run. So it is loaded once, before anybody relies on it."""
    if (target, backend) == ("savedmodel", "jax"):
        _run_savedmodel(out, shape)
    elif target == "litert":
        _prepare_litert(out)


def _run_savedmodel(out: str, shape: tuple[int, ...]) -> None:
    """That of JAX holds a program in a form that grows with JAX's version; TensorFlow reads it if it is as new."""
    import jax
    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(out)
        loaded.serve(tf.zeros(shape))
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise UnstallError(
            f"TensorFlow {tf.__version__} cannot run what JAX {jax.__version__} wrote: their versions are too far apart. "
            "Export from tensorflow instead: --backend tensorflow"
        ) from error


def _prepare_litert(out: str) -> None:
    if is_installed("ai_edge_litert"):
        from ai_edge_litert.interpreter import Interpreter
    else:
        import tensorflow as tf

        Interpreter = getattr(tf.lite, "Interpreter", None)  # noqa: N806 a class, which later versions do not have
    if Interpreter is None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has moved to a package of its own
            Interpreter(out).allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise UnstallError(
            f"LiteRT cannot run what was written: {str(error)[:300]} Export a savedmodel or onnx instead."
        ) from error
