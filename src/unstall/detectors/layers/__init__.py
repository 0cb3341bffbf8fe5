"""What detectors are made of: boxes, anchors, matching, losses, layers. Arrays in, arrays out; nothing here knows a detector."""
