"""The pipeline: examples become batches of fixed shape, in an order that is owned, ahead of the step that needs them."""

from unstall.data.pipeline.batch import Batch
from unstall.data.pipeline.pipeline import Pipeline
from unstall.data.pipeline.settings import PipelineSettings

__all__ = ["Batch", "Pipeline", "PipelineSettings"]
