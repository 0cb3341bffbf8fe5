"""Names that libraries have removed, with the version in which they went and what is called now: facts, and no code.

A name is written as users write it, without the name of the library. The version is that of the release that first lacks it; an
empty one stands where the release is not known for sure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RemovedName:
    library: str  # as it is imported
    name: str
    since: str
    now: str  # what to write instead: an expression, or a sentence that begins with "use"


# What each library is called in a sentence.
TITLES = {
    "numpy": "NumPy",
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "PIL": "Pillow",
    "pandas": "pandas",
    "sklearn": "scikit-learn",
    "scipy": "SciPy",
    "python": "Python",
    "jax": "JAX",
}
_NOW_IN_OPS = [
    "mean",
    "sum",
    "cast",
    "shape",
    "concatenate",
    "square",
    "clip",
    "exp",
    "log",
    "maximum",
    "minimum",
    "reshape",
    "argmax",
    "max",
    "abs",
    "expand_dims",
    "dot",
    "sigmoid",
    "softmax",
    "stack",
    "zeros",
    "ones",
    "sqrt",
    "round",
    "equal",
    "not_equal",
    "less",
    "greater",
    "any",
    "all",
    "zeros_like",
    "ones_like",
    "arange",
    "tile",
    "transpose",
    "std",
    "var",
    "prod",
    "cumsum",
    "squeeze",
    "relu",
]
_OF_MODULES: dict[tuple[str, str], dict[str, str]] = {
    ("numpy", "1.24"): {
        "float": "float",
        "int": "int",
        "bool": "bool",
        "complex": "complex",
        "object": "object",
        "str": "str",
    },
    ("numpy", "2.0"): {
        "float_": "np.float64",
        "complex_": "np.complex128",
        "cfloat": "np.complex128",
        "singlecomplex": "np.complex64",
        "longfloat": "np.longdouble",
        "string_": "np.bytes_",
        "unicode_": "np.str_",
        "Inf": "np.inf",
        "Infinity": "np.inf",
        "infty": "np.inf",
        "PINF": "np.inf",
        "NINF": "-np.inf",
        "NaN": "np.nan",
        "mat": "np.asmatrix",
        "alltrue": "np.all",
        "sometrue": "np.any",
        "round_": "np.round",
        "issubsctype": "np.issubdtype",
        "asfarray": "use np.asarray(values, dtype=float)",
        "find_common_type": "np.promote_types",
        "recfromcsv": "use np.genfromtxt with a comma as delimiter",
    },
    ("numpy", ""): {"product": "np.prod", "cumproduct": "np.cumprod", "in1d": "np.isin", "trapz": "np.trapezoid"},
    ("jax", ""): {
        **{
            f"tree_{name}": f"jax.tree.{name}" for name in ("map", "leaves", "flatten", "unflatten", "reduce", "structure", "all")
        },
        "tree_transpose": "jax.tree.transpose",
        "tree_multimap": "jax.tree.map",
    },
    ("tensorflow", "2.0"): {
        "Session": "use eager execution: call the functions, and read results by .numpy(); tf.compat.v1.Session is the old one",
        "InteractiveSession": "use eager execution: call the functions, and read results by .numpy()",
        "placeholder": "use arguments of functions, or keras.Input; tf.compat.v1.placeholder is the old one",
        "ConfigProto": "tf.compat.v1.ConfigProto",
        "GPUOptions": "use tf.config.experimental.set_memory_growth(gpu, True)",
        "global_variables_initializer": "use variables as they are: they have their values when they are made",
        "initialize_all_variables": "use variables as they are: they have their values when they are made",
        "reset_default_graph": "tf.compat.v1.reset_default_graph",
        "get_default_graph": "tf.compat.v1.get_default_graph",
        "get_default_session": "tf.compat.v1.get_default_session",
        "variable_scope": "tf.compat.v1.variable_scope",
        "get_variable": "use tf.Variable, or the weights of a layer",
        "global_variables": "use model.variables",
        "trainable_variables": "use model.trainable_variables",
        "enable_eager_execution": "use nothing: TensorFlow 2 executes eagerly",
        "layers": "tf.keras.layers",
        "contrib": "use the successor of the part that is meant: tf.contrib has moved to tf.keras, tf.data and "
        "packages of their own",
        "flags": "use absl.flags, or argparse",
        "app": "use absl.app",
        "logging": "use tf.get_logger()",
        "gfile": "tf.io.gfile",
        "log": "tf.math.log",
        "ceil": "tf.math.ceil",
        "mod": "tf.math.floormod",
        "div": "tf.math.divide",
        "is_nan": "tf.math.is_nan",
        "is_inf": "tf.math.is_inf",
        "random_normal": "tf.random.normal",
        "random_uniform": "tf.random.uniform",
        "random_shuffle": "tf.random.shuffle",
        "random_crop": "tf.image.random_crop",
        "truncated_normal": "tf.random.truncated_normal",
        "set_random_seed": "tf.random.set_seed",
        "to_float": "use tf.cast(x, tf.float32)",
        "to_int32": "use tf.cast(x, tf.int32)",
        "to_int64": "use tf.cast(x, tf.int64)",
        "read_file": "tf.io.read_file",
        "write_file": "tf.io.write_file",
        "parse_single_example": "tf.io.parse_single_example",
        "parse_example": "tf.io.parse_example",
        "FixedLenFeature": "tf.io.FixedLenFeature",
        "VarLenFeature": "tf.io.VarLenFeature",
        "decode_raw": "tf.io.decode_raw",
        "sparse_tensor_to_dense": "tf.sparse.to_dense",
        "assign": "use variable.assign(value)",
        "assign_add": "use variable.assign_add(value)",
        "diag": "tf.linalg.diag",
        "matrix_inverse": "tf.linalg.inv",
        "depth_to_space": "tf.nn.depth_to_space",
        "space_to_depth": "tf.nn.space_to_depth",
        "py_func": "tf.numpy_function",
        "Print": "tf.print",
        "confusion_matrix": "tf.math.confusion_matrix",
        "multinomial": "tf.random.categorical",
        "train.AdamOptimizer": "tf.keras.optimizers.Adam",
        "train.GradientDescentOptimizer": "tf.keras.optimizers.SGD",
        "train.MomentumOptimizer": "use tf.keras.optimizers.SGD with its argument momentum",
        "train.RMSPropOptimizer": "tf.keras.optimizers.RMSprop",
        "train.Saver": "use tf.train.Checkpoint, or model.save_weights",
        "train.get_or_create_global_step": "use the optimizer's iterations",
        "train.exponential_decay": "tf.keras.optimizers.schedules.ExponentialDecay",
        "train.string_input_producer": "use tf.data",
        "train.shuffle_batch": "use tf.data: shuffle and batch",
        "summary.FileWriter": "tf.summary.create_file_writer",
        "summary.merge_all": "use nothing: summaries of TensorFlow 2 are written where they are called",
        "image.resize_images": "tf.image.resize",
        "image.resize_bilinear": "tf.image.resize",
        "image.resize_image_with_pad": "tf.image.resize_with_pad",
        "nn.softmax_cross_entropy_with_logits_v2": "tf.nn.softmax_cross_entropy_with_logits",
        "nn.dynamic_rnn": "use tf.keras.layers.RNN, LSTM or GRU",
        "nn.rnn_cell": "use the cells of tf.keras.layers: LSTMCell, GRUCell",
    },
    ("keras", "3.0"): {
        "layers.experimental": "use keras.layers: Rescaling, RandomFlip and the others have left experimental",
        "backend.set_value": "use variable.assign(value)",
        "backend.get_value": "use keras.ops.convert_to_numpy(value)",
        "backend.learning_phase": "use the argument training of call",
        "preprocessing.image.ImageDataGenerator": "use keras.utils.image_dataset_from_directory with layers such "
        "as keras.layers.RandomFlip; "
        "tf.keras.preprocessing.image still has ImageDataGenerator",
        "preprocessing.text.Tokenizer": "use keras.layers.TextVectorization; tf.keras.preprocessing.text still has Tokenizer",
        **{f"backend.{name}": f"keras.ops.{name}" for name in _NOW_IN_OPS},
        "losses.Reduction": "use the texts 'sum', 'sum_over_batch_size' and 'none'",
        "layers.CuDNNLSTM": "use keras.layers.LSTM, which takes the kernel of cuDNN by itself",
        "layers.CuDNNGRU": "use keras.layers.GRU, which takes the kernel of cuDNN by itself",
    },
    ("keras", "2.13"): {
        "utils.np_utils": "use keras.utils, which has to_categorical",
        "utils.vis_utils": "use keras.utils, which has plot_model",
        "utils.generic_utils": "use keras.utils",
        "utils.data_utils": "use keras.utils",
        "engine": "use keras.layers: Layer and InputSpec are there",
        "engine.topology": "use keras.layers: Layer and InputSpec are there",
        "layers.core": "keras.layers",
    },
    ("keras", ""): {
        "utils.multi_gpu_model": "use tf.distribute.MirroredStrategy",
        "layers.convolutional": "keras.layers",
        "layers.normalization": "use keras.layers",
        "layers.advanced_activations": "keras.layers",
        "layers.merge": "keras.layers",
        "layers.recurrent": "keras.layers",
        "layers.embeddings": "keras.layers",
        "layers.pooling": "keras.layers",
        "layers.Deconvolution2D": "keras.layers.Conv2DTranspose",
        "losses.cosine_proximity": "keras.losses.cosine_similarity",
        "objectives": "keras.losses",
    },
    ("PIL", "10.0"): {"Image.ANTIALIAS": "Image.LANCZOS", "Image.LINEAR": "Image.BILINEAR", "Image.CUBIC": "Image.BICUBIC"},
    ("scipy", "1.2"): {"misc.imread": "use imageio.v3.imread, or PIL.Image.open", "misc.imsave": "use imageio.v3.imwrite"},
    ("scipy", "1.3"): {"misc.imresize": "use PIL.Image.resize, or tf.image.resize"},
    ("sklearn", "0.20"): {"cross_validation": "sklearn.model_selection", "grid_search": "sklearn.model_selection"},
    ("sklearn", "0.23"): {"externals.joblib": "use the package joblib"},
    ("python", "3.10"): {
        "collections.Mapping": "collections.abc.Mapping",
        "collections.MutableMapping": "collections.abc.MutableMapping",
        "collections.Iterable": "collections.abc.Iterable",
        "collections.Sequence": "collections.abc.Sequence",
        "collections.Callable": "collections.abc.Callable",
    },
    ("python", "3.12"): {"distutils": "use setuptools or sysconfig, as the part that is meant", "imp": "use importlib"},
    ("python", "3.11"): {"inspect.getargspec": "inspect.getfullargspec"},
    ("python", "3.9"): {"fractions.gcd": "math.gcd", "xml.etree.cElementTree": "xml.etree.ElementTree"},
    ("python", "3.8"): {"time.clock": "time.perf_counter"},
}
# Methods and attributes of objects: by the class, or by "" for the classes that `_OWNERS` knows to belong to the library.
_OF_OBJECTS: dict[tuple[str, str], dict[str, str]] = {
    ("keras", "3.0"): {
        "fit_generator": "fit",
        "evaluate_generator": "evaluate",
        "predict_generator": "predict",
        "lr": "learning_rate",
    },
    ("keras", "2.6"): {
        "predict_classes": "use model.predict(x).argmax(axis=-1) for several classes, or (model.predict(x) > 0.5) for one output",
        "predict_proba": "predict",
    },
    ("tensorflow", "2.0"): {
        "make_one_shot_iterator": "use the data set itself in a for loop, or iter(dataset)",
        "make_initializable_iterator": "use the data set itself in a for loop, or iter(dataset)",
    },
    ("pandas", "2.0"): {"append": "use pandas.concat([frame, other])", "iteritems": "items"},
    ("pandas", "1.0"): {"ix": "use .loc for labels, or .iloc for positions", "as_matrix": "to_numpy"},
    ("PIL", "10.0"): {"textsize": "use textbbox, which gives left, top, right and bottom", "getsize": "use getbbox"},
}
# Arguments of functions and of classes.
_OF_CALLS: dict[tuple[str, str], dict[str, str]] = {
    ("keras", "3.0"): {
        "lr": "learning_rate",
        "period": "use save_freq, which counts batches, or 'epoch'",
        "workers": "use a keras.utils.PyDataset, which takes workers itself",
        "use_multiprocessing": "use a keras.utils.PyDataset, which takes use_multiprocessing itself",
        "max_queue_size": "use a keras.utils.PyDataset, which takes max_queue_size itself",
        "time_major": "use an input of the form (batch, time, features)",
        "write_grads": "use nothing: TensorBoard of Keras no longer writes gradients",
    },
    ("keras", ""): {
        "nb_epoch": "epochs",
        "samples_per_epoch": "use steps_per_epoch, which counts batches",
        "nb_val_samples": "use validation_steps, which counts batches",
        "border_mode": "padding",
        "subsample": "strides",
        "dim_ordering": "use data_format: 'channels_last' or 'channels_first'",
        "nb_filter": "filters",
        "init": "kernel_initializer",
        "W_regularizer": "kernel_regularizer",
        "b_regularizer": "bias_regularizer",
    },
    ("sklearn", "1.4"): {"sparse": "sparse_output"},
}
# The calls that an argument was removed from: of other calls, an argument of the same name says nothing.
_OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl")
_CONVOLUTIONS = (
    "Conv1D", "Conv2D", "Conv3D", "SeparableConv2D", "Conv2DTranspose", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D",
    "AveragePooling2D", "UpSampling2D", "ZeroPadding2D", "Flatten",
)  # fmt: skip
CALLS = {
    "lr": _OPTIMIZERS,
    "period": ("ModelCheckpoint",),
    "workers": ("fit", "evaluate", "predict"),
    "use_multiprocessing": ("fit", "evaluate", "predict"),
    "max_queue_size": ("fit", "evaluate", "predict"),
    "time_major": ("LSTM", "GRU", "SimpleRNN", "RNN"),
    "write_grads": ("TensorBoard",),
    "nb_epoch": ("fit",),
    "samples_per_epoch": ("fit",),
    "nb_val_samples": ("fit",),
    "border_mode": _CONVOLUTIONS,
    "subsample": _CONVOLUTIONS,
    "dim_ordering": _CONVOLUTIONS,
    "nb_filter": _CONVOLUTIONS,
    "init": (*_CONVOLUTIONS, "Dense"),
    "W_regularizer": (*_CONVOLUTIONS, "Dense"),
    "b_regularizer": (*_CONVOLUTIONS, "Dense"),
    "sparse": ("OneHotEncoder",),
}
# The classes whose objects lack a name now.
OWNERS = {
    "fit_generator": ("Sequential", "Functional", "Model"),
    "evaluate_generator": ("Sequential", "Functional", "Model"),
    "predict_generator": ("Sequential", "Functional", "Model"),
    "predict_classes": ("Sequential", "Functional", "Model"),
    "predict_proba": ("Sequential", "Functional", "Model"),
    "lr": _OPTIMIZERS,
    "append": ("DataFrame", "Series"),
    "iteritems": ("DataFrame", "Series"),
    "ix": ("DataFrame", "Series"),
    "as_matrix": ("DataFrame", "Series"),
    "textsize": ("ImageDraw",),
    "getsize": ("FreeTypeFont", "ImageFont"),
}


def find_removed_from_module(library: str, name: str) -> RemovedName | None:
    return _find(_OF_MODULES, name, library)


def find_removed_from_object(kind: str, name: str) -> RemovedName | None:
    """`kind` is the class of the object."""
    if name.startswith("make_") and not kind.endswith("Dataset") and kind != "DatasetV2":
        return None
    return _find(_OF_OBJECTS, name) if kind in OWNERS.get(name, (kind,)) else None


def find_removed_argument(function: str, name: str) -> RemovedName | None:
    return _find(_OF_CALLS, name) if function in CALLS.get(name, ()) else None


def _find(table: dict[tuple[str, str], dict[str, str]], name: str, library: str = "") -> RemovedName | None:
    for (owner, since), names in table.items():
        if name in names and library in ("", owner):
            return RemovedName(owner, name, since, names[name])
    return None
