"""What may be written down of an environment, a command line or a source, and what never is: secrets.

A variable is recorded only if it is on the list of those that can change a training, and its name does not speak of a secret.
What looks like a secret in a value (a password in a URL, a key of a known form, a long random text) is replaced by dots wherever
it stands. What is told here is strict: in messages and other texts `text.py` leaves more, as they are evidence.

Standard library only, syntax of Python 3.7: it also runs inside the watched program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from unstall.base.redact.text import MASK, is_line_of_file, redact_text

LONGEST_VALUE = 2000
MAX_VARIABLES = 400
_SINGLE = frozenset({
    "NVIDIA_VISIBLE_DEVICES", "LD_PRELOAD", "LD_LIBRARY_PATH", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "CONDA_DEFAULT_ENV",
    "VIRTUAL_ENV", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "SLURM_MEM_PER_NODE",
    "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES", "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION", "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK", "SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS",
    "SLURMD_NODENAME",
})  # fmt: skip
_BEGINNINGS = (
    "CUDA_", "CUDNN_", "CUBLAS_", "TF_", "TF2_", "XLA_", "JAX_", "KERAS_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_",
    "NUMEXPR_", "NCCL_", "PYTORCH_", "TORCH_", "PYTHON", "MALLOC_", "TCMALLOC_", "HIP_", "ROCR_", "OPENCV_", "ONEDNN_", "DNNL_",
)  # fmt: skip
_OF_OTHERS = ("TF_VAR_", "TF_CLI_", "TF_TOKEN_")  # Terraform's
# In the name of a variable, anywhere: a variable too few is better than a secret too many.
_SECRET_PART = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|PASSCODE|_PASS$|_PWD|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|BEARER|LICEN[CS]E|"
    r"CERT|_PAT$|_PIN$|_DSN$|WEBHOOK|ACCOUNT",
    re.IGNORECASE,
)
# In the name of an option or of a variable in a program, as a word: `max_tokens` is no secret, `hf_token` is.
_SECRET_WORDS = frozenset({
    "password", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "credential", "credentials", "apikey",
    "authorization", "cookie", "bearer", "webhook",
})  # fmt: skip
_SECRET_LAST_WORDS = frozenset({"token", "pass", "auth", "pat", "signature", "dsn", "pin"})
_BEFORE_KEY = frozenset({"api", "access", "private", "secret", "signing", "ssh", "account", "sas", "encryption", "auth"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# A UUID is an API key of some services; that of a card is its name.
_KNOWN_FORMS = re.compile(r"(?<!GPU-)(?<!MIG-)[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)(?P<between>['\"]?\s*[=:]\s*['\"]?)(?P<value>[^\s,;'\"}\])]+)")
_HEX = re.compile(r"[0-9a-f]{32,}|[0-9A-F]{32,}")
_LONG = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_RANDOM_WORD = 20  # letters and digits in a row
_RANDOM_WHOLE = 32  # with the signs of base64 between them
_CHANGES = 0.25  # of a random text's places are followed by another kind (capital, small, digit); words and numbers change seldom


def select_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Those that can change a training, without any that could be secret."""
    kept = [name for name in sorted(variables) if is_recorded(name)][:MAX_VARIABLES]
    return {name: redact_value(variables[name])[:LONGEST_VALUE] for name in kept}


def is_recorded(name: str) -> bool:
    is_listed = name in _SINGLE or (name.startswith(_BEGINNINGS) and not name.startswith(_OF_OTHERS))
    return is_listed and not _SECRET_PART.search(name)


def redact_command(arguments: Iterable[str]) -> list[str]:
    """A command line as it was typed, but for secrets: `--password •••`, `token=•••`."""
    rows: list[str] = []
    value_is_secret = False
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if value_is_secret and not argument.startswith("--"):
            rows.append(MASK)
            value_is_secret = False
        elif sign and value and has_secret_word(name):
            rows.append(f"{name}={MASK}")
            value_is_secret = False
        else:
            rows.append(redact_value(argument))
            value_is_secret = argument.startswith("-") and not sign and has_secret_word(name)
    return rows


def redact_value(text: str) -> str:
    """The text without what looks like a secret."""
    text = _KNOWN_FORMS.sub(MASK, redact_text(text))
    text = _NAMED.sub(_without_value, text)
    return _LONG.sub(lambda found: MASK if is_random(found[0]) else found[0], text)


def _without_value(found: re.Match[str]) -> str:
    is_secret = has_secret_word(found["name"]) and not is_line_of_file(found["name"], found["between"], found["value"])
    return f"{found['name']}{found['between']}{MASK}" if is_secret else found[0]


def redact_source(text: str) -> str:
    """The text of a program, with secrets that stand in it as texts masked; line for line."""
    lines = [_masked_line(line) if "'" in line or '"' in line else line for line in redact_text(text).split("\n")]
    return "\n".join(lines)


_QUOTED = re.compile(r"""(?P<quote>['"])(?P<inside>(?:\\.|(?!(?P=quote)).)*)(?P=quote)""")
_GIVEN = re.compile(r"""(?P<name>[A-Za-z_][\w-]*)['"]?\]?\s*[=:,(]\s*$""")


def _masked_line(line: str) -> str:
    def without_secret(found: re.Match[str]) -> str:
        quote, inside = found["quote"], found["inside"]
        given = _GIVEN.search(line[: found.start()])
        if given is not None and len(inside) >= 4 and has_secret_word(given["name"]):
            return f"{quote}{MASK}{quote}"
        return f"{quote}{redact_value(inside)}{quote}"

    return _QUOTED.sub(without_secret, line)


def has_secret_word(name: str) -> bool:
    """Whether an option or a variable of this name holds a secret, by the words in it."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    if _SECRET_WORDS.intersection(words) or words[-1] in _SECRET_LAST_WORDS:
        return True
    return any(word == "key" and words[at - 1] in _BEFORE_KEY for at, word in enumerate(words) if at > 0)


def is_random(text: str) -> bool:
    """Whether it looks drawn by chance, as keys do: words, numbers, paths and names of experiments do not."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", text) if word]
    if any(_HEX.fullmatch(word) for word in words):
        return True
    if any(len(word) >= _RANDOM_WORD and _changes(word) >= _CHANGES * len(word) for word in words):
        return True
    count = sum(len(word) for word in words)
    is_of_long_words = bool(words) and count / len(words) >= 8
    return count >= _RANDOM_WHOLE and is_of_long_words and sum(map(_changes, words)) >= _CHANGES * count


def _changes(word: str) -> int:
    kinds = ["0" if sign.isdigit() else "A" if sign.isupper() else "a" for sign in word]
    return sum(kinds[at] != kinds[at + 1] for at in range(len(kinds) - 1))
