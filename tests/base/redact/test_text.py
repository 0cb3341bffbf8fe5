"""Secrets leave every text, whatever stands around them; what is evidence stays as it is, letter for letter."""

from __future__ import annotations

import json
import string
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unstall.base.redact.text import MASK, redact, redact_text, register_command, register_variables
from unstall.journal.events import ErrorRaised, Event, HostSampled, StepsEnded, WarningShown
from unstall.journal.reader import Tail
from unstall.journal.writer import JournalWriter, encode

# The text, and what of it must be gone.
SECRETS = [
    ("https://user:hunter2@host/x", "hunter2"),
    ("ValueError: cannot read redis://:s3cr3t@10.0.0.1:6379/0", "s3cr3t"),
    ("git clone https://0123456789abcdef0123@github.com/a/b failed", "0123456789abcdef0123"),
    ("GET https://b.example/x?token=abc123def&y=1 404", "abc123def"),
    ("https://storage.googleapis.com/b/o?X-Goog-Algorithm=A&X-Goog-Signature=0a1b2c3d4e&X-Goog-Expires=9", "0a1b2c3d4e"),
    ("https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F2026&X-Amz-Security-Token=FwoGZX", "FwoGZX"),
    ("https://blob.example/x.tar?sv=2020&sig=abc%2Fdef", "abc%2Fdef"),
    ("https://hooks.slack.com/services/T0AB/B0CD/abcDEF123", "abcDEF123"),
    ("credentials AKIAIOSFODNN7EXAMPLE are not valid", "IOSFODNN7"),
    ("logged in with the secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
    ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
    ("headers={'Authorization': 'Basic dXNlcjpwYXNzd29yZA=='}", "dXNlcjpwYXNzd29yZA"),
    ("sent Basic dXNlcjpwYXNzd29yZA== to it", "dXNlcjpwYXNzd29yZA"),
    ("Set-Cookie: sid=abc123; Path=/", "abc123"),
    ("401 for hf_AbCdEfGhIjKlMnOpQrSt12", "AbCdEfGh"),
    ("remote: ghp_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
    ("openai: sk-proj-abcdEFGH1234ijklMNOP is not valid", "abcdEFGH1234"),
    ("key is\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", "MIIEow"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEowCutOff", "MIIEow"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJzdWIi"),
    ("ValueError: password=hunter2", "hunter2"),
    ("config: db: password: hunter2", "hunter2"),
    ("password=hunter2,host=x", "hunter2"),
    ("my.secret:12345678", "12345678"),
    ("secret.py: hunter2", "hunter2"),
    ("connect(user='me', password='hun ter2, x')", "ter2"),
    ('api_key: "abc"', "abc"),
    ('{"client_secret": "x17y"}', "x17y"),
    ('{\\"password\\": \\"x17y\\"}', "x17y"),
    ("login with password 'hunter2' failed", "hunter2"),
    ("curl --password hunter2 -x", "hunter2"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
    ("lost wJalrXUtnFEMI7K7MDENG4bPxRfiCYz9XAMp3LEK on the way", "XUtnFEMI7"),
    ('os.environ["HF_TOKEN"] = "abcd1234efgh"', "abcd1234efgh"),
    ("X-Api-Key: k1", "k1"),
    ("token=abcdef12345", "abcdef12345"),
    ("wandb_key = aB3dE5fG7hI9jK1lM3nO5pQ7", "aB3dE5fG7"),
]

EVIDENCE = [
    "no credentials /home/Anna1/application_default", "the secret ImageDataGenerator2.py", "api key DataLoaderOfTheWorker",
    "keys", "keypoints", "token_ids", "num_tokens=512", "max_tokens: 512", "KeyError: 'image'", "KeyError: 'password'",
    "KeyError: 'api_key'", "key=17", "pad_token=<pad>", "eos_token='</s>'", "cls_token=CLS0x12ab34cd", "the token is 50256",
    "Unexpected token: }", "mask_rcnn_resnet50_fpn_v2_coco-5905b1c5.pth", "tokenizer=bert-base-uncased-v1-2",
    "commit 2a1ddb1f0c6e3f9a8b7d6c5e4f3a2b1c0d9e8f7a",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "/root/.cache/huggingface/hub/models--x/snapshots/2a1ddb1f0c6e3f9a8b7d6c5e4f3a2b1c0d9e8f7a/model.safetensors",
    "StatefulPartitionedCall/gradient_tape/RetinaNet/conv2d_12/Conv2DBackpropFilter-0-TransposeNHWCToNCHW-LayoutOptimizer",
    "EfficientNetV2B3_Block6a_SE_Reduce_BN2_x3", "_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZN4absl",
    "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_stage3",
    "/data/COCO_2017/train2017/Images_v3_final/AbC123dEf456GhI789jKl012MnO345pQr678.jpg",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "checkpoint key: 'optimizer/_variables/12/.ATTRIBUTES/VARIABLE_VALUE'", "missing key: conv2d_12_kernel", "key='image_0001_x2'",
    "password: str = None", "def login(user, password=None, token: Optional[str] = None):", "password=args.password",
    "password = os.environ['X']", "usage: --password PASSWORD --token TOKEN --api-key API_KEY", "password is required",
    "basic training of ResNet50 begins", "the bearer tokens", "ssh://git@github.com/x/y.git", "git@github.com:a/b.git",
    "GOOGLE_APPLICATION_CREDENTIALS=/home/me/key.json", "SORT_KEY=image/filename", "monkey=12345678", "https://x.example/?key=image",
    "signature: (TensorSpec(shape=(None, 224), dtype=tf.float32, name='x'),)", "input_signature=[TensorSpec]", "num_keypoints: 17",
    "first pass: resnet50x2", "forward_pass=resnet50v2b3", "http://localhost:6006/?token_count=12345678", "user@example.com",
    "2026-11-15T17:14:00+00:00", "gs://bucket-of-mine/detector/checkpoints/ckpt-00120000",
    "RuntimeError, at secret.py:14", "at /home/me/models/password_reset.py:120:7: error", "credentials.ipynb:3.",
    "Input to reshape is a tensor with 12544 values, but the requested shape has 25088 [Op:Reshape]",
]  # fmt: skip

ORDINARY = st.text(string.ascii_letters + " .,:;()[]{}'\n\"", max_size=60)
DRAWN = st.text(string.ascii_letters + string.digits, min_size=20, max_size=40).filter(
    lambda text: any(map(str.isdigit, text)) and any(map(str.isupper, text)) and any(map(str.islower, text))
)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_redacted(text: str, secret: str) -> None:
    result = redact_text(text)
    assert secret not in result and MASK in result
    assert redact_text(result) == result  # a text passes through several writers
    assert result.count("\n") == text.count("\n")  # lines keep their numbers


@pytest.mark.parametrize("text", EVIDENCE)
def test_evidence_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text
    assert redact({"message": [text], "key": 3}) == {"message": [text], "key": 3}


@given(ORDINARY, st.sampled_from(SECRETS), ORDINARY)
@example("x", SECRETS[0], "y")
def test_a_secret_is_redacted_among_other_words(before: str, case: tuple[str, str], after: str) -> None:
    text, secret = case
    assert secret not in redact_text(f"{before}\n{text}\n{after}")


@given(st.sampled_from(["ghp_", "hf_", "sk-", "glpat-", "github_pat_"]), DRAWN, ORDINARY)
def test_keys_of_known_services_are_redacted_whatever_they_are(service: str, drawn: str, around: str) -> None:
    assert drawn not in redact_text(f"{around} {service}{drawn} {around}")


@given(st.sampled_from(["password", "DB_PASSWORD", "api_key", "clientSecret", "--secret-access-key"]), DRAWN)
def test_what_follows_the_name_of_a_secret_is_redacted(name: str, value: str) -> None:
    for text in (f"{name}={value}", f'{{"{name}": "{value}"}}', f"{name}: {value}", f"{name} = '{value}' # set"):
        assert value not in redact_text(text)


@given(st.lists(st.sampled_from(EVIDENCE), min_size=1, max_size=4))
def test_evidence_stays_among_other_evidence(texts: list[str]) -> None:
    text = "\n".join(texts)
    assert redact_text(text) == text


@given(st.text("0123456789abcdef", min_size=7, max_size=64))
def test_hashes_stay(digits: str) -> None:
    assert redact_text(f"commit {digits} of /x/{digits}.jpg") == f"commit {digits} of /x/{digits}.jpg"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(string.ascii_lowercase, max_size=10),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=4), inner, max_size=4),
    )
)
def test_plain_data_without_secrets_stays_the_same(plain: Any) -> None:
    assert redact(plain) == plain


