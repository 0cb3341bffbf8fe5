"""`data_augmentation_options`: each step of the API as the augmentations here that do the same, or nearly."""

from __future__ import annotations

from unstall.data.augment.names import NAMED
from unstall.tfod.config import Node
from unstall.tfod.ledger import Ledger

_COLOURS, _CROP = "SSD's colour distortion, with its own numbers", "SSD's crop, with its own numbers"
_SCALE = "scale and crop, 0.1 to 2 times"
_NONE: tuple[str, ...] = ()
# The step, ours, and what is not the same about it; nothing: it is the same.
STEPS: dict[str, tuple[tuple[str, ...], str]] = {
    "random_horizontal_flip": (("horizontal_flip",), ""),
    "random_image_scale": (("scale_jitter",), _SCALE),
    "random_square_crop_by_scale": (("scale_jitter",), _SCALE),
    "random_scale_crop_and_pad_to_square": (("scale_jitter",), _SCALE),
    "random_crop_image": (("iou_crop",), _CROP),
    "random_crop_to_aspect_ratio": (("iou_crop",), _CROP),
    "ssd_random_crop": (("iou_crop",), "SSD's crop by IoU, as published; the API's by how much of an object is covered"),
    "ssd_random_crop_fixed_aspect_ratio": (("iou_crop",), "SSD's crop, of any aspect ratio from 1/2 to 2"),
    "ssd_random_crop_pad": (("zoom_out", "iou_crop"), "SSD's expansion and crop, with their own numbers"),
    "ssd_random_crop_pad_fixed_aspect_ratio": (("zoom_out", "iou_crop"), "SSD's expansion and crop, with their own numbers"),
    "random_crop_pad_image": (("zoom_out", "iou_crop"), "SSD's expansion and crop, with their own numbers"),
    "random_pad_image": (("zoom_out",), "SSD's expansion, up to four times, in half of the draws"),
    "random_absolute_pad_image": (("zoom_out",), "SSD's expansion, up to four times, in half of the draws"),
    "random_self_concat_image": (("mosaic",), "four images on one canvas"),
    "random_adjust_brightness": (("photometric_distort",), _COLOURS),
    "random_adjust_contrast": (("photometric_distort",), _COLOURS),
    "random_adjust_hue": (("photometric_distort",), _COLOURS),
    "random_adjust_saturation": (("photometric_distort",), _COLOURS),
    "random_distort_color": (("photometric_distort",), _COLOURS),
    "random_pixel_value_scale": (("photometric_distort",), _COLOURS),
    "adjust_gamma": (("photometric_distort",), _COLOURS),
    "normalize_image": (_NONE, "the detector brings pixels to its own range"),
    "subtract_channel_mean": (_NONE, "the detector brings pixels to its own range"),
    "resize_image": (_NONE, "the detector's image_size says the size"),
    "random_resize_method": (_NONE, "images are resized in one way: bilinear, and by area where they shrink"),
    "scale_boxes_to_pixel_coordinates": (_NONE, "boxes are in pixels anyway"),
    "random_vertical_flip": (_NONE, "images are not turned upside down"),
    "random_rotation90": (_NONE, "images are not turned"),
    "random_rgb_to_gray": (_NONE, "colours stay"),
    "rgb_to_gray": (_NONE, "colours stay"),
    "random_jitter_boxes": (_NONE, "boxes stay where they are marked"),
    "random_black_patches": (_NONE, "nothing is blackened"),
    "random_patch_gaussian": (_NONE, "no noise is added"),
    "random_jpeg_quality": (_NONE, "images are not compressed again"),
    "random_downscale_to_target_pixels": (_NONE, "the detector's image_size says the size"),
    "random_half_pixel_shift": (_NONE, "images are not moved by parts of pixels"),
    "autoaugment_image": (_NONE, "there is no learned policy here"),
    "drop_label_probabilistically": (_NONE, "all boxes are learned"),
    "remap_labels": (_NONE, "classes are those of the label map"),
    "convert_class_logits_to_softmax": (_NONE, "classes are those of the boxes"),
}


def convert_augmentations(root: Node, ledger: Ledger) -> None:
    wanted: set[str] = set()
    train = root.node("train_config")
    for option in train.nodes("data_augmentation_options"):
        for name in option.names():
            if name in STEPS:
                wanted |= _step(option, name, ledger)
    in_order = [name for name in NAMED if name in wanted]
    asked = train.has("data_augmentation_options")
    ledger.follow("augmentations", in_order, "train_config.data_augmentation_options" if asked else "the config asks for none")


def _step(option: Node, name: str, ledger: Ledger) -> set[str]:
    ours, differs = STEPS[name]
    inner = option.node(name)
    if not ours:
        ledger.left_out(option, name, instead=differs)
        return set()
    to = " and ".join(f'augmentation "{each}"' for each in ours)
    if name == "random_horizontal_flip":
        share = inner.number("probability", 0.5, 0, 1)
        ledger.left_out(inner, "keypoint_flip_permutation", instead="there are no keypoints here")
        differs = "" if share == 0.5 else "in half of the draws"
    if differs:
        ledger.changed(option, name, to=to, why=differs)
    else:
        ledger.carried(option, name, to=to)
    return set(ours)
