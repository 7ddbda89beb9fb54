"""What looks like a secret: by its shape, by the name it is assigned to, by its value.

One module for the recorder, which redacts every row before it writes it, and for a
worker that packs a failed task with its inputs.  Only the standard library: this travels
to clusters as source.  The rules of a secret scanner, where one is installed, come in as
plain regular expressions (`shapes`).
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from functools import lru_cache
from typing import Any, Callable, Iterable, Iterator
from urllib.parse import parse_qsl, quote, unquote, urlsplit

BLANK = "[redacted]"

_SHORTEST_ENCODED = 8
_SHORTEST = 5  # characters: a shorter value occurs by chance in ordinary text
MOST_VALUES = 2_000
_LONGEST_VALUE = 20_000
_LONGEST_NUMBER, _LONGEST_PATH = 8, 200
_COMMON = frozenset(
    ("admin", "guest", "disabled", "enabled", "default", "development", "production", "localhost", "password",
     "secret", "example", "changeme", "anonymous", "username", "unknown", "undefined", "false",
     # Passwords of example deployments, and in every second line of a log.
     "airflow", "prefect", "postgres")
)  # fmt: skip


class _Pattern:
    """A regular expression that is compiled when it is first used.

    All of them take longer to compile than a worker takes to load the rest of capture, and
    most workers use three.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(*self._given)
        self.search, self.sub = compiled.search, compiled.sub
        self.finditer = compiled.finditer
        return getattr(compiled, name)


# A name that holds one of these stands for a secret wherever it occurs.  `tokenize` and
# `TokenizationError` do not.
_STEM = (
    r"secret|passw(?:or)?d|passwort|kennwort|mot[ _-]de[ _-]passe|contrase(?:ñ|n)a|senha\b|wachtwoord"
    r"|l(?:ö|o)senord|has(?:ł|l)o\b|пароль|密码|密碼|パスワード|heslo\b|salasana|adgangskode"
    r"|pass[-_]?(?:phrase|code)|token(?!i[sz])|credential"
    r"|(?:api|access|private|account|sign(?:ing|ature)|encrypt(?:ion)?|master|shared|service"
    r"|fernet|webhook|license|storage|subscription|client|auth|ssh|session|deploy|consumer|ingest(?:ion)?"
    r"|integration|hmac|(?<![a-z])(?:app(?:lication)?|aes|write))[-_. ]?key"
    r"|authorization|cookie|conn(?:ection)?[-_. ]?str(?:ing)?|sql_alchemy_conn|jwt|bearer"
)
# These are ordinary words or syllables elsewhere: they count as a whole part of a name.
# What follows some of them says that it is something else: `auth_method`, `sig_figs`.
_SHORT = r"pwd|pass|psk|otp|(?:pw|sig|signature|auth|sas)(?![_-](?!\d|value|str|text|raw|plain|hash|b64|base64|hex|enc|new|old|prod|dev|test|header|db))"
_NAMES = _Pattern(
    rf"(?:{_STEM})|(?<![a-z])(?:{_SHORT})(?![a-z])",
    re.IGNORECASE,
)
# Cheap tests before any pattern of names is tried: most lines hold none of these.
_STEMS = ("secret", "passw", "passphrase", "passcode", "token", "credential", "authorization",
          "cookie", "sql_alchemy_conn", "jwt", "bearer", "kennwort", "passwort", "de passe", "de_passe",
          "de-passe", "contrase", "senha", "wachtwoord", "senord", "hasło", "haslo", "пароль",
          "密码", "密碼", "パスワード", "heslo", "salasana", "adgangskode")  # fmt: skip
_KINDS_OF_KEY = ("api", "access", "private", "account", "sign", "encrypt", "master", "shared",
                 "service", "fernet", "webhook", "license", "storage", "subscription", "client",
                 "auth", "ssh", "session", "deploy", "consumer", "ingest", "integration", "hmac",
                 "app", "aes", "write")  # fmt: skip
_SHORT_NAMES = _Pattern(rf"(?<![a-z])(?:{_SHORT}|pin)(?![a-z])")
# One search for what every name begins with, before those tests: it takes a fifth of their time.
_ANY_NAME = _Pattern(
    r"secret|p(?:ass|wd|sk|in|w)|token|cre(?:dential)|co(?:okie|nn|ntrase)|auth|sql_alchemy_conn"
    r"|jwt|bearer|ke(?:y|nnwort)|de.passe|se(?:nha|nord)|wachtwoord|has[lł]o|heslo|sa(?:s|lasana)"
    r"|adgangskode|otp|sig|пароль|密码|密碼|パスワード"
)

