"""What the settings of several detectors share: the numbers of published backbones, and the precisions."""

from __future__ import annotations

from typing import Literal

Precision = Literal["float32", "mixed_bfloat16", "mixed_float16"]  # as Keras calls its dtype policies

VGG16 = (2, 2, 3, 3, 3)  # convolutions of the five stages
VGG_WIDTH = 64  # channels of the first stage
VGG_DILATION = 6  # of the first convolution that was once fully connected: it looks as far as it did when it was larger
RESNET50 = (3, 4, 6, 3)  # blocks of the four stages
RESNET_STEM_CHANNELS = 64
MOBILENET_STAGES = (0, 2, 4, 7, 13, 16)  # the features that a stage begins with: the stem, those that halve the map, the last
FPN_CHANNELS = 256
