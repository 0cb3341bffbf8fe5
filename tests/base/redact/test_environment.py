"""Secrets are never written down, whatever they are called and however they come; what matters for a training is."""

from __future__ import annotations

import pytest

from unstall.base.redact.environment import redact_command, redact_source, redact_value, select_variables
from unstall.base.redact.text import MASK

HOSTILE_VARIABLES = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "WANDB_API_KEY": "0123456789abcdef0123456789abcdef01234567",
    "HF_TOKEN": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "TF_API_TOKEN": "short",
    "CUDA_LICENSE_KEY": "1234",
    "PYTHON_KEYRING_BACKEND": "x",
    "PYTHONPASSWORD": "hunter2",
    "KERAS_CREDENTIALS": "a:b",
    "TF_AUTH_HEADER": "Basic dXNlcjpwYXNzd29yZA==",
    "NCCL_SESSION_ID": "77",
    "DATABASE_URL": "postgres://user:hunter2@db/x",
    "HOME": "/home/somebody",
    "SSH_AUTH_SOCK": "/tmp/x",
    "MY_OWN": "anything",
}


def test_of_variables_only_those_of_the_list_are_recorded_and_none_that_speaks_of_a_secret() -> None:
    assert select_variables(HOSTILE_VARIABLES) == {}


def test_what_can_change_a_training_is_recorded_as_it_is() -> None:
    good = {
        "CUDA_VISIBLE_DEVICES": "0,1,GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "TF_GPU_ALLOCATOR": "cuda_malloc_async",
        "XLA_FLAGS": "--xla_gpu_autotune_level=2 --xla_force_host_platform_device_count=8",
        "XLA_PYTHON_CLIENT_MEM_FRACTION": ".9",
        "KERAS_BACKEND": "jax",
        "OMP_NUM_THREADS": "8",
        "LD_LIBRARY_PATH": "/usr/local/cuda-12.4/lib64:/usr/lib/x86_64-linux-gnu",
        "PYTHONPATH": "/home/somebody/detector_2024/src",
        "SLURM_CPUS_PER_TASK": "16",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:128",
        "MALLOC_ARENA_MAX": "2",
    }
    assert select_variables(good) == dict(sorted(good.items()))


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("https://somebody:hunter2@index.example/simple", "hunter2"),
        ("redis://:s3cr3t@10.0.0.1:6379", "s3cr3t"),
        ("https://blob.example/x.tar?sv=2020&sig=abc%2Fdef", "abc%2Fdef"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
        ("sk-proj-abcdEFGH1234ijklMNOP", "abcdEFGH"),
        ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJzdWIi"),
        ("Authorization: Bearer abc.def-ghi", "abc.def"),
        ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
        ("0123456789abcdef0123456789abcdef01234567", "89abcdef"),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "4f89-11d3"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
        ("password=hunter2,host=x", "hunter2"),
        ('{"client_secret": "x17"}', "x17"),
        ("{client_secret: x17}", "x17"),
    ],
)
def test_what_looks_like_a_secret_is_masked_wherever_it_stands(value: str, secret: str) -> None:
    assert secret not in select_variables({"TF_SOMETHING": value})["TF_SOMETHING"]
    assert secret not in " ".join(redact_command(["python", "train.py", value]))
    assert MASK in redact_value(value)


@pytest.mark.parametrize(
    "value",
    [
        "/data/COCO_2017/train2017/Images_v3_final",
        "runs/exp_lr1e3_bs32_wd5e4_x2",
        "retinanet_resnet50_fpn_v2_coco-5905b1c5.pth",
        "gs://bucket-of-mine/detector/checkpoints/ckpt-00120000",
        "--xla_gpu_enable_triton_softmax_fusion=true",
        "2026-11-15T17:14:00+00:00",
        "max_tokens=512",
        "key=17",
        "http://localhost:6006/#scalars",
    ],
)
def test_paths_numbers_and_names_of_experiments_are_no_secrets(value: str) -> None:
    assert redact_value(value) == value


def test_a_command_line_is_as_it_was_typed_but_for_secrets() -> None:
    typed = ["python", "train.py", "--batch", "16", "--password", "hunter2", "--api-key=abc", "--hf_token", "x", "--tokenizer", "bpe",
             "--max-tokens", "512", "lr=0.1", "wandb.apiKey=zzz", "--secret", "--lr", "0.1"]  # fmt: skip
    assert redact_command(typed) == [
        "python", "train.py", "--batch", "16", "--password", MASK, f"--api-key={MASK}", "--hf_token", MASK, "--tokenizer", "bpe",
        "--max-tokens", "512", "lr=0.1", f"wandb.apiKey={MASK}", "--secret", "--lr", "0.1",
    ]  # fmt: skip


def test_a_source_keeps_its_lines_and_loses_its_secrets() -> None:
    source = '\n'.join([
        'API_KEY = "abc123"',
        "client.login(password='hunter2', user='me')",
        'os.environ["WANDB_API_KEY"] = "0123456789abcdef0123456789abcdef01234567"',
        'url = "https://me:hunter2@host/x"',
        'config = {"secret": "hunter2", "batch": 16}',
        'start(["--api-key", "hunter2", "--batch", "16"])',
        "BATCH = 16  # it's the batch",
        'DATA = "/data/COCO_2017/train2017"',
    ])  # fmt: skip
    result = redact_source(source)
    assert "hunter2" not in result and "abc123" not in result and "89abcdef" not in result
    assert len(result.split("\n")) == 8 and '"--batch", "16"' in result
    assert result.endswith('BATCH = 16  # it\'s the batch\nDATA = "/data/COCO_2017/train2017"')