# Each of these patterns takes time that grows as the text: repeats that can be followed by a
# failure have a bound, or end where the pattern could begin again.  No possessive repeats:
# Python 3.9 runs this.
_Q = r"\\{0,31}[\"']"  # a quote, also inside the repr of a repr
_NAME = (
    rf"(?:(?:{_STEM})[\w.-]{{0,60}}(?<!error)(?<!exception)(?<!warning)"
    rf"|(?<![A-Za-z])(?:{_SHORT})(?:[_-][\w.-]{{0,60}})?(?![A-Za-z]))"
)
_NOTHING = (
    r"(?!(?:none|null|nil|true|false)\b|\[redacted\]|\[errno -?\d+\]|\*{3}|<|…|\.\.\.)"
)
_QUOTED = r"(?:[rRbBuUfF]{0,2}(?P<q>\\{0,31}[\"'])(?:(?!(?P=q))[\s\S])*(?:(?P=q)|$))"
_BRACKETS = r"(?:\[[^\]\n]{0,4000}\]|\([^)\n]{0,4000}\)|\{[^}\n]{0,4000}\})"
# Without quotes, a value continues until white space, a quote, or a separator that is
# followed by what cannot belong to it: `password=a,b;c user=me`.
_STOP = r"(?:$|[\s\"']|\\(?:[nrt\"'\\]|$))"
_BARE = (
    rf"(?:(?:[^\s\"'\\]|\\(?![nrt\"'\\]))+?"
    rf"(?={_STOP}|%26|[,;&)}}\]>]{{1,8}}(?:{_STOP}|[\w.-]{{1,60}}\s{{0,20}}[=:])))"
)
_ASSIGNED = _Pattern(
    rf"(?P<name>{_NAME}(?:{_Q}|[\])]){{0,3}}\s*(?:=>|:=|={{1,3}}|:(?!//|:)|%3[AaDd])\s*)"
    rf"{_NOTHING}(?P<value>{_QUOTED}|{_BRACKETS}|{_BARE})",
    re.IGNORECASE,
)
# Headers and phrases: all that follows on the line.
_HEADER = _Pattern(
    r"(?P<name>(?:\bproxy-)?\bauthorization|\b(?:set-)?cookie|pass[-_]?phrase|\bx-[\w-]{0,40}?(?:key|token|auth|secret)[\w-]{0,40})"
    rf"(?P<sep>\s*[=:]\s*)(?!{_Q}|\[redacted\])(?P<value>[^\n\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = _Pattern(
    r"(?i)\b(?P<scheme>bearer|basic|digest|negotiate|apikey|token)(?P<gap> +)(?!\[redacted\])"
    r"(?P<value>(?=[A-Za-z._~+/=-]*[0-9A-Z=_+/.-])[A-Za-z0-9._~+/=-]{12,})"
)
# `Digest username="me", response="…"`: the parameters of a scheme that signs its requests.
_SIGNED = _Pattern(
    r"(?i)\b(?P<scheme>digest|hawk|oauth|mac|aws4-hmac-sha256)(?P<gap> +)"
    r"(?P<value>(?:[\w-]+ ?= ?(?:\\*\"[^\"\n]*\"|[^\s,\"']+)(?: ?, ?|(?=[\s\"'\\]|$)))+)"
)
_OPTION = _Pattern(
    rf"(?P<name>(?<![\w-])--?[\w-]*?{_NAME})(?P<gap>\s+)(?!-|\[redacted\])(?P<value>{_QUOTED}|[^\s\"']+)",
    re.IGNORECASE,
)
_PAIR = _Pattern(
    rf"(?P<name>{_Q}[\w.-]*?{_NAME}{_Q}(?:\s*,\s*|\s+value\s*=\s*))(?P<value>[bru]?(?P<q>{_Q})(?:(?!(?P=q))[\s\S])*(?P=q))",
    re.IGNORECASE,
)
# `the password was 's3cr3t-1'`, `signing key abc123def`: a word of letters and digits.
_SPOKEN = _Pattern(
    rf"(?P<name>(?:{_STEM})s?(?:{_Q})?\s+(?:(?:is|was|for \S{{1,40}}:?)\s+)?)"
    r"(?P<value>[bru]?(?:\\*[\"'])?(?=[A-Za-z_.~!@#$%^&*+-]*\d)(?=[0-9_.~!@#$%^&*+-]*[A-Za-z])"
    r"[A-Za-z0-9_.~!@#$%^&*+=-]{8,}(?:\\*[\"'])?)(?=$|[\s,;)\]}])",
    re.IGNORECASE,
)
# A word that is no word of a sentence: it holds a digit, a sign or a capital letter.
_ODD = r"(?=[^\s,;]{0,60}?(?:\d|[!@#$%^&*+=~_]|(?-i:[a-z][A-Z])|\w-\w))(?!\[redacted\]|https?:|/)"
# `The password for etl_rw is s3cr3t (rotate it)`, `login etl -> pass s3cr3t accepted`.
_SENTENCE = _Pattern(
    rf"(?P<name>(?:(?:{_STEM}|\bpass|\bpin)(?:\s(?:for|of|to|von|für|de|pour|para)\s\S{{1,60}}){{1,2}}\s(?:is|was|ist|lautet|est|es)"
    rf"|(?:{_STEM})\s(?:is|was|ist|lautet|est|es|set\sto|changed\sto)(?:\snow)?"
    r"|\b(?:log(?:ged)?[- _]?in|user(?:name)?)\b[^\n]{0,80}?\b(?:pass|pwd|pw))"
    rf"\s{{1,3}}){_ODD}(?P<value>\S{{4,200}}?)(?=[\s,;)\"'\]]|[.!?](?:\s|$)|$)",
    re.IGNORECASE,
)
_DIGIT = _Pattern(r"\d")
_MAY_BE_SENTENCE = _Pattern(
    r"\s(?:is|was|ist|lautet|est|es|set\sto|changed\sto)\s|log|user", re.IGNORECASE
)
_PIN = _Pattern(
    r"(?P<name>\b(?:PIN|[Pp]in)(?:[ _-]?(?:code|number|no))?\s{0,3}(?:[:=]|is)\s{0,3})(?P<value>\d{4,8})\b"
)
# `scott/tiger@db.internal:1521/x`, `connect("scott/tiger@tns")`, `jdbc:oracle:thin:scott/tiger@…`
_ORACLE = _Pattern(
    r"(?i)(?P<name>(?:connect\w{0,20}\(\s{0,3}[\"']|oracle:\w{1,10}:|(?<![\w/.@:-]))[\w$#]{1,128}/)"
    r"(?P<value>[^\s@/\"'()]{3,128})"
    r"(?=@(?:(?<=[^.]@)[\w.-]{1,200}:\d{2,5}[/:]\w|//\w|\(description|\w{1,60}_(?:high|medium|low|tp)\b))"
)
_ORACLE_CALL = _Pattern(
    r"(?i)(?P<name>(?:connect\w{0,20}\(\s{0,3}[\"']|oracle:\w{1,10}:)[\w$#]{1,128}/)(?P<value>[^\s@/\"'()]{3,128})(?=@\w)"
)
# JSON in base64: it begins with `{"`, `{ "`, `{\n`, `[{"`.
_ENCODED = _Pattern(
    r"(?<![A-Za-z0-9+/_-])(?:eyJ|eyAi|ewo|W3si)[A-Za-z0-9+/_-]{20,20000}={0,2}"
)
# `curl -u me:s3cr3t`, `mysql -ps3cr3t`, `docker login -p s3cr3t`, `AZURE_PAT=s3cr3t…`
_LOGIN = _Pattern(
    r"(?P<name>(?<![\w-])(?:-u|--user|--proxy-user)[ =]{1,20}[^\s:]{1,200}:|\bmysql\w*\b[^\n;|&]{0,300}?\s-p"
    r"|\b(?:docker|podman|nerdctl|registry|acr) login\b[^\n;|&]{0,300}?\s-p[ =]{1,20}|\bsshpass\s+-p\s*"
    r"|\bredis-cli\b[^\n;|&]{0,300}?\s-a\s+|\b[A-Z0-9_]*_PAT\s*=\s*(?=\S{16})|(?<![\w-])--pat[ =]{1,20}"
    r"|(?<![\w-])(?:-u|--user(?:name)?)[ =]{1,20}\S{1,200}\s[^\n;|&]{0,300}?(?<![\w-])-p[ =]?"
    # no port, or ports of a container
    r"(?![\d.:-]{1,60}(?:/(?:tcp|udp))?(?:[\s\"'),;|]|$))"
    r"|\b(?:zip|unzip)\b[^\n;|&]{0,300}?\s-P\s*|\b7za?\b[^\n;|&]{0,300}?\s-p|\bldap\w+\s[^\n;|&]{0,300}?\s-w\s+"
    r"|(?<![\w-])-U\s{0,20}[^\s%]{1,200}%|\bnet use\b[^\n;|&]{0,300}?\s/user:\S{1,200}\s{1,20}"
    r"|\bhtpasswd\s[^\n;|&]{0,300}?-\w{0,8}b\w{0,8}\s{1,20}\S{1,200}\s{1,20}\S{1,200}\s{1,20}"
    # `sqlplus scott/tiger@db`
    r"|\b(?:sqlplus|sqlldr|rman|expdp|impdp|conn(?:ect)?)\s(?:[^\n;|&]{0,300}?\s)?[\w$#]{1,128}/(?=[^\s@/]{1,200}@))"
    r"(?P<value>[^\s@|]{4,})"
)
_CALLS = (".login", "uth", "redential", "ign")
_LOGINS = (" -u", "--user", "mysql", " login ", "sshpass", "redis-cli", "_PAT", "--pat", "zip",
           "7z", "ldap", " -U", "net use", "htpasswd", "sqlplus", "sqlldr", "rman", "expdp",
           "impdp", "conn ", "connect ")  # fmt: skip
