"""One example, from its file into its place in a batch: the only code that does so, whichever engine calls it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from unstall.data.augment.augmentations import Geometric, HorizontalFlip, Mosaic, PhotometricDistort
from unstall.data.augment.geometry import Area, Scene, View
from unstall.data.augment.rng import EXAMPLE, SUBSTITUTE, TILE, Rng
from unstall.data.example import DataSet
from unstall.data.pipeline.bucket_fetcher import Fetcher
from unstall.data.pipeline.cache import Cache
from unstall.data.pipeline.canvas import (
    NOTHING,
    BatchSlot,
    Canvas,
    Fit,
    Subject,
    Tile,
    clean_rows,
    crop,
    draw,
    select_usable_boxes,
)
from unstall.data.pipeline.decoder import Facts
from unstall.data.pipeline.image_loader import BadExample, ImageLoader, SkippedExamples, ThreadContext
from unstall.data.pipeline.sampler import EMPTY
from unstall.data.pipeline.settings import PipelineSettings

SUBSTITUTES = 20  # tried for a bad example, before its place stays empty


class ExampleMapper:
    def __init__(self, data: DataSet, settings: PipelineSettings, skipped: SkippedExamples, cache: Cache) -> None:
        self._data, self._settings, self._skipped, self._cache = data, settings, skipped, cache
        self._facts: list[Facts | None] = [None] * len(data.examples)  # what headers said, once for all that say the same
        self._said: dict[Facts, Facts] = {}
        self._sizes: dict[Facts, Fit] = {}  # of whole images on the whole canvas: few of them are of a size of their own
        self.fetcher: Fetcher | None = None  # of the stream of batches in use, where images lie in a bucket
        self._is_clean = clean_rows(data).tolist()
        self._canvas = Area(0, 0, settings.width_px, settings.height_px)
        self._geometric = tuple(each for each in settings.augmentations if isinstance(each, Geometric))
        self._flips = tuple(each for each in self._geometric if isinstance(each, HorizontalFlip))
        self._mosaic = next((each for each in settings.augmentations if isinstance(each, Mosaic)), None)
        self._photometric = next((each for each in settings.augmentations if isinstance(each, PhotometricDistort)), None)

    def fill(self, canvas: Canvas, epoch: int, row: int, context: ThreadContext) -> BatchSlot:
        """Draws the example of this row, or the one that takes its place."""
        for candidate in self._candidates(epoch, row):
            context.row = candidate
            try:
                tiles = self._draw(canvas, epoch, candidate, context)
            except BadExample as bad:
                if context.is_given_up:
                    break
                self._skipped.add(candidate, str(bad))
                continue
            context.tally.examples += 1
            return BatchSlot(candidate, tiles)
        canvas.clear(canvas.begin())
        canvas.end(NOTHING)
        return BatchSlot(EMPTY, ())

    def _candidates(self, epoch: int, row: int) -> Iterator[int]:
        """The row itself, then others drawn for it: a stream that is continued later draws the same ones."""
        if row == EMPTY:
            return
        if row not in self._skipped:
            yield row
        if self._settings.for_training:
            rng = Rng(self._settings.seed, epoch, row, SUBSTITUTE)
            for _ in range(SUBSTITUTES):
                other = rng.index(len(self._data.examples))
                if other not in self._skipped:
                    yield other

    def _draw(self, canvas: Canvas, epoch: int, row: int, context: ThreadContext) -> Sequence[Tile]:
        """The whole schedule of what is drawn for an example: mosaic, colours, meeting point, then each tile its own."""
        if not self._settings.augmentations:
            return (self._whole(canvas, row, context),)
        rng = Rng(self._settings.seed, epoch, row, EXAMPLE)
        partners = self._mosaic.partners(rng, len(self._data.examples)) if self._mosaic else ()
        colours = self._photometric.draw_parameters(rng) if self._photometric else None
        if self._mosaic and partners:
            quarters = self._mosaic.quarters(rng, self._canvas.width, self._canvas.height)
            tiles = self._four_tiles(canvas, epoch, (row, *partners), quarters, self._mosaic, context)
        else:
            tiles = [self._tile(canvas, row, context, rng)]
        if colours is not None:
            began = perf_counter()
            for tile in tiles:
                colours.apply(crop(canvas.pixels, tile.placement.target))
            context.tally.augment_s += perf_counter() - began
        return tiles

    # --- tiles: an image, on the area of the canvas that it is drawn for ---

    def _whole(self, canvas: Canvas, row: int, context: ThreadContext) -> Tile:
        """The image as it is. Nothing of it is drawn by chance, so nothing has to be reckoned again for every example."""
        subject, loaded = self._opened(row, self._canvas, context)
        fit = self._sizes.get(subject.facts)
        if fit is None:
            view = View.whole(subject.scene)
            fit = Fit.of(view, subject.scene, self._canvas, self._settings.resize, subject.facts)
            self._sizes[subject.facts] = fit
        return self._alone(canvas, Tile(subject, fit.placement, None), fit, loaded, context)

    def _tile(self, canvas: Canvas, row: int, context: ThreadContext, rng: Rng) -> Tile:
        subject, loaded = self._opened(row, self._canvas, context)
        view = View.whole(subject.scene)
        for augmentation in self._geometric:
            view = augmentation.apply(view, subject.scene, rng)
        fit = Fit.of(view, subject.scene, self._canvas, self._settings.resize, subject.facts)
        return self._alone(canvas, Tile(subject, fit.placement, view.keep), fit, loaded, context)

    def _alone(self, canvas: Canvas, tile: Tile, fit: Fit, loaded: ImageLoader, context: ThreadContext) -> Tile:
        self._drawn(canvas, tile.subject.facts, fit, loaded, canvas.begin(), context)
        canvas.end(fit.placement.target)
        return tile

    def _four_tiles(
        self,
        canvas: Canvas,
        epoch: int,
        rows: tuple[int, ...],
        quarters: tuple[Area, ...],
        mosaic: Mosaic,
        context: ThreadContext,
    ) -> list[Tile]:
        """A partner that is bad leaves its quarter empty; where the first is, the example is."""
        tiles = []
        canvas.begin()
        for quarter, (row, area) in enumerate(zip(rows, quarters, strict=True)):
            rng = Rng(self._settings.seed, epoch, rows[0], TILE + quarter)
            try:
                tiles.append(self._quarter(canvas, row, area, quarter, mosaic, rng, context))
            except BadExample as bad:
                if quarter == 0:
                    raise
                self._skipped.add(row, str(bad))
                canvas.clear(area)
        return tiles

    def _quarter(
        self, canvas: Canvas, row: int, area: Area, quarter: int, mosaic: Mosaic, rng: Rng, context: ThreadContext
    ) -> Tile:
        if row in self._skipped:
            raise BadExample("known to be bad")
        context.row = row
        subject, loaded = self._opened(row, area, context)
        view = View.whole(subject.scene)
        for flip in self._flips:
            view = flip.apply(view, subject.scene, rng)
        view = mosaic.apply(view, subject.scene, rng, quarter, (self._canvas.width, self._canvas.height))
        fit = Fit.of(view, subject.scene, area, self._settings.resize, subject.facts)
        self._drawn(canvas, subject.facts, fit, loaded, area, context)
        return Tile(subject, fit.placement, view.keep)

    def _opened(self, row: int, area: Area, context: ThreadContext) -> tuple[Subject, ImageLoader]:
        """Ready to be drawn: decoding it can still fail."""
        example = self._data.examples[row]
        loaded = ImageLoader(example, row, self._cache, context, self.fetcher)
        facts = self._facts_of(row, loaded)
        if self._is_clean[row] and (example.width, example.height) == (facts.width, facts.height):
            boxes, usable = example.boxes, None
        else:
            boxes, usable = select_usable_boxes(example, facts)
        context.tally.boxes_left_out += example.count - len(boxes)
        scene = Scene(facts.width, facts.height, boxes, area.width, area.height)
        return Subject(example, facts, scene, usable, area), loaded

    def _facts_of(self, row: int, loaded: ImageLoader) -> Facts:
        facts = self._facts[row]
        if facts is None:
            said = loaded.facts(self._settings.max_pixels)
            facts = self._facts[row] = self._said.setdefault(said, said)
        return facts

    def _drawn(self, canvas: Canvas, facts: Facts, fit: Fit, loaded: ImageLoader, drawn: Area, context: ThreadContext) -> None:
        """Draws what the placement shows; what was `drawn` before and is not covered is made blank."""
        placement = fit.placement
        target = crop(canvas.pixels, placement.target)
        into = target if fit.shows_all and target.flags.c_contiguous else None
        pixels = loaded.pixels(facts, placement.reduction, into)
        began = perf_counter()
        if pixels is not into:
            draw(pixels, placement, target)
        if drawn != placement.target:
            canvas.clear(drawn, but=placement.target)
        context.tally.augment_s += perf_counter() - began
