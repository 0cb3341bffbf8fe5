"""The planner: what a run will need, before it runs. It loads no framework itself; processes of its own do."""

from unstall.planning.memory.memory_plan import MemoryPlan
from unstall.planning.memory.planner import plan

__all__ = ["MemoryPlan", "plan"]
