"""The clients of buckets are loaded only where there is a bucket, and load no framework."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.storage import emulators


def test_a_path_on_a_disk_loads_no_library_of_buckets() -> None:
    code = "import sys; from unstall.storage import resolve_path; resolve_path('/tmp/x').exists(); print(sorted({'fsspec', 'gcsfs', 's3fs'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_package_is_named_with_what_installs_it() -> None:
    program = (
        "import importlib.util as u; found = u.find_spec; u.find_spec = lambda name, *a: None if name == 'gcsfs' else found(name, *a)\n"
        "from unstall.storage import resolve_path\nfrom unstall.base.errors import MissingDependencyError\n"
        "try:\n    resolve_path('gs://bucket/x').exists()\nexcept MissingDependencyError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'unstall[gcs]'" in done.stdout


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_the_clients_of_buckets_load_no_framework(scheme: str) -> None:
    """They run in the supervisor's process, too."""
    emulators.skip_unless_installed(scheme)
    code = f"import sys; from unstall.storage.clients import create_client; create_client({scheme!r}); print(sorted({{'numpy', 'keras', 'torch'}} & set(sys.modules)))"
    variables = {**os.environ, "STORAGE_EMULATOR_HOST": "http://127.0.0.1:1"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout.strip() == "[]"
