"""Inference and evaluation: detections, average precision, pictures."""