def test_secrets_in_plain_data_are_found_by_the_names_that_they_stand_under() -> None:
    plain = {"password": "x1", "arguments": {"hf_token": "abcd1234efgh"}, "command": ["mysql", "--password", "x1", "-u", "me:x1"]}
    assert redact(plain) == {
        "password": MASK,
        "arguments": {"hf_token": MASK},
        "command": ["mysql", "--password", MASK, "-u", f"me:{MASK}"],
    }


def test_the_value_of_a_secret_variable_or_option_is_redacted_wherever_it_stands() -> None:
    register_variables({
        "PLAIN_SERVICE_TOKEN": "zebra-7-lion", "QUOTED_PASSWORD": 'a"b\\c-dé-5', "MAIL_URL": "smtp://me:giraffe-77@mail",
    })  # fmt: skip
    register_command(["python", "train.py", "--db-password", "antelope9x", "--client-secret=okapi-12-okapi"])
    for value in ("zebra-7-lion", 'a"b\\c-dé-5', "giraffe-77", "antelope9x", "okapi-12-okapi"):
        event = ErrorRaised(message=f"refused: {value} (and so on)", chain=[f"was cut here: {value[:9]}"])
        written = json.loads(encode(event))
        assert written["message"] == f"refused: {MASK} (and so on)"
        assert written["chain"] == [f"was cut here: {MASK}"]


