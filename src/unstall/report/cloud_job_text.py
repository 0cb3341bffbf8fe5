"""A job that was sent, or would be, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unstall.report.counted import counted
from unstall.report.data_text import print_line, printable

if TYPE_CHECKING:
    from rich.console import Console


def show_job(plain: dict[str, Any], out: Console) -> None:
    from rich.text import Text

    where = f"{counted(plain['machines'], 'machine')}, {counted(plain['workers'], 'worker')}"
    print_line(out, Text(printable(f"{plain['name']}: {where}, the run in {plain['out']}")))
    if plain["written_to"]:
        print_line(out, Text(printable(f"written: {plain['written_to']}"), "green"))
    if plain["is_sent"]:
        print_line(out, Text(printable(f"sent: {plain['job']} ({plain['state']})"), "green"))
        print_line(out, Text(printable(f"page: {plain['page']}")))
        number = plain["job"].rpartition("/")[2]
        logs = f"gcloud ai custom-jobs stream-logs {number} --project {plain['project']} --region {plain['region']}"
        print_line(out, Text(printable(f"its output: {logs}")))
        print_line(out, Text(printable(f"how it goes: unstall report {plain['out']}")))
        return
    if not plain["written_to"]:
        from unstall.cloud.writing import as_text

        out.file.write(as_text(plain["request"], is_yaml=True))
    if plain["engine"] == "kubeflow":
        print_line(out, Text(printable(f"to send it: kubectl apply -f {plain['written_to'] or 'FILE (--write FILE)'}"), "dim"))
    else:
        print_line(out, Text("nothing was sent (--dry-run)", "dim"))
