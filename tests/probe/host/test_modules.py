"""What a program has imported: its own files, the script first, and the packages that are installed; nothing of the rest."""

from __future__ import annotations

from types import ModuleType

from unstall.probe.host.modules import list_modules

SITE = "/opt/env/lib/python3.11/site-packages"


def module(name: str, file: str | None, is_package: bool = False) -> ModuleType:
    made = ModuleType(name)
    if file is not None:
        made.__file__ = file
    if is_package:
        made.__path__ = []
    return made


def test_own_files_and_installed_packages_are_told_apart() -> None:
    modules = {
        "sys": module("sys", None),
        "__main__": module("__main__", "/home/me/train.py"),
        "numpy": module("numpy", f"{SITE}/numpy/__init__.py"),
        "numpy.linalg": module("numpy.linalg", f"{SITE}/numpy/linalg/__init__.py"),
        "lib": module("lib", "/home/me/lib/__init__.py"),
        "lib.model": module("lib.model", "/home/me/lib/model.py"),
        "compiled": module("compiled", "/home/me/compiled.so"),
    }
    files, packages = list_modules(modules)
    assert files == ["/home/me/train.py", "/home/me/lib/__init__.py", "/home/me/lib/model.py"]
    assert packages == {"numpy": SITE}


def test_of_a_folder_that_packages_share_its_parts_are_told() -> None:
    modules = {
        "google": module("google", None, is_package=True),
        "google.protobuf": module("google.protobuf", f"{SITE}/google/protobuf/__init__.py"),
        "google.protobuf.message": module("google.protobuf.message", f"{SITE}/google/protobuf/message.py"),
    }
    assert list_modules(modules) == ([], {"google.protobuf": SITE})


def test_a_module_that_loads_much_when_it_is_asked_is_not_asked() -> None:
    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"asked for {name}")

    assert list_modules({"lazy": Lazy("lazy"), "none": None, "odd": 3}) == ([], {})
