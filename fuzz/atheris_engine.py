"""One driver under Atheris: python -m fuzz.atheris_engine PARSER INPUTS FOLDER. Called by fuzz.run."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import atheris


def escaped(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


def main() -> None:
    from fuzz.run import FOUND, LONGEST_S, MAX_BYTES, MAX_MIB

    name, inputs, place = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with atheris.instrument_imports(include=["unstall", "yaml", "json"]):
        driver = importlib.import_module(f"fuzz.drivers.{name}")
        for format_name in importlib.import_module("unstall.data.formats").FORMATS.names():
            importlib.import_module(f"unstall.data.formats.{format_name}")  # which are else imported when first read
    corpus, folder = place / "corpus", place / "folder"
    corpus.mkdir()
    folder.mkdir()
    for number, seed in enumerate(driver.SEEDS):
        (corpus / str(number)).write_bytes(seed)
    (place / "tokens").write_text("".join(f'"{escaped(token)}"\n' for token in driver.TOKENS))

    def one(data: bytes) -> None:
        driver.one(data, folder)

    options = [f"-runs={inputs}", f"-max_len={MAX_BYTES}", f"-timeout={LONGEST_S}", f"-rss_limit_mb={MAX_MIB}", "-seed=1"]
    options += [f"-dict={place / 'tokens'}", f"-artifact_prefix={FOUND}/", "-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
