"""Secrets by kinds: in sentences, tables, calls, two lines, other languages and encodings."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import dask
import pytest
from click.testing import CliRunner
from dask_blackbox.capture.redaction import is_secret_name
from dask_blackbox.cli import blackbox
from dask_blackbox.recorder.redact import Redactor
from dask_blackbox.store.local import LocalStore
from dask_blackbox.testing import a_log, recorded

SECRETS = ("q7Kd-Zx91uV", "Tr0ub4dor_and3", "x9!mPz2kLw")
ONE_LINE = {
    "Oracle, with a service": "cx_Oracle.connect('scott/{}@host:1521/x')",
    "Oracle, with an alias": 'oracledb.connect("scott/{}@tns")',
    "Oracle, JDBC": "jdbc:oracle:thin:scott/{}@//h:1521/x",
    "Trino": "BasicAuthentication('u', '{}')",
    "Cassandra": "PlainTextAuthProvider('u', '{}')",
    "Datadog": "initialize(api_key=K, app_key='{}')",
    "sentence": "The password for etl_rw is {} (rotate it)",
    "sentence, short": "password is {}.",
    "login": "login etl -> pass {} accepted",
    "German": "Kennwort: {}",
    "German sentence": "Passwort lautet {}",
    "French": "mot de passe : {}",
    "Spanish": "contraseña={}",
    "Russian": "пароль: {}",
    "Japanese": "パスワード: {}",
    "backslash": "password=ab\\c{}",
}
SEVERAL_LINES = {
    "CSV": ["user,password", "bob,other-1", "etl,{}", "end"],
    "CSV, semicolons": ["user;password;n", "etl;{};3"],
    "tabs": ["user\tpassword", "etl\t{}"],
    "psql": [" user  | password ", "-------+---------", " etl | {} "],
    "Markdown": ["| user | password |", "|---|---|", "| etl | {} |"],
    "DataFrame": ["  user       password", "0  etl  {}", "1  bob  x9-abcde"],
    "columns": ["NAME      TOKEN          AGE", "sa-1      {}    3d"],
    "JSON": ['  "password":', '    "{}",', '  "n": 3'],
    "name and value": ["DB_PASSWORD", "{}"],
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("kind", ONE_LINE)
def test_a_secret_in_a_line_is_masked(kind: str, secret: str) -> None:
    assert secret not in Redactor().text(ONE_LINE[kind].format(secret))


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("kind", SEVERAL_LINES)
def test_a_secret_that_a_line_before_names_is_masked(kind: str, secret: str) -> None:
    lines = [each.replace("{}", secret) for each in SEVERAL_LINES[kind]]
    redactor = Redactor()

    assert secret not in " ".join(clean for _, clean in redactor.pairs(lines))
    assert secret not in redactor.text("\n".join(lines))
    assert redactor.text("\n".join(lines)).count("\n") == len(lines) - 1


def test_what_has_a_shape_of_its_own_is_masked() -> None:
    licence = "0123456789abcdef0123456789abcdef0123NRAL"
    document = json.dumps({"user": "u", "password": SECRETS[0]}).encode()
    encoded = base64.b64encode(document).decode()

    clean = Redactor().text(f"{licence} {encoded}; card PIN: 849301")

    assert clean == "[redacted] [redacted]; card PIN: [redacted]"


@pytest.mark.parametrize("secret", SECRETS)
def test_a_masked_value_is_masked_in_each_encoding(secret: str) -> None:
    redactor = Redactor(values=[secret])
    raw = secret.encode()
    printed = [
        secret.upper(),
        secret[::-1],
        " ".join(secret),
        raw.hex(),
        raw.hex().upper(),
        base64.b64encode(raw).decode().rstrip("="),
    ]

    assert {redactor.text(f"x {each} y") for each in printed} <= {
        "x [redacted] y",
        # Its last letter depends on what follows in the encoded text.
        *(f"x [redacted]{each[-1]} y" for each in printed),
    }
    for user in ("u", "me", "etl"):
        login = base64.b64encode(f"{user}:{secret}@host".encode()).decode()
        assert "[redacted]" in redactor.text(f"x {login} y")


@pytest.mark.parametrize(
    "text",
    [
        "auth_method=iam",
        "pw_aff = ndarray",
        "sig_figs=3",
        "sas_code=12",
        "password is required for user",
        "The token is invalid",
        "token was expired (code 401)",
        "secret is None",
        "the password for user root is wrong",
        "user logged in, second pass of 3",
        "actions/checkout@v4.1",
        "image registry/name@sha256:abc",
        "git@github.com:owner/repo.git",
        "pin memory = 1",
        "tokens  used\n0  12\n1  15",
        "  user  tokens\n0  etl  1200",
    ],
)
def test_ordinary_text_is_kept(text: str) -> None:
    assert Redactor().text(text) == text


def test_names_of_methods_and_figures_are_no_secrets() -> None:
    names = ("auth_method", "sig_figs", "sas_code", "pw_aff")

    assert not [each for each in names if is_secret_name(each)]
    assert all(map(is_secret_name, ("db_pass", "auth", "pw_2")))


def test_the_command_shows_what_is_masked_and_why(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        f"begin\nuser,password\netl,{SECRETS[0]}\npassword={SECRETS[1]}\n", "utf-8"
    )

    result = CliRunner().invoke(blackbox, ["redact", str(tmp_path / "job.log")])

    assert result.exit_code == 0
    assert not [each for each in SECRETS if each in result.output]
    assert "3: etl,[redacted]    ← a name, a table or a private key" in result.output
    assert "4: password=[redacted]    ← a name" in result.output
    assert "2 lines masked" in result.output


def test_a_store_is_searched_for_what_a_new_pattern_would_mask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(LocalStore(tmp_path), a_log("badge 4711 was shown"))
    arguments = ["scan", "--store", str(tmp_path)]

    before = CliRunner().invoke(blackbox, arguments)
    with dask.config.set({"blackbox.redact": [r"badge \d+"]}):
        after = CliRunner().invoke(blackbox, arguments)

    assert (before.exit_code, after.exit_code) == (0, 3)
    assert "1 run searched" in before.output
    assert "1 text: a pattern of `blackbox.redact` (1)" in after.output
    assert "dask blackbox rm" in after.output
