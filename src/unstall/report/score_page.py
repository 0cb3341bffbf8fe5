"""How well a detector does, as one page that needs nothing else."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from unstall.report.html import write_page
from unstall.report.score_plots import plots
from unstall.report.score_text import FIGURES, mistaken


def write_score(plain: dict[str, Any], target: Path) -> None:
    picture = f"data:image/png;base64,{base64.b64encode(plots(plain)).decode('ascii')}"
    write_page("score.html", target, told=plain, picture=picture, figures=FIGURES, mistaken=mistaken(plain["confusion"]))
