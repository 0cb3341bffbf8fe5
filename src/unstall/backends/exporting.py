"""What can be exported from which backend, and what that needs."""

from __future__ import annotations

from unstall.backends import is_installed
from unstall.errors import NotInstalled, WrongInput

# Packages that Keras calls; None: Keras cannot from this backend. By the name that is imported, then that which is installed.
NEEDS: dict[str, dict[str, tuple[tuple[str, str], ...] | None]] = {
    "savedmodel": {"tensorflow": (), "jax": (("tensorflow", "tensorflow-cpu"),), "torch": None},
    "onnx": {
        "tensorflow": (("tf2onnx", "tf2onnx"), ("onnx", "onnx")),
        "jax": (("jax2onnx", "jax2onnx"), ("onnx", "onnx")),
        "torch": (("onnx", "onnx"), ("onnxscript", "onnxscript")),
    },
    "litert": {"tensorflow": (), "jax": None, "torch": (("litert_torch", "litert-torch"),)},
}
ENDINGS = {"savedmodel": "", "onnx": ".onnx", "litert": ".tflite"}


def refuse_impossible(target: str, backend: str, out: str) -> None:
    """Before a detector is built, which takes longer than to say so."""
    needs = NEEDS[target][backend]
    if needs is None:
        others = ", ".join(name for name, packages in NEEDS[target].items() if packages is not None)
        raise WrongInput(f"Keras exports no {target} from {backend}. Choose another with --backend: {others}.")
    for package, installed_as in needs:
        if not is_installed(package):
            raise NotInstalled(
                f"To export {target} from {backend}, the package '{package}' is needed. Install: pip install {installed_as}"
            )
    if ENDINGS[target] and not out.endswith(ENDINGS[target]):
        raise WrongInput(f"'{out}': expected a name that ends in '{ENDINGS[target]}' for {target}.")
