"""The program imports a module that Python cannot find, or that cannot be loaded.

What it is
----------
The package is not installed in the environment that the program runs in, a file of the user's own has its name and is found
first, or an extension module was built against another version of NumPy or needs a library of the system that is missing.

How we know
-----------
Python says which module was not found, or which part of it could not be loaded. Unstall shows the line that imports it, which
package asked for it, and the name under which it is installed where that is another one.

When this is wrong
------------------
If the module is one of your own: then nothing is to be installed, and the folder that it lies in is not on the path.

What to do
----------
Install the package with the Python of the program: `python -m pip install …`. For a module of your own, run the program from
the folder above it, or add that folder to PYTHONPATH. Rename a file that has the name of a package.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from unstall.diagnosis.causes.api_removed import find_removed_name
from unstall.diagnosis.errors.evidence import create_found
from unstall.diagnosis.errors.failures import Failure, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end
from unstall.diagnosis.verdict import Certainty, Clear, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_user_file

# Packages that are installed under another name than they are imported by.
DISTRIBUTIONS = {
    "cv2": "opencv-python", "PIL": "Pillow", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "PyYAML",
    "bs4": "beautifulsoup4", "absl": "absl-py", "tf_keras": "tf-keras", "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_hub": "tensorflow-hub", "tensorflow_addons": "tensorflow-addons",
    "tensorflow_probability": "tensorflow-probability",
    "tensorflow_text": "tensorflow-text", "tensorflow_model_optimization": "tensorflow-model-optimization",
    "keras_cv": "keras-cv",
    "keras_hub": "keras-hub", "keras_tuner": "keras-tuner", "official": "tf-models-official", "dotenv": "python-dotenv",
    "git": "GitPython", "pytorch_lightning": "pytorch-lightning", "attr": "attrs", "dateutil": "python-dateutil",
    "google.protobuf": "protobuf", "google.cloud.storage": "google-cloud-storage", "Levenshtein": "Levenshtein", "usb": "pyusb",
    "serial": "pyserial", "Crypto": "pycryptodome", "segmentation_models": "segmentation-models", "mpl_toolkits": "matplotlib",
}  # fmt: skip
# Packages that are installed under the name that they are imported by.
KNOWN = frozenset(
    [
        "albumentations",
        "imgaug",
        "pycocotools",
        "matplotlib",
        "pandas",
        "scipy",
        "h5py",
        "pydot",
        "tqdm",
        "lxml",
        "seaborn",
        "transformers",
        "datasets",
        "wandb",
        "torch",
        "torchvision",
        "lightning",
        "tensorflow",
        "keras",
        "jax",
        "flax",
        "optax",
        "numpy",
        "imageio",
        "tifffile",
        "rasterio",
        "shapely",
        "numba",
        "onnx",
        "onnxruntime",
        "tensorboard",
        "tensorboardX",
        "mlflow",
        "einops",
        "timm",
        "ultralytics",
        "supervision",
        "librosa",
        "soundfile",
        "nltk",
        "gym",
        "gymnasium",
        "psutil",
        "requests",
        "rich",
        "click",
        "typer",
        "plotly",
        "xgboost",
        "lightgbm",
        "scikeras",
        "tensorflow_io",
    ]
)
_FROM_SOURCE = {
    "object_detection": "the TensorFlow Object Detection API, which is installed from its source (tensorflow/models, research)"
}
_NOT_FOUND = re.compile(r"No module named '?(?P<name>[\w.]+)'?(?P<no_package>; '(?P<owner>[\w.]+)' is not a package)?")
_HALF = re.compile(r"partially initialized module '(?P<name>[\w.]+)'[^(]*(?:\((?P<file>[^()]*\.py)\))?")
_CIRCULAR = re.compile(r"most likely due to a circular import|consider renaming")
_NUMPY_ABI = re.compile(
    r"numpy\.\w+ size changed, may indicate binary incompatibility|_ARRAY_API not found|multiarray failed to import"
)
_LIBRARY = re.compile(r"(?P<library>lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
_SYSTEM = {
    "libGL.so.1": "install opencv-python-headless in place of opencv-python, or the system's package libgl1",
    "libgthread-2.0.so.0": "install opencv-python-headless in place of opencv-python, or the system's package libglib2.0-0",
}
_IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError", "AttributeError", "ValueError")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    kind, message = failure.error.kind.rpartition(".")[2], failure.error.message
    if kind not in _IMPORT_ERRORS or find_removed_name(failure) is not None:
        return Clear("the error is about something else")
    half = _HALF.search(message)
    if half is not None and _CIRCULAR.search(message):
        return _shadowed(failure, half["name"], half["file"])
    if _NUMPY_ABI.search(message):
        return _built_for_another_numpy(failure)
    library = _LIBRARY.search(message) if kind == "ImportError" else None
    if library is not None:
        return _library_missing(failure, library["library"])
    match = _NOT_FOUND.search(message) if kind in ("ImportError", "ModuleNotFoundError") else None
    if match is None:
        return Clear("the error is about something else")
    if match["no_package"]:
        return _shadowed(failure, match["owner"], None)
    return _not_found(failure, match["name"])


def _not_found(failure: Failure, name: str) -> Found:
    root = name.partition(".")[0]
    package = _package_of(failure)
    asked = f" {package} asks for it." if package else ""
    install = "install it with the Python of the program: python -m pip install"
    distribution = next((DISTRIBUTIONS[known] for known in (name, root) if known in DISTRIBUTIONS), root if root in KNOWN else "")
    own = "if it is a file of your own: run the program from the folder that holds it, or add that folder to PYTHONPATH"
    actions: tuple[str, ...]
    if root in _FROM_SOURCE:
        said, actions = (
            f" It belongs to {_FROM_SOURCE[root]}.",
            ("install it from its source, and add it to PYTHONPATH as that says",),
        )
    elif distribution and "." not in name:
        said = f" It comes with the package {distribution}." if distribution != root else ""
        actions = (f"{install} {distribution}",)
    elif "." in name:
        said = f" `{name.rpartition('.')[0]}` was found, and this part of it was not."
        actions = (f"compare the version of {distribution or root} with the one that the code was written for", own)
    else:
        said = " Python found it in no folder of its path."
        actions = (f"{install} … with the package that provides {root}, if it is a package", own)
    return create_found(failure, f"The module `{name}` was not found.{said}{asked}", actions)


def _package_of(failure: Failure) -> str:
    """The library whose own line imports it, if it is not a line of the user's."""
    file = next((frame["file"] for frame in failure.error.frames if not frame["file"].startswith("<")), "")
    parts = PurePath(file).parts
    if not file or is_user_file(file) or "site-packages" not in parts:
        return ""
    at = parts.index("site-packages")
    return parts[at + 1] if at + 1 < len(parts) else ""


