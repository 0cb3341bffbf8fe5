"""The program's own source: the script, what it imports from its project, files that its command names; never what is installed."""

from __future__ import annotations

from pathlib import Path

from unstall.sensors import project


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def read(folder: Path, script: str = "train.py", command: tuple[str, ...] = (), search: tuple[str, ...] = ()) -> project.Sources:
    return project.read(str(folder / script), command, str(folder), search)


def test_imports_are_followed_through_packages_and_relative_names(tmp_path: Path) -> None:
    files = {
        "train.py": "import json, numpy\nfrom lib.model import build\nimport settings",
        "lib/__init__.py": "",
        "lib/model.py": "from . import layers\nfrom ..train import x\nfrom .sub.deep import y",
        "lib/layers.py": "",
        "lib/sub/__init__.py": "",
        "lib/sub/deep.py": "from .. import more",
        "lib/more.py": "",
        "settings.py": "def lazily():\n    import late",
        "late.py": "",
        "unused.py": "",
    }
    sources = read(written(tmp_path, files))
    assert set(sources.files) == set(files) - {"unused.py"}
    assert sources.script == "train.py"


def test_each_file_has_its_text_its_lines_and_the_checksum_of_what_is_on_the_disk(tmp_path: Path) -> None:
    one = read(written(tmp_path / "one", {"train.py": 'API_KEY = "hunter2"\n'}))
    other = read(written(tmp_path / "other", {"train.py": 'API_KEY = "hunter3"\n'}))
    assert one.files["train.py"]["text"] == 'API_KEY = "•••"\n' == other.files["train.py"]["text"]
    assert one.files["train.py"]["sha256"] != other.files["train.py"]["sha256"]


def test_text_files_on_the_command_line_are_kept_and_data_is_not(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": "", "a.yaml": "lr: 1", "b.json": "{}", "weights.h5": "xx", "c.txt": "t"})
    sources = read(tmp_path, command=("python", "train.py", "--config", "a.yaml", "--more=b.json", "weights.h5", "missing.yaml"))
    assert set(sources.files) == {"train.py", "a.yaml", "b.json"}


def test_other_files_that_the_command_line_names_are_known_by_their_size_and_hash(tmp_path: Path) -> None:
    written(
        tmp_path,
        {"train.py": "", "a.csv": "1,2\n", "settings.py": "rate = 1\n", "large.json": "x" * (project.LARGEST_NAMED_BYTES + 1)},
    )
    large = tmp_path / "w.h5"
    large.write_bytes(bytes(3 * project.HASHED_BYTES))
    command = ("python", "train.py", "a.csv", "--more=large.json", "w.h5", "settings.py", "missing.csv", str(tmp_path), "--lr")
    before = read(tmp_path, command=command)
    assert set(before.files) == {"train.py", "settings.py"}
    assert {name: each["size_bytes"] for name, each in before.named_files.items()} == {
        "a.csv": 4, "large.json": project.LARGEST_NAMED_BYTES + 1, "w.h5": 3 * project.HASHED_BYTES,
    }  # fmt: skip
    assert read(tmp_path, command=command).named_files == before.named_files
    (tmp_path / "a.csv").write_text("1,3\n")
    large.write_bytes(bytes(3 * project.HASHED_BYTES - 1) + b"1")
    after = read(tmp_path, command=command).named_files
    changed = {name for name, each in after.items() if each["sha256"] != before.named_files[name]["sha256"]}
    assert changed == {"a.csv", "w.h5"}


def test_a_folder_of_pythonpath_belongs_to_the_project_and_installed_packages_do_not(tmp_path: Path) -> None:
    written(
        tmp_path,
        {"app/train.py": "import shared_part, installed", "more/shared_part.py": "", "env/site-packages/installed.py": ""},
    )
    search = (str(tmp_path / "more"), str(tmp_path / "env" / "site-packages"))
    sources = project.read(str(tmp_path / "app" / "train.py"), (), str(tmp_path), search)
    assert set(sources.files) == {"train.py", str(tmp_path / "more" / "shared_part.py")}


def test_a_script_that_is_no_python_of_today_is_kept_as_it_is(tmp_path: Path) -> None:
    assert set(read(written(tmp_path, {"train.py": "print 'old'", "x.py": ""})).files) == {"train.py"}


def test_more_than_there_is_room_for_is_counted(tmp_path: Path) -> None:
    count = project.MAX_FILES + 20
    files = {f"part{number}.py": "" for number in range(count)}
    imports = "\n".join(f"import part{number}" for number in range(count))
    sources = read(written(tmp_path, {**files, "train.py": imports}))
    assert len(sources.files) == project.MAX_FILES and sources.left_out == count + 1 - project.MAX_FILES


def test_a_file_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": "import huge", "huge.py": "#" * (project.LARGEST_FILE_BYTES + 1)})
    sources = read(tmp_path)
    assert set(sources.files) == {"train.py"} and sources.left_out == 1
