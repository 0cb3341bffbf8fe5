"""What others write for `unstall cloud` and its engines: tables of machine types, and the variable that describes a cluster."""

from __future__ import annotations

from pathlib import Path

from fuzz.reading import said
from unstall.base.errors import InvalidInputError
from unstall.cloud import machines
from unstall.training.distributed import engines

SEEDS = (
    b'{"taken_on": "2026-01-31", "region": "r", "currency": "USD", "source": "s", "machines": {"g2-standard-4": {"vcpus": 4, '
    b'"memory_gib": 16, "card": "l4", "cards": 1, "accelerator": "NVIDIA_L4", "per_hour": 0.7, "per_hour_spot": null}}}',
    b'taken_on = "2026-01-31"\nregion = "r"\ncurrency = "USD"\nsource = "s"\n'
    b"[machines.e2-standard-4]\nvcpus = 4\nmemory_gib = 16\ncards = 0\n",
    b'{"cluster": {"workerpool0": ["a:2222"], "workerpool1": ["b:2222"]}, "task": {"type": "workerpool1", "index": 0}}',
)
TOKENS = (
    b'"taken_on"', b'"machines"', b'"vcpus"', b'"cards"', b'"card"', b'"l4"', b'"per_hour"', b'"cluster"', b'"task"', b'"index"',
    b'"workerpool0"', b'"a:2222"', b"null", b"true", b"-1", b"1e999", b"{", b"}", b"[", b"]", b":", b",", b"[machines.x]\n",
)  # fmt: skip


def one(data: bytes, folder: Path) -> None:
    """As JSON, as TOML, and as CLUSTER_SPEC."""
    for name in ("a.json", "a.toml"):
        (folder / name).write_bytes(data)
        try:
            assert machines.load_table(str(folder / name)).machines
        except InvalidInputError as error:
            said(str(error))
    try:
        (found,) = engines.build_process_envs({"CLUSTER_SPEC": data.decode("utf-8", "replace") or " "}, 1)
        assert 0 <= found.rank < found.world_size
    except InvalidInputError as error:
        said(str(error))