def test_words_numbers_and_paths_are_no_secrets_though_a_secret_variable_has_them() -> None:
    register_variables({
        "DB_PASSWORD": "training", "PIN_SECRET": "224", "MY_CREDENTIALS": "/home/me/credentials.json", "MAX_TOKEN": "12345678",
        "PWD": "/home/me/detector", "A_SECRET": "None", "OTHER_PASSWORD": "Tensorflow", "SORT_KEY": "image_filename",
    })  # fmt: skip
    text = "training 224 /home/me/credentials.json 12345678 /home/me/detector None Tensorflow image_filename"
    assert redact_text(text) == text


def test_what_is_written_to_a_journal_and_what_is_read_of_an_older_one_holds_no_secret(tmp_path: Any) -> None:
    writer = JournalWriter(tmp_path / "events-probe-1.jsonl")
    writer.write(WarningShown(message="GET https://me:hunter2@host/x", where="/home/me/train.py:3"))
    writer.close()
    assert "hunter2" not in (tmp_path / "events-probe-1.jsonl").read_text()
    old = tmp_path / "events-probe-2.jsonl"
    old.write_text(json.dumps({"event": "WarningShown", "message": "GET https://me:hunter2@host/x"}) + "\n")
    assert Tail(old).read() == [WarningShown(message=f"GET https://me:{MASK}@host/x")]


@pytest.mark.parametrize("event", [HostSampled(at=1.0, rss_bytes=3), StepsEnded(at=1.0, last=5, seconds=0.25, loss=0.5)])
def test_an_event_without_secrets_is_written_as_it_is(event: Event) -> None:
    assert json.loads(encode(event)) == {"event": type(event).__name__, **event.__dict__}


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "a=" * 100_000, "://" * 60_000, "key" * 60_000, "'\\" * 60_000, "?a" * 90_000, "-" * 200_000]
)
def test_no_text_takes_long(text: str) -> None:
    """It runs inside the watched program. The limit is that of a search which would take minutes if its time grew with the square."""
    began = time.process_time()
    redact_text(f"password {text} token")
    assert time.process_time() - began < 10