_ANY_LOGIN = _Pattern("|".join(re.escape(each) for each in _LOGINS))
# `echo s3cr3t | docker login --password-stdin`
_PIPED = _Pattern(
    r"(?P<name>\becho[ \t]{1,20}(?:-n[ \t]{1,20})?)(?P<value>[^\s|][^|\n]{0,3000})"
    r"(?=\|[^|\n]{0,300}?(?:-stdin\b|\bsudo\s{1,8}(?:-\w{1,20}\s{1,8}){0,5}-S\b|\bpasswd\b))"
)
# `smtp.login("me@example.org", "s3cr3t")`, `auth=HTTPBasicAuth("me", "s3cr3t")`
_CALL = _Pattern(
    rf"(?P<name>(?:\.login|\b\w{{0,40}}(?:[Aa]uthenticat(?:ion|or|e)|[Aa]uth(?:Provider)?|[Cc]redentials?|[Ss]ign_?[Ii]n))\(\s*{_Q}[^\"'\n]*{_Q}\s*,\s*)"
    rf"(?P<value>{_QUOTED})"
)
# `CREATE USER me IDENTIFIED BY 's3cr3t'`
_SQL = _Pattern(
    rf"(?i)(?P<name>\bidentified\s+(?:with\s+\S+\s+)?by\s+)(?P<value>{_QUOTED}|[^\s;]+)"
)
_ELEMENT = _Pattern(
    rf"(?P<name><[\w:.-]*?{_NAME}>)(?P<value>[^<]+)(?=</)", re.IGNORECASE
)
# User and password of a URL; the password may hold `/` and `@`.  A port and a path with
# an `@` in it are none.
_USERINFO = _Pattern(
    r"(?<=://)(?P<user>[^\s:/@\"'<>]{0,300}):(?!\d{1,5}(?:/|$))(?P<value>[^\s\"'<>]{1,2000})(?=@[\w.\[-])"
)
# One pair of a connection string: `host=db user=me password=s3cr3t`.
_DSN = _Pattern(
    r"(?i)(?:^|[\s;,])(?:\w*(?:password|passwd|pwd|secret|token|(?:account|access|api)[_ ]?key))"
    r"\s*=\s*(?P<value>'[^']*'|\"[^\"]*\"|[^\s;,]+)"
)
# A token in the place of the user: `https://TOKEN@github.com`.
_TOKEN_AS_USER = _Pattern(
    r"(?<=://)(?=[A-Za-z_-]*\d)(?=[\d_-]*[A-Za-z])(?P<value>[\w-]{20,})(?=(?::[\w-]*)?@[\w.\[-])"
)
_PEM = _Pattern(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
    r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)"
)
_PEM_BEGIN = _Pattern(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_PEM_END = _Pattern(r"-----END [A-Z0-9 ]*PRIVATE KEY[A-Z -]*")
_PEM_LINE = _Pattern(
    r"(?:^|(?<=\s)|(?<=n))[A-Za-z0-9+/]{16,76}={0,2}$|^[A-Za-z0-9+/]{2,76}={0,2}$"
)
# A line of nothing but base64 as long as those of PEM files, whatever came before it.
_BASE64_LINE = _Pattern(
    r"(?m)^[ \t]*(?=[0-9a-z+/]*[A-Z])(?=[0-9A-Z+/]*[g-z])[A-Za-z0-9+/]{64}$"
)
_LONGEST_PEM = 200  # lines

# Shapes of tokens, by what each of them begins with (a text without it is not searched).
_SHAPES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("A3T", "ABIA", "ACCA", "AKIA", "ASIA", "AROA", "AIDA", "AGPA", "ANPA", "ANVA", "AIPA"),
     r"\b(?:A3T[A-Z0-9]|A(?:BIA|CCA|KIA|SIA|ROA|IDA|GPA|NPA|NVA|IPA))[A-Z0-9]{16}\b"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    (("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    (("gl",), r"\bgl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas|sa|c)[-_][A-Za-z0-9_=-]{20,}"),
    (("eyJ",), r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    (("xox", "xapp-"), r"\b(?:xox[a-z]|xapp-\d)-[A-Za-z0-9-]{10,}"),
    (("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}"),
    (("AIza", "ya29.", "GOCSPX-"), r"\b(?:AIza|ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}"),
    (("_live_", "_test_"), r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}"),
    (("whsec_",), r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    (("sk-",), r"\bsk-(?:proj-|ant-|svcacct-|admin-|or-)?[A-Za-z0-9_-]{20,}"),
    (("npm_", "hf_", "pscale_", "dop_", "doo_", "dor_", "shpat_", "shpca_", "shpss_", "shppa_",
      "sntrys_", "sntryu_", "sbp_", "pnu_", "pnb_", "lin_api_", "rubygems_", "ntn_", "glsa_",
      "r8_", "gsk_", "xai-", "phc_", "ccpat_", "dckr_pat_", "ATCTT3xFf", "ATATT3xFf"),
     (r"\b(?:npm|hf|pscale|do[opr]|shp(?:at|ca|ss|pa)|sntry[su]|sbp|pn[ub]|lin_api|rubygems|ntn"
     r"|glsa|r8|gsk|xai|phc|ccpat|dckr_pat|AT[AC]TT3xFf)[A-Za-z0-9]*[_-][A-Za-z0-9_=-]{16,}")),
    (("dapi", "dkea", "dose", "dsapi"), r"\b(?:dapi|dkea|dose|dsapi)[0-9a-f]{32}(?:-\d)?\b"),
    (("SG.",), r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    (("hvs.", "hvb.", "hvr.", "dp."),
     r"\b(?:hv[sbr]\.|dp\.(?:pt|st|ct|sa)\.)[A-Za-z0-9._-]{20,}"),
    (("NRAK-", "PMAK-", "AGE-SECRET-KEY-", "CFPAT-", "NRII-"),
     r"\b(?:NRAK|PMAK|AGE-SECRET-KEY|CFPAT|NRII)-[A-Za-z0-9-]{20,}"),
    (("ATATT3", "ATCTT3"), r"\bAT[AC]TT3[A-Za-z0-9_=-]{40,}"),
    (("sq0",), r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}"),
    (("pat",), r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b"),
    (("pypi-",), r"\bpypi-[A-Za-z0-9_-]{16,}"),
    (("key-",), r"\bkey-[0-9a-zA-Z]{32}\b"),
    (("SK", "AC"), r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    # A client secret of Azure, and addresses that are secrets as a whole.
    (("Q~",), r"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,34}"),
    (("NRAL",), r"\b[0-9a-f]{36}NRAL\b"),
    (("/webhooks/",), r"(?<=/webhooks/)\d+/[^\s\"'<>]{8,}"),
    (("/webhookb2/",), r"(?<=/webhookb2/)[^\s\"'<>]{8,}"),
    ((":AA",), r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    (("Signature=", "signature=", "Token=", "token=", "sig="),
     (r"(?i)(?<=X-Amz-Signature=)[0-9a-f]+|(?<=X-Goog-Signature=)[0-9a-f]+"
     r"|(?<=X-Amz-Security-Token=)[^&\s\"']+|(?<=[?&]sig=)[^&\s\"']+")),
    (("?key=", "&key="), r"(?<=[?&]key=)(?=[\w-]*\d)[\w-]{20,}"),
)  # fmt: skip
_LONG_WORD = _Pattern(r"[A-Za-z0-9_+/=.:-]{16}")
_CANDIDATE = _Pattern(r"[A-Za-z0-9_+/=.-]{16}")
_OPAQUE = _Pattern(r"(?=[A-Za-z_+/=.:-]{0,19}[0-9])[A-Za-z0-9_+/=.:-]{20}")
# What no shape names: an AWS secret access key and the like.
_RANDOM = _Pattern(
    r"(?<![A-Za-z0-9_+/.-])(?=[A-Za-z0-9_+/-]*[a-z])(?=[A-Za-z0-9_+/-]*[A-Z])(?=[A-Za-z_+/-]*\d)"
    r"[A-Za-z0-9_+/-]{40,}={0,2}(?![A-Za-z0-9_+/=-])"
)
_RANDOM_ENOUGH = 0.62  # distinct characters of the first forty
_UUID = _Pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RESTLESS = 0.3  # changes between capitals, small letters and digits; names in camel case have fewer


def _names_a_secret(low: str) -> bool:
    """Return whether a text, in small letters, may hold a secret name at all."""
    return _ANY_NAME.search(low) is not None and (
        any(stem in low for stem in _STEMS)
        or ("key" in low and any(kind in low for kind in _KINDS_OF_KEY))
        or ("conn" in low and "str" in low)
        or _SHORT_NAMES.search(low) is not None
    )


@lru_cache(maxsize=2_000)
def is_secret_name(name: str) -> bool:
    """Return whether what is assigned to a name is a secret."""
    return _NAMES.search(name) is not None


def maskable_values(
    values: Iterable[object], most: int = 2 * MOST_VALUES
) -> tuple[str, ...]:
    """Return the values that can be masked wherever they occur, each once.

    A short or common word would blank out ordinary text.

    Args:
        values: Texts; whatever else is among them is left out.
        most: How many to return at most.
    """
    chosen: dict[str, None] = {}
    for value in values:
        text = value if isinstance(value, str) else ""
        for each in {text.strip(), *text.strip().splitlines()}:
            plain = each.strip()
            if _SHORTEST <= len(plain) <= _LONGEST_VALUE and not _is_common(plain):
                chosen[plain] = None
                if len(chosen) >= most:
                    return tuple(chosen)
    return tuple(chosen)


def _is_common(text: str) -> bool:
    return (
        text.lower() in _COMMON
        or (text.isdigit() and len(text) < _LONGEST_NUMBER)
        # A path names where a secret lies (`GOOGLE_APPLICATION_CREDENTIALS`).
        or (
            text.startswith(("/", "./", "~/"))
            and " " not in text
            and len(text) < _LONGEST_PATH
        )
        or text.startswith("-----")
    )


def secret_values(mapping: object, depth: int = 6) -> Iterator[str]:
    """Yield the texts in a mapping (an environment, a configuration) under secret names.

    Values under other names are searched for secrets inside them: `AIRFLOW_CONN_DB` is a
    URL with a password.
    """
    if not isinstance(mapping, dict) or not depth:
        return
    for name, value in list(mapping.items()):
        if isinstance(value, dict):
            yield from secret_values(value, depth - 1)
            continue
        secret = is_secret_name(str(name))
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, dict):
                yield from secret_values(each, depth - 1)
            elif isinstance(each, str):
                if secret:
                    yield each
                yield from secrets_in(each, depth - 1)


def secrets_in(text: str, depth: int = 6) -> Iterator[str]:
    """Yield the secrets inside a setting: the password of a URL, values in JSON, a DSN."""
    if len(text) > _LONGEST_VALUE or depth < 1:
        return
    if "://" in text:
        for found in _USERINFO.finditer(text):
            yield from {found["value"], unquote(found["value"])}
        for part in text.split():
            # Parameters of a connection: `?api_key=…`.
            with contextlib.suppress(ValueError):
                query = urlsplit(part).query
                yield from secret_values(dict(parse_qsl(query)), depth - 1)
    elif text[:1] == "{" and text.rstrip()[-1:] == "}":
        with contextlib.suppress(ValueError, RecursionError):
            yield from secret_values(json.loads(text), depth - 1)
    elif text.count("=") > 1:
        for found in _DSN.finditer(text):
            yield found["value"].strip("'\"")


class Redaction:
    """Blanks out what looks like a secret in a text.

    Args:
        patterns: Regular expressions of the user's, on top of ours.
        shapes: Regular expressions of a secret scanner: shapes of tokens.
        values: Secrets themselves, blanked out wherever they occur.

    Raises:
        re.error: if a pattern of the user's is none.
    """

    def __init__(
        self,
        patterns: Iterable[str] = (),
        *,
        shapes: Iterable[str] = (),
        values: Iterable[str] = (),
    ) -> None:
        self._more = [re.compile(p) for p in patterns]
        self._shapes = [(anchors, _Pattern(p)) for anchors, p in _SHAPES]
        self._scanned = [re.compile(p) for p in shapes]
        self._values: dict[str, None] = {}
        self._masked: re.Pattern[str] | None = None
        self.mask(values)

    def mask(self, values: Iterable[str]) -> None:
        """Blank out these values, too, in every form in which they are printed."""
        for value in values:
            if len(self._values) < 16 * MOST_VALUES:
                self._values.update(dict.fromkeys(filter(None, _encodings(value))))
        if self._values:
            self._masked = _one_of(self._values)

    def text(self, text: str, *, names: bool = True) -> str:
        """Return `text` without secrets.

        Args:
            names: Whether what follows a secret name is one: not where names of modules
                and functions are listed (`my_secrets:load`).
        """
        for _, clean in self._steps(text, names=names):
            text = clean(text)
        return text

    def known_values(self, text: str) -> str:
        """Return `text` without the values that were given, whatever else is in it."""
        return self._known(text)

    def rules_for(self, text: str) -> list[str]:
        """Return which rules blank out something in a text."""
        found = []
        for rule, clean in self._steps(text, names=True):
            before, text = text, clean(text)
            if text != before:
                found.append(rule)
        return found

    def _steps(
        self, text: str, *, names: bool
    ) -> Iterator[tuple[str, Callable[[str], str]]]:
        """Yield the rules, in their order, and what applies each of them."""
        if len(text) >= _SHORTEST:
            yield "a known value", self._known
            yield "a private key", self._keys
            yield "the password or the token of an address", self._addresses
            yield "an argument of a command, a call or a statement", self._logins
            if names:
                yield "a name", self._assigned
                if "\n" in text:
                    yield "a name in a line before", lambda each: Rows().text(each)
            yield "the shape of a token", self._tokens
        yield "a pattern of `blackbox.redact`", self._by_the_user

    def _known(self, text: str) -> str:
        return text if self._masked is None else self._masked.sub(BLANK, text)

    @staticmethod
    def _keys(text: str) -> str:
        return _PEM.sub(BLANK, text) if "PRIVATE KEY" in text else text

    @staticmethod
    def _addresses(text: str) -> str:
        if "://" in text and "@" in text:
            text = _TOKEN_AS_USER.sub(BLANK, _USERINFO.sub(BLANK, text))
        return text

    @staticmethod
    def _logins(text: str) -> str:
        """Return a text without the passwords of commands, calls and statements."""
        if _ANY_LOGIN.search(text):
            text = _LOGIN.sub(_blank_named, text)
        if "echo " in text and "|" in text:
            text = _PIPED.sub(_blank_piped, text)
        if "(" in text and any(each in text for each in _CALLS):
            text = _CALL.sub(_blank_named, text)
        if "@" in text and "/" in text:
            text = _ORACLE_CALL.sub(_blank_named, _ORACLE.sub(_blank_named, text))
        if "identified" in text.lower():
            text = _SQL.sub(_blank_named, text)
        return text

    def _tokens(self, text: str) -> str:
        """Return a text without what has the shape of a token."""
        if not _LONG_WORD.search(text):
            return text
        if _CANDIDATE.search(text):
            for anchors, shape in self._shapes:
                if any(anchor in text for anchor in anchors):
                    text = shape.sub(_blank_token, text)
        if "ey" in text or "ewo" in text or "W3si" in text:
            text = _ENCODED.sub(_blank_encoded, text)
        if _OPAQUE.search(text):
            for rule in self._scanned:
                text = rule.sub(_blank_token, text)
            text = _RANDOM.sub(_blank_random, text)
            text = _BASE64_LINE.sub(BLANK, text)
        return text

    def _by_the_user(self, text: str) -> str:
        for pattern in self._more:
            text = pattern.sub(BLANK, text)
        return text

    @staticmethod
    def _assigned(text: str) -> str:
        low = text.lower()
        if not _names_a_secret(low):
            return text
        if "authorization" in low:
            text = _SIGNED.sub(lambda m: m["scheme"] + m["gap"] + BLANK, text)
        if any(each in low for each in ("authorization", "cookie", "phrase", "x-")):
            text = _HEADER.sub(lambda m: m["name"] + m["sep"] + BLANK, text)
        text = _SCHEME.sub(lambda m: m["scheme"] + m["gap"] + BLANK, text)
        text = _ASSIGNED.sub(_blank_value, text)
        text = _PAIR.sub(_blank_named, text)
        text = _ELEMENT.sub(_blank_named, text)
        text = _OPTION.sub(lambda m: m["name"] + m["gap"] + BLANK, text)
        if _MAY_BE_SENTENCE.search(text):
            text = _SENTENCE.sub(_blank_named, text)
        text = _PIN.sub(_blank_named, text)
        return _SPOKEN.sub(_blank_named, text) if _DIGIT.search(text) else text

    def lines(self, lines: Iterable[str]) -> list[str]:
        """Return lines of one source, in order, without secrets that span several."""
        state = PemState()
        return [state.line(each, self) for each in lines]


class Rows:
    """Follows what several lines say together: a table, a name and then its value."""

    def __init__(self) -> None:
        self._named = False
        self._split: Any = None
        self._secret: list[int] = []
        self._header: list[str] = []
        self._left = 0

    def text(self, text: str) -> str:
        """Return the next text without the values that lines before it name."""
        if "\n" not in text:
            return self.line(text)
        return "\n".join([self.line(each) for each in text.split("\n")])

    def line(self, line: str) -> str:
        """Return the next line without the values that lines before it name."""
        if self._secret:
            masked = self._row(line)
            if masked is not None:
                return masked
        if self._named and line.strip():
            self._named = False
            found = _VALUE_LINE.match(line)
            if found and found["value"].lower() not in _NO_VALUES:
                return f"{found['indent']}{BLANK}{found['end']}"
        if len(line) <= _LONGEST_HEADER and _names_a_secret(line.lower()):
            self._named = _NAME_LINE.match(line) is not None
            self._begin(line)
        return line

    def _begin(self, line: str) -> None:
        """Take a line as the header of a table, if it is one."""
        for split in (_BARS, _COMMAS, _SEMICOLONS, _TABS, _GAPS):
            cells = [each.strip(" \t\"'") for each in split.split(line.strip("| \t"))]
            if split is _GAPS and len(cells) == 1 and line.startswith("  "):
                cells = line.split()  # of a DataFrame, whose index has no name
            names = all(_HEADER_CELL.match(each) for each in cells)
            if len(cells) > 1 and names:
                secret = [n for n, each in enumerate(cells) if is_secret_name(each)]
                if secret:
                    self._secret = [n - len(cells) for n in secret]
                    self._header = cells
                    self._split = split
                    self._left = _LONGEST_TABLE
                return

    def _row(self, line: str) -> str | None:
        """Return a row without its secrets; None: the table has ended."""
        self._left -= 1
        if not line.strip(" -+=|:\t"):
            return line
        if self._split is _GAPS:
            parts = _BLANKS.split(line)
        else:
            parts = _SEPARATORS[self._split].split(line)
        filled = [n for n, each in enumerate(parts) if n % 2 == 0]
        if self._split in (_BARS, _GAPS):
            filled = [n for n in filled if parts[n].strip()]
        # A DataFrame has an index in front.
        if self._left < 0 or len(filled) not in (
            len(self._header),
            len(self._header) + 1,
        ):
            self._secret = []
            return None
        for cell in self._secret:
            n = filled[cell]
            plain = parts[n].strip(" \t\"'")
            if plain.lower() not in _NO_VALUES and not _is_count(
                self._header[cell], plain
            ):
                parts[n] = parts[n].replace(plain, BLANK)
        return "".join(parts)


_LONGEST_HEADER, _LONGEST_TABLE = 1_000, 5_000  # characters, lines
_NO_VALUES = frozenset(
    (
        "none",
        "null",
        "nan",
        "true",
        "false",
        "-",
        "…",
        "...",
        "na",
        "",
        "[",
        "{",
        "(",
        BLANK,
        "{}",
        "[]",
    )
)
_HEADER_CELL = _Pattern(r"[^\W\d][\w.]{0,60}$")
_BARS, _COMMAS, _SEMICOLONS = _Pattern(r"\|"), _Pattern(","), _Pattern(";")
_TABS, _GAPS = _Pattern(r"\t"), _Pattern(r"(?<! ) {2,200}(?! )")
_SEPARATORS = {
    each: _Pattern(f"({text})")
    for each, text in (
        (_BARS, r"\|"),
        (_COMMAS, ","),
        (_SEMICOLONS, ";"),
        (_TABS, r"\t"),
    )
}
_BLANKS = _Pattern(r"((?<!\s)\s{1,500}(?!\s)|^\s{1,500}(?!\s))")
# `DB_PASSWORD`, `"password":`, `export TOKEN=\\`: the value is on the next line.
_NAME_LINE = _Pattern(
    rf"\s{{0,100}}(?:[\[{{(,]\s{{0,20}})?[\"']?[\w.-]{{0,40}}?{_NAME}[\"']?\s{{0,20}}(?:[:=]\s{{0,20}}\\?)?\s{{0,20}}$",
    re.IGNORECASE,
)
_VALUE_LINE = _Pattern(
    r"(?P<indent>\s{0,200}[\"']?)(?P<value>[^\s\"',]{4,4000})(?P<end>[\"']?,?\s{0,200}[\]})]?,?)$"
)


class PemState:
    """Follows a private key, a table, or a name and its value, printed line by line."""

    def __init__(self) -> None:
        self._left = 0
        self._rows = Rows()

    def line(self, line: str, redaction: Redaction) -> str:
        """Return the next line without secrets."""
        clean = self._rows.text(redaction.text(line))
        begins, ends = _PEM_BEGIN.search(line), _PEM_END.search(line)
        if begins and not ends:
            self._left = _LONGEST_PEM
            return clean
        if self._left:
            self._left = 0 if ends else self._left - 1
            clean = _PEM_END.sub(BLANK, clean) if ends else clean
            return "\n".join(_PEM_LINE.sub(BLANK, each) for each in clean.split("\n"))
        return clean


def _blank_named(match: re.Match[str]) -> str:
    return match["name"] + BLANK


def _blank_piped(match: re.Match[str]) -> str:
    value = match["value"]
    return match["name"] + BLANK + value[len(value.rstrip()) :]


def _blank_value(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    # A value that is the name is a line of code: `password=password`.
    if _is_count(name, value) or value == _bare(name):
        return match[0]
    return name + BLANK


def _bare(name: str) -> str:
    return name.rstrip(" =:\"'\\)]>")


def _is_count(name: str, value: str) -> bool:
    """Return whether this is a number of tokens, of an authorisation's seconds, or the like."""
    plain = value.rstrip(".,;")
    if not plain.replace(".", "", 1).replace(",", "").isdigit():
        # `PWD=/srv/etl` is the working directory.
        return name.startswith("PWD=") and value.startswith("/")
    bare = _bare(name).lower()
    return bare.endswith(
        (
            "tokens",
            "sig",
            "pass",
            "auth",
            "_len",
            "_length",
            "_count",
            "_size",
            "_seconds",
        )
    )


def _blank_token(match: re.Match[str]) -> str:
    # Scanners' patterns include what stands before and after.
    token = match[0]
    begin = len(token) - len(token.lstrip(" \t\n=:\"'"))
    end = len(token) - len(token.rstrip(" \t\n\"'"))
    return token[:begin] + BLANK + token[len(token) - end :]


def _blank_encoded(match: re.Match[str]) -> str:
    """Mask JSON in base64 that holds a secret by its name."""
    plain = match[0].rstrip("=").replace("-", "+").replace("_", "/")
    try:
        text = base64.b64decode(plain + "=" * (-len(plain) % 4)).decode(
            "utf-8", "replace"
        )
    except ValueError:
        return match[0]
    named = _names_a_secret(text.lower()) and _ASSIGNED.search(text) is not None
    return BLANK if named else match[0]


def _encodings(value: str) -> Iterator[str]:
    """Yield a secret as programs print it: quoted, escaped, in other letters, encoded."""
    yield from (
        value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        quote(value, safe=""),
    )
    if len(value) < _SHORTEST_ENCODED:
        return
    yield from (value.upper(), value.lower(), value[::-1], " ".join(value))
    raw = value.encode("utf-8", "replace")
    yield from (raw.hex(), raw.hex().upper())
    # Within a longer text, it begins at any of three places of a group of four letters.
    for before in range(3):
        letters = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        whole = letters[(0, 2, 3)[before] :]
        if (before + len(raw)) % 3:
            whole = whole[:-1]
        yield from (whole, whole.replace("+", "-").replace("/", "_"))


def _one_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Return what matches any of these texts, the longest first, by their first letters."""
    by_letter: dict[str, list[str]] = {}
    for text in sorted(texts, key=len, reverse=True):
        by_letter.setdefault(text[0], []).append(re.escape(text[1:]))
    return re.compile(
        "|".join(
            f"{re.escape(letter)}(?:{'|'.join(rest)})"
            for letter, rest in by_letter.items()
        )
    )


def _blank_random(match: re.Match[str]) -> str:
    """Mask a token that is not made of words."""
    token = match[0]
    plain = [c for c in token if c.isalnum()]
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in plain]
    changes = sum(a != b for a, b in zip(kinds, kinds[1:]))  # noqa: RUF007 - Python 3.9 runs this
    if _UUID.search(token):
        return token
    varied = len(set(token[:40])) >= _RANDOM_ENOUGH * 40
    return BLANK if varied and changes >= _RESTLESS * len(plain) else token