def _shadowed(failure: Failure, name: str, file: str | None) -> Found:
    root = name.partition(".")[0]
    own = [line.where for line in failure.lines if PurePath(line.file).stem == root]
    named = f" ({PurePath(file).name})" if file and is_user_file(file) else ""
    is_known = bool(own) or bool(named)
    if is_known:
        said = f"The module `{name}` that was imported is a file of the program's own{named}, and it lacks what was asked for."
    else:
        said = (
            f"The module `{name}` is not what the import asks for: it was found in another place, or modules "
            f"import each other in a circle."
        )
    return create_found(
        failure,
        said,
        (
            f"rename the file {root}.py if it is meant to be something else than the package {root}",
            "or, where two modules of your own import each other, move one of the imports into the function that uses it",
        ),
        certainty=Certainty.LIKELY,
    )


def _built_for_another_numpy(failure: Failure) -> Found:
    package = _package_of(failure)
    who = f"An extension module of {package}" if package and package != "numpy" else "An extension module"
    return create_found(
        failure,
        f"{who} was built for another version of NumPy than the one that is installed, and cannot be loaded.",
        (
            f"install the newest version of {package if package and package != 'numpy' else 'the package that the line imports'}",
            "or install the NumPy that it was built for: python -m pip install 'numpy<2'",
        ),
        certainty=Certainty.LIKELY,
    )


def _library_missing(failure: Failure, library: str) -> Found:
    cuda = "install the version of CUDA and cuDNN that the framework names, or its variant that brings them along"
    action = _SYSTEM.get(
        library, cuda if re.match(r"lib(?:cu|nccl|nv)", library) else f"install the system's package that has {library}"
    )
    return create_found(failure, f"A module needs the library {library} of the system, which was not found.", (action,))
