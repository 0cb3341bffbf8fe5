"""Pairs of runs with one to three known changes each, and pairs of identical ones. What is planted stands beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Variant:
    """A program as it is run once. `changes`: text of the program, and what it becomes."""

    program: str  # of compare_programs.PROGRAMS, or 'train'
    data: str = "arrays"
    changes: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    package: tuple[str, int] | None = None  # the version of picturekit, and how hard it works
    cores: int = 0  # that it may use; 0: all
    read_bytes_s: int = 0  # that it may read from its disk; 0: as many as it can
    in_memory: bool = False  # the data, in a file system of the memory
    group_bytes: int = 0  # the memory that it may use, with who else is in its control group
    foreign_bytes: int = 0  # that another process of the group holds
    settings: tuple[tuple[str, str], ...] = ()  # of `unstall train`

    def with_(self, *changes: tuple[str, str], **others: object) -> Variant:
        return replace(self, changes=(*self.changes, *changes), **others)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Pair:
    name: str
    before: Variant
    after: Variant
    planted: tuple[str, ...]  # the main one first
    main: tuple[str, ...]  # names of differences that are this cause
    alone: dict[str, Variant] = field(default_factory=dict)  # for memory: each change by itself, by the name of its difference


IMAGES = Variant("images")
WIDE = Variant("wide")
FILES = Variant("files", "files")
BOXES = Variant("boxes", "boxes, 6")
LOOP = Variant("loop", arguments=("24",))
TRAIN = Variant(
    "train",
    "",
    settings=(("synthetic_images", "160"), ("epochs", "1"), ("batch_size", "8"), ("eval_interval", "0"), ("warmup_steps", "5"),
              ("max_restarts", "0"), ("backend", "jax"), ("num_input_workers", "1"), ("tensorboard", "false")),
)  # fmt: skip


def _set(variant: Variant, **settings: str) -> Variant:
    kept = tuple((name, value) for name, value in variant.settings if name not in settings)
    return replace(variant, settings=(*kept, *settings.items()))


BATCH = ("BATCH = 12", "BATCH = 32")
SIZE = ("SIZE = 128", "SIZE = 192")
FILTERS = ("FILTERS = 24", "FILTERS = 60")
MORE_LAYERS = ("        # more layers\n", '        keras.layers.Conv2D(FILTERS, 1, activation="relu"),\n' * 4)
RATE = ("RATE = 0.02", "RATE = 8.0")
ADAM = ("keras.optimizers.SGD(RATE)", "keras.optimizers.Adam(RATE)")
LOSS = ("keras.losses.SparseCategoricalCrossentropy(from_logits=True)\noptimizer",
        "keras.losses.CategoricalHinge()\noptimizer")  # fmt: skip
ONE_HOT = ("return images, labels[rows]", "return images, np.eye(4, dtype='float32')[labels[rows]]")
BFLOAT = (
    "keras.utils.set_random_seed(1)\n",
    'keras.utils.set_random_seed(1)\nkeras.mixed_precision.set_global_policy("mixed_bfloat16")\n',
)
ACCUMULATE = ("SGD(RATE)", "SGD(RATE, gradient_accumulation_steps=4)")
NO_PREFETCH = ("dataset = dataset.prefetch(2)\n", "")
ONE_READER = ("READERS = 2", "READERS = 1")
AUGMENT = ("dataset = dataset.batch(", '''

def augment(image, label):
    for _ in range(12):
        image = tf.image.random_contrast(tf.image.random_flip_left_right(image), 0.9, 1.1)
    return image, label


dataset = dataset.map(augment, num_parallel_calls=READERS)
dataset = dataset.batch(''')  # fmt: skip
KIT = (("import numpy as np\n", "import numpy as np\nimport picturekit\n"),
       ("return images, labels[rows]", "return picturekit.prepared(images), labels[rows]"))  # fmt: skip
WITH_KIT = IMAGES.with_(*KIT, package=("1.4.0", 1))
ON_A_DISK = Variant("files", "files", in_memory=True)
IN_A_GROUP = IMAGES.with_(group_bytes=3 * 2**30)


def one_change(name: str, before: Variant, after: Variant, planted: str, kind: str) -> Pair:
    """One change, that memory is measured of."""
    return Pair(name, before, after, (planted,), (kind,), {kind: after})


LARGE, MANY = replace(FILES, data="files, large ones"), replace(BOXES, data="boxes, 90")
SMALLER_RATE, WIDER = ("RATE = 0.02", "RATE = 0.01"), ("FILTERS = 24", "FILTERS = 32")
PAIRS = [
    one_change("batch", IMAGES, IMAGES.with_(BATCH), "batch 12 → 32", "batch"),
    one_change("image size", IMAGES, IMAGES.with_(SIZE), "image size 128 → 192", "image_size"),
    one_change("filters", IMAGES, IMAGES.with_(FILTERS), "filters 24 → 60", "filters"),
    one_change("deeper", IMAGES, IMAGES.with_(MORE_LAYERS), "four more layers", "layers"),
    one_change("optimizer", WIDE, WIDE.with_(ADAM), "SGD → Adam", "optimizer"),
    one_change("accumulation", WIDE, WIDE.with_(ACCUMULATE), "gradients over 4 steps", "accumulation"),
    one_change("precision", IMAGES, IMAGES.with_(BFLOAT), "float32 → mixed_bfloat16", "precision"),
    one_change("large images", FILES, LARGE, "six images of 5200 px", "large_images"),
    one_change("more boxes", BOXES, MANY, "up to 6 → 90 boxes of an image", "boxes"),
    one_change("own loop, batch", LOOP, replace(LOOP, arguments=("72",)), "batch 24 → 72, the first argument", "command"),
    Pair("learning rate", IMAGES, IMAGES.with_(RATE), ("learning rate 0.02 → 8",), ("learning_rate",)),
    Pair("labels", IMAGES, replace(IMAGES, data="arrays, labels corrupted"), ("labels shuffled",), ("labels", "data_contents")),
    Pair("loss", IMAGES, IMAGES.with_(LOSS, ONE_HOT), ("cross-entropy → hinge",), ("loss",)),
    Pair("prefetch removed", FILES, FILES.with_(NO_PREFETCH), ("prefetch(2) gone",), ("prefetch",)),
    Pair("readers", FILES, FILES.with_(ONE_READER), ("parallel calls 2 → 1",), ("parallelism",)),
    Pair("augmentation", FILES, FILES.with_(AUGMENT), ("contrast and flips",), ("augmentation", "stages")),
    Pair("slower storage", ON_A_DISK, replace(ON_A_DISK, in_memory=False, read_bytes_s=300_000),
         ("memory → a disk of 0.3 MB/s",), ("storage",)),
    Pair("package version", WITH_KIT, replace(WITH_KIT, package=("2.0.0", 400)), ("picturekit 1.4.0 → 2.0.0",), ("version",)),
    Pair("cores", IMAGES, replace(IMAGES, cores=1), ("two cores → one",), ("cores",)),
    Pair("batch and rate", IMAGES, IMAGES.with_(BATCH, SMALLER_RATE), ("batch 12 → 32", "rate"), ("batch",),
         {"batch": IMAGES.with_(BATCH)}),
    Pair("size, filters, rate", IMAGES, IMAGES.with_(SIZE, WIDER, SMALLER_RATE),
         ("image size 128 → 192", "filters 24 → 32", "rate"), ("image_size",),
         {"image_size": IMAGES.with_(SIZE), "filters": IMAGES.with_(WIDER)}),
    Pair("optimizer and batch", WIDE, WIDE.with_(ADAM, ("BATCH = 32", "BATCH = 48")), ("SGD → Adam", "batch"), ("optimizer",),
         {"optimizer": WIDE.with_(ADAM)}),
    Pair("killed, batch", IN_A_GROUP, IN_A_GROUP.with_(("BATCH = 12", "BATCH = 256")), ("batch 12 → 256, over 3 GiB",),
         ("batch",)),
    Pair("another process", IN_A_GROUP, replace(IN_A_GROUP, foreign_bytes=int(2.85 * 2**30)),
         ("another process holds 2.85 of 3 GiB",), ("foreign",)),
    one_change("trained, batch", TRAIN, _set(TRAIN, batch_size="32"), "batch_size 8 → 32", "batch"),
    Pair("trained, rate and num_input_workers", TRAIN, _set(TRAIN, learning_rate="3.0", num_input_workers="2"), ("rate 0.01 → 3",
    "num_input_workers"),
         ("learning_rate",)),
]  # fmt: skip
IDENTICAL = {"images": IMAGES, "wide": WIDE, "files": FILES, "boxes": BOXES, "loop": LOOP, "train": TRAIN}
