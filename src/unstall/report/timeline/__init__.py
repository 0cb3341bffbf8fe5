"""A run over time, as plots, marks and tables of a bounded size: one file for each part of it.

A part takes events as they come (`take`) and gives its plots as plain data (`plots`).
"""

from __future__ import annotations

from unstall.report.timeline.timeline import Timeline, of_journal

__all__ = ["Timeline", "of_journal"]
