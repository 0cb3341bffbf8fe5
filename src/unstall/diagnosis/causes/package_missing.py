"""The program imports a module that Python cannot find, or that cannot be loaded.

What it is
----------
The package is not installed in the environment that the program runs in, a file of the user's own has its name and is found
first, or the versions of two packages do not go together: one asks another for a name that it does not have, or was built for
another version of NumPy, of protobuf, of PyTorch or of the system's libraries.

How we know
-----------
Python says which module was not found, or which part of it could not be loaded. Unstall shows the line that imports it, which
package asked for it, and the name under which it is installed where that is another one. Of a module that lacks a name, it is
looked whether it is a file of the program's own that hides a library of the same name.

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
from unstall.diagnosis.errors.failures import Failure, Maker, find_failure
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
_NUMPY_OF_TORCH = re.compile(r"\ANumpy is not available")
_COMPILED_FOR = re.compile(r"module (?:was )?compiled against A[BP]I version \S+ but this version of numpy is")
_LACKS = re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'|cannot import name '(?P<name_2>\w+)' from")
_SYMBOL_VERSION = re.compile(
    r"(?P<library>lib[\w.+-]+\.so[\w.]*): version `(?P<version>[\w.]+)' not found(?: \(required by (?P<by>[^)]+)\))?"
)
_SYMBOL = re.compile(r"(?P<file>[^\s:]+\.so[\w.]*): undefined symbol: (?P<symbol>\w+)")
# Whose symbol it is that an extension module does not find.
_OWNERS = (
    (re.compile(r"c10|torch|\b_ZN?K?2at"), "PyTorch"),
    (re.compile(r"tensorflow|_ZN?K?3tsl"), "TensorFlow"),
    (re.compile(r"nvJitLink|cublas|cudnn|cusparse|nccl"), "the libraries of CUDA"),
    (re.compile(r"\A_?Py"), "Python"),
)
_PROTOBUF = re.compile(
    r"Descriptors cannot (?:not )?be created directly|incompatible Protobuf Gencode/Runtime versions"
    r"|'MessageFactory' object has no attribute 'GetPrototype'"
)
_PROTOBUF_VERSIONS = re.compile(r"gencode (?P<code>[\w.+-]+) runtime (?P<runtime>[\w.+-]+?)\.?(?:\s|$)")
_LIBRARY = re.compile(r"(?P<library>lib[\w.+-]+\.so[\w.]*): cannot open shared object file")
_SYSTEM = {
    "libGL.so.1": "install opencv-python-headless in place of opencv-python, or the system's package libgl1",
    "libgthread-2.0.so.0": "install opencv-python-headless in place of opencv-python, or the system's package libglib2.0-0",
}
_NOT_OF_VERSIONS = ("KeyError", "OSError", "FileNotFoundError", "PermissionError", "MemoryError")
_IMPORT_ERRORS = ("ImportError", "ModuleNotFoundError", "AttributeError", "ValueError")


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    kind, message = failure.error.kind.rpartition(".")[2], failure.error.message
    unmet = [maker for maker in failure.makers if maker.what == "requirement"]
    of_versions = _of_versions(failure, kind, message)
    if of_versions is not None:
        return of_versions
    says_why = any(each.search(message) for each in (_NOT_FOUND, _LIBRARY, _NUMPY_ABI, _HALF))
    if unmet and not says_why and kind not in _NOT_OF_VERSIONS:
        return _of_requirement(failure, unmet)
    if kind not in _IMPORT_ERRORS or find_removed_name(failure) is not None:
        return Clear("the error is about something else")
    shadowing = failure.maker("shadowing")
    if shadowing is not None:
        return _hidden(failure, shadowing)
    half = _HALF.search(message)
    if half is not None and _CIRCULAR.search(message):
        return _shadowed(failure, half["name"], half["file"])
    if _NUMPY_ABI.search(message):
        return _built_for_another_numpy(failure)
    library = _LIBRARY.search(message) if kind == "ImportError" else None
    if library is not None:
        return _library_missing(failure, library["library"])
    match = _NOT_FOUND.search(message) if kind in ("ImportError", "ModuleNotFoundError") else None
    lacking = failure.maker("lacking")
    if match is None and lacking is not None and _LACKS.search(message) and not _CIRCULAR.search(message):
        return _name_missing(failure, lacking)
    if match is None:
        return Clear("the error is about something else")
    if match["no_package"]:
        return _shadowed(failure, match["owner"], None)
    return _not_found(failure, match["name"])


def _of_requirement(failure: Failure, unmet: list[Maker]) -> Found:
    """A library that failed while it was imported, and packages that do not have the version which it asks for."""
    rows = [
        f"{each.name} {each.facts['version']} needs {each.facts['needs']} {each.facts['specifier']}, and "
        f"{each.facts['installed']} is installed"
        for each in unmet
    ]
    library, other = unmet[0].name, unmet[0].facts["needs"]
    return create_found(
        failure,
        f"{library} fails while it is imported, and its version does not go together with other packages: {'; '.join(rows)}.",
        (
            f"install versions that go together: python -m pip install '{other}{unmet[0].facts['specifier']}', or the {library} "
            f"that was made for {other} {unmet[0].facts['installed'].partition('+')[0]}",
            "see which installed packages do not go together: python -m pip check",
        ),
        certainty=Certainty.LIKELY,
    )


def _of_versions(failure: Failure, kind: str, message: str) -> Found | None:
    """Parts that are there, and were built for other versions of each other."""
    if _PROTOBUF.search(message) and kind in ("TypeError", "VersionError", "AttributeError"):
        return _of_protobuf(failure, message)
    if (kind == "RuntimeError" and _NUMPY_OF_TORCH.search(message)) or (
        kind in ("RuntimeError", "ImportError") and _COMPILED_FOR.search(message)
    ):
        return _built_for_another_numpy(failure)
    version = _SYMBOL_VERSION.search(message) if kind in ("ImportError", "OSError") else None
    if version is not None:
        by = f" {PurePath(version['by']).name} needs it." if version["by"] else ""
        return create_found(
            failure,
            f"The system's {version['library']} is older than a module that is imported was built for: it has no "
            f"{version['version']}.{by}",
            (
                "install a build of that package for this system: an older version, or the wheel of PyPI",
                "with conda: let its newer library be found first (conda install -c conda-forge libstdcxx-ng)"
                if "stdc++" in version["library"]
                else "or run it on a newer system, or in a container of one",
            ),
        )
    symbol = _SYMBOL.search(message) if kind in ("ImportError", "OSError", "NotFoundError") else None
    if symbol is None:
        return None
    owner = next((name for pattern, name in _OWNERS if pattern.search(symbol["symbol"])), "a library")
    return create_found(
        failure,
        f"{PurePath(symbol['file']).name} was built for another version of {owner} than the one that is installed: it misses a "
        f"function in it ({symbol['symbol']}).",
        (
            f"install the version of that package that was made for the installed version of {owner}, or build it again",
            "see which versions are installed: python -m pip list",
        ),
    )


def _of_protobuf(failure: Failure, message: str) -> Found:
    versions = _PROTOBUF_VERSIONS.search(message)
    package = _package_of(failure) or "A package"
    who = package if package not in ("google", "A package") else "A package"
    numbers = f" ({versions['code']}, and {versions['runtime']} is installed)" if versions is not None else ""
    is_newer = versions is not None
    return create_found(
        failure,
        f"{who} brings code that was generated for another version of protobuf than the one that is installed{numbers}.",
        (
            f"install the version that it was generated for, or a newer one: python -m pip install 'protobuf>={versions['code']}'"
            if is_newer and versions is not None
            else "install a newer version of the package that is imported, whose generated code is newer",
            "or an older protobuf that still reads it, in an environment of its own: python -m pip install 'protobuf<3.21'"
            if not is_newer
            else "or an older version of the package that brings the code",
        ),
    )


def _hidden(failure: Failure, shadowing: Maker) -> Found:
    """A file of the program's own that was imported in place of a library."""
    file = PurePath((shadowing.where or "").rpartition(":")[0]).name
    by_library = bool(_package_of(failure)) or _is_standard(failure)
    return create_found(
        failure,
        f"The file {file} of the program has the name of the module `{shadowing.name}` of "
        f"{'an installed package' if '-packages/' in shadowing.facts['hidden'] else 'the standard library'}, and was "
        "imported in its place. It lacks what was asked for.",
        (f"give the file {file} another name, and correct the imports that mean it",),
        (f"the module that it hides is {shadowing.facts['hidden']}",) if "/" in shadowing.facts["hidden"] else (),
        where=shadowing.where,
        certainty=Certainty.CERTAIN if by_library else Certainty.LIKELY,
    )


def _is_standard(failure: Failure) -> bool:
    inner = next((frame["file"] for frame in failure.error.frames if not frame["file"].startswith("<")), "")
    return bool(inner) and not is_user_file(inner)


def _name_missing(failure: Failure, lacking: Maker) -> Found:
    """A library that is there, in a version that does not have the name."""
    root, close = lacking.facts["module"].partition(".")[0], [f"`{name}`" for name in lacking.facts["close"]]
    version = f" {lacking.facts['version']}" if lacking.facts["version"] else ""
    package = _package_of(failure)
    package = "" if package == root else package
    asked = f" {package} asks for it, and was made for another version of {root}." if package else ""
    similar = f" It has {' and '.join(close)}." if close else ""
    actions = (
        (f"install versions of {package} and {root} that go together: python -m pip install -U {package} {root}",)
        if package
        else (
            *((f"write {' or '.join(close)}, if that is meant",) if close else ()),
            f"look in the documentation of {root} since when, or until when, it has `{lacking.name}`, and where it has moved",
            f"or install the version of {root} that the code was written for, in an environment of its own",
        )
    )
    return create_found(
        failure, f"The installed {root}{version} has no `{lacking.name}` in `{lacking.facts['module']}`.{asked}{similar}", actions
    )


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
