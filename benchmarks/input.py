"""How quickly photographs become batches: Unstall's two engines and what people use, in turns, on two cores.

    python -m benchmarks.input [--rounds 9] [--photographs FOLDER] [--out benchmarks/results/input.json]

Each way runs in a process of its own that is stopped (SIGSTOP) while it is not its turn, so that nothing it makes ahead takes
time from another. A round is one turn of each, in random order; ratios are formed within a round, and the table shows their
medians. A turn in which other programs took more than a tenth of the two cores is taken again, some times. The photographs
are noise at every scale, each finer one weaker, as in nature, and as large as real ones at quality 90: 157 kB at 640×480
(COCO's mean: 160 kB) and 4.2 MB at 4,000×3,000 (a phone's).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import written

SIZES = {"640×480": (640, 480, 200), "4000×3000": (4000, 3000, 16)}
EVERY_WAY = (
    "plain loop",
    "AUTOTUNE recipe",
    "torch DataLoader",
    "Keras PyDataset",
    "Unstall threads",
    "Unstall tf.data",
    "limit",
)
CASES: dict[str, tuple[str, bool, tuple[str, ...], float]] = {
    "640×480": ("640×480", False, EVERY_WAY, 1.5),
    "640×480, augmented": ("640×480", True, ("plain loop", "AUTOTUNE recipe", "Unstall threads", "Unstall tf.data"), 1.5),
    "4000×3000": (
        "4000×3000",
        False,
        (*EVERY_WAY, "limit at an eighth", "Unstall disk cache", "Unstall disk cache, 5 epochs"),
        3.0,
    ),
}
QUIET_SHARE = 0.1  # of the two cores, that other programs may have taken in a turn
TRIES = 4  # of a turn; then it counts as it is, and is counted
NEEDED = (
    ("640×480", "limit", 0.9),
    ("640×480, augmented", "AUTOTUNE recipe", 1.3),
    ("4000×3000", "AUTOTUNE recipe", 3.0),
)


def photograph(seed: int, width: int, height: int) -> np.ndarray:
    """Noise in octaves; an octave is 0.9 of the one before, which gives the sizes of real ones."""
    import cv2

    generator = np.random.default_rng(seed)
    picture, across, strength = np.zeros((height, width, 3), np.float32), 4, 1.0
    while across <= width:
        shape = (max(2, across * height // width), across)
        light, colour = generator.standard_normal((*shape, 1)), generator.standard_normal((*shape, 3))
        octave = (light + 0.3 * colour).astype(np.float32)
        picture += strength * cv2.resize(octave, (width, height), interpolation=cv2.INTER_CUBIC)
        across, strength = across * 2, strength * 0.9
    picture = (picture - picture.mean()) / picture.std() * 55 + 120
    pixels: np.ndarray = np.clip(picture, 0, 255).astype(np.uint8)
    return pixels


def take_photographs(folder: Path) -> dict[str, float]:
    """Bits for a pixel of each size. What is there already is not made again."""
    import cv2

    bits = {}
    for name, (width, height, count) in SIZES.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(count):
            path = folder / name / f"{index:04}.jpg"
            if not path.exists():
                cv2.imwrite(str(path), photograph(index, width, height), [cv2.IMWRITE_JPEG_QUALITY, 90])
        size = sum(path.stat().st_size for path in (folder / name).glob("*.jpg"))
        bits[name] = round(8 * size / count / width / height, 2)
    return bits


class Competitor:
    """A way in a process group of its own, stopped but for its turns."""

    def __init__(self, way: str, folder: Path, augmented: bool, preferred: bool = False) -> None:
        self._preferred = preferred
        command = [sys.executable, "-m", "benchmarks.input_loaders", way, str(folder), *(["augmented"] if augmented else [])]
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, **quiet},
        )
        self.group = self._process.pid
        self._answer()
        self._signal(signal.SIGSTOP)

    def turn(self, seconds: float) -> tuple[float, float]:
        """Images in a second, and milliseconds of processor time for each: other programs on the machine take of the first."""
        assert self._process.stdin is not None
        before = cpu_s(self.group)
        self._prefer(True)
        self._signal(signal.SIGCONT)
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        made, took = self._answer().split()
        self._signal(signal.SIGSTOP)
        self._prefer(False)
        return int(made) / float(took), 1000 * (cpu_s(self.group) - before) / max(1, int(made))

    def _prefer(self, is_its_turn: bool) -> None:
        if self._preferred:
            Path(f"/proc/{self.group}/autogroup").write_text("-20" if is_its_turn else "0")

    def end(self) -> None:
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"failed: {' '.join(map(str, self._process.args))}")  # type: ignore[arg-type]
        return line

    def _signal(self, number: int) -> None:
        os.killpg(self._process.pid, number)


def quiet_turn(competitor: Competitor, seconds: float) -> tuple[float, float, bool]:
    """And whether it was quiet."""
    for _ in range(TRIES):
        before, own = busy_s(), cpu_s(competitor.group)
        speed, cost = competitor.turn(seconds)
        others_s = busy_s() - before - (cpu_s(competitor.group) - own)
        if others_s < QUIET_SHARE * 2 * seconds:
            return speed, cost, True
    return speed, cost, False


def busy_s() -> float:
    """Of all processors, since the machine was started."""
    user, nice, system, _, _, *rest = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def cpu_s(group: int) -> float:
    """Of all processes of the group."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(case: str, folder: Path, rounds: int, preferred: bool) -> list[dict[str, Any]]:
    size, augmented, ways, seconds = CASES[case]
    competitors = {way: Competitor(way, folder / size, augmented, preferred) for way in ways}
    try:
        for competitor in competitors.values():
            competitor.turn(seconds)  # caches, autotuning
        speeds: dict[str, list[float]] = {way: [] for way in ways}
        costs: dict[str, list[float]] = {way: [] for way in ways}
        disturbed = dict.fromkeys(ways, 0)
        for _ in range(rounds):
            for way in random.sample(ways, len(ways)):
                speed, cost, was_quiet = quiet_turn(competitors[way], seconds)
                speeds[way].append(speed)
                costs[way].append(cost)
                disturbed[way] += not was_quiet
                time.sleep(seconds if preferred else 0)  # the others' turn
    finally:
        for competitor in competitors.values():
            competitor.end()
    return [
        {
            "case": case,
            "way": way,
            "images_per_s": round(statistics.median(speeds[way]), 1),
            "cpu_ms_per_image": round(statistics.median(costs[way]), 3),
            "disturbed_turns": disturbed[way],
            **ratios(way, speeds),
        }
        for way in ways
    ]


def ratios(way: str, speeds: dict[str, list[float]]) -> dict[str, Any]:
    """To the recipe and to the limit, formed in each round; the median and the quartiles."""
    result: dict[str, Any] = {}
    for name, reference in (("of_recipe", "AUTOTUNE recipe"), ("of_limit", "limit")):
        if reference in speeds:
            pairs = sorted(own / other for own, other in zip(speeds[way], speeds[reference], strict=True))
            result[name] = round(statistics.median(pairs), 3)
            result[f"{name}_quartiles"] = [round(pairs[len(pairs) // 4], 3), round(pairs[-1 - len(pairs) // 4], 3)]
    return result


def memory(folder: Path, images: int) -> dict[str, Any]:
    """Resident MiB after every 1,000 augmented images, in this process; the first quarter is left to fill the buffers."""
    from benchmarks.input_loaders import unstall_threads

    resident: list[float] = []
    made = 0
    for count in unstall_threads(folder, True):
        made += count
        if made // 1000 > len(resident):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            resident.append(round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1))
        if made >= images:
            break
    return {"images": made, "resident_mib": resident, "grown_mib": round(resident[-1] - resident[len(resident) // 4], 1)}


def show(rows: list[dict[str, Any]], remembered: dict[str, Any] | None) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="photographs to batches of 16 at 640 px, two cores")
    for name in ("case", "way", "images/s", "CPU ms each", "of the recipe", "of the limit"):
        table.add_column(name, justify="left" if name in ("case", "way") else "right")
    for row in rows:
        shown = [f"{row[name]:.2f}" if name in row else "" for name in ("of_recipe", "of_limit")]
        table.add_row(row["case"], row["way"], f"{row['images_per_s']:.0f}", f"{row['cpu_ms_per_image']:.2f}", *shown)
    console = Console()
    console.print(table)
    for case, reference, needed in NEEDED:
        name = "of_limit" if reference == "limit" else "of_recipe"
        for row in rows:
            if row["case"] == case and row["way"].startswith("Unstall"):
                console.print(f"{case}: {row['way']} is {row[name]:.2f} of the {reference}, needed {needed}")
    if remembered is None:
        return
    last, grown, images = remembered["resident_mib"][-1], remembered["grown_mib"], remembered["images"]
    console.print(f"resident memory over {images:,} images: {last:.0f} MiB, {grown:+.1f} MiB since the first quarter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--photographs", type=Path, default=Path("/tmp/unstall-photographs"))
    parser.add_argument(
        "--cases",
        default=",".join(CASES).replace("640×480, augmented", "augmented"),
        help="some of: 640×480, augmented, 4000×3000",
    )
    parser.add_argument("--images", type=int, default=20_000, help="over which the memory is watched; 0: it is not")
    parser.add_argument(
        "--preferred", action="store_true", help="turns go before other programs; pauses between are theirs (root)"
    )
    parser.add_argument("--out", default="benchmarks/results/input.json")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    bits, began = take_photographs(arguments.photographs), time.time()
    chosen = ["640×480, augmented" if case == "augmented" else case for case in arguments.cases.split(",")]
    rows: list[dict[str, Any]] = []
    for case in chosen:
        rows += measure(case, arguments.photographs, arguments.rounds, arguments.preferred)
        print(json.dumps(rows[-len(CASES[case][2]) :], ensure_ascii=False), file=sys.stderr, flush=True)
    remembered = memory(arguments.photographs / "640×480", arguments.images) if arguments.images else None
    show(rows, remembered)
    result = {
        "rounds": arguments.rounds,
        "seconds": round(time.time() - began),
        "load_average": os.getloadavg(),
        "bits_per_pixel": bits,
        "rows": rows,
        "memory": remembered,
    }
    written.write(arguments.out, result)


if __name__ == "__main__":
    main()
