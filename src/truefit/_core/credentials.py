"""Credentials: what connects to a database or a server, kept apart from what may be shown and stored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, NoReturn
from urllib.parse import unquote

HIDDEN: Final = "***"

#: Parameters of an address that say where a server is, and never who may use it. Any other is not shown.
_SHOWN: Final = frozenset(
    {"host", "hostaddr", "port", "dbname", "service", "sslmode", "sslnegotiation", "gssencmode", "channel_binding"}
    | {"target_session_attrs", "load_balance_hosts", "connect_timeout", "application_name", "client_encoding"}
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/+")
#: As libpq reads it: what stands before the first @ and before the first / says who is asking.
_PARTS: Final = re.compile(
    r"(?:(?P<user>[^@/]*)@)?(?P<hosts>[^@/?#]*)(?P<path>/[^@?#]*)?(?:\?(?P<query>[^@#]*))?(?:\#(?P<table>[^@#]*))?"
)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^:,\[\]]*)(:[0-9]*)?")
_PLAIN: Final = re.compile(r"[\w./~,: \-]*")
_BAD_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
#: user:password@host, where the beginning of an address is missing. OpenML's names have a version behind an @.
_NO_SCHEME: Final = re.compile(r"(?!openml:)[^\s/:@]*:.*@", re.DOTALL)
_PAIR: Final = re.compile(
    r"(?i)\b([a-z]*passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access)_?key)(\s*=\s*)('[^']*'|[^\s&]+)"
)


class Secret:
    """Text that connects and is never shown: printing, formatting or pickling it does not give it away.

    >>> secret = Secret("hunter2")
    >>> print(secret, [secret], secret.reveal() == "hunter2")
    *** [***] True
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, for the one call that needs it."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("A password is not written to a file. Open the database again where its rows are needed.")


@dataclass(frozen=True, slots=True)
class Address:
    """An address in two: what may be shown, and what connects.

    ``shown`` is without user, password, unknown parameters and table; ``table`` is what stands behind ``#``; ``whole``
    is what a driver takes; ``hidden`` is each part that may be a password, as it is written and as it is meant.
    """

    scheme: str
    shown: str
    table: str | None
    whole: Secret
    hidden: tuple[Secret, ...]

    def cleaned(self, text: str) -> str:
        """Return a driver's message without any part of the address that is not shown.

        >>> address = split_address("postgresql://me:hunter2@localhost/shop")
        >>> address.cleaned('invalid token "hunter2"')
        'invalid token "***"'
        """
        for secret in sorted((each.reveal() for each in self.hidden), key=len, reverse=True):
            if len(secret) < 4 and secret in text:
                # The gaps that a short password leaves would tell it.
                return "its message is not shown, because it may repeat the password"
            text = text.replace(secret, HIDDEN)
        return text


def split_address(text: str) -> Address | None:
    """Split an address into what may be shown and what connects; None where it can be read in two ways.

    >>> address = split_address("POSTGRES://me:hunter2@h:5432/shop?sslmode=require&sslpassword=x#sales")
    >>> address.shown, address.table
    ('postgres://h:5432/shop?sslmode=require', 'sales')
    >>> split_address("postgresql://me:with@sign@h/shop") is None
    True
    """
    scheme, separator, rest = text.partition("://")
    found = _PARTS.fullmatch(rest)
    if not separator or found is None or _BAD_PERCENT.search(rest):
        return None
    user, hosts, path, query, table = found["user"], found["hosts"], found["path"] or "", found["query"], found["table"]
    if not all(map(_HOST.fullmatch, hosts.split(","))):
        return None
    shown, hidden = [], [(user or "").partition(":")[2]]
    for pair in query.split("&") if query else ():
        name, equals, value = pair.partition("=")
        if name in _SHOWN and equals and _PLAIN.fullmatch(unquote(value)) and "//" not in unquote(value):
            shown.append(pair)
        elif name != "user":
            hidden.append(value if equals else name)
    place = f"{scheme.lower()}://{hosts}{path if _PLAIN.fullmatch(unquote(path)) else f'/{HIDDEN}'}"
    written = dict.fromkeys(part for part in (*hidden, *map(unquote, hidden)) if part)
    return Address(
        scheme=scheme.lower(),
        shown=f"{place}?{'&'.join(shown)}" if shown else place,
        table=table or None,
        whole=Secret(f"{scheme.lower()}://{rest if table is None else rest[: found.start('table') - 1]}"),
        hidden=tuple(map(Secret, written)),
    )


def redacted(argument: str) -> str:
    """Return an argument of a call or a command without the credentials in it: this is what is stored and shown.

    >>> redacted("--data=postgresql://me:hunter2@localhost/shop#sales")
    '--data=postgresql://localhost/shop#sales'
    >>> redacted("https://example.org/rows.csv?token=hunter2"), redacted("host=h password=hunter2")
    ('https://example.org/rows.csv', 'host=h password=***')
    >>> redacted("rows.csv"), redacted("sqlite:///rows.db#people")
    ('rows.csv', 'sqlite:///rows.db#people')
    """
    start = _SCHEME.search(argument)
    if start is None:
        return _without_pairs(argument)
    scheme, rest = start[0].partition(":")[0], argument[start.end() :]
    slashes = start[0][len(scheme) + 1 :]
    before = _without_pairs(argument[: start.start()])
    if scheme.lower() in ("sqlite", "file") and len(slashes) > 2:
        # A path, in which an @ means nothing.
        path, _, parameters = rest.partition("?")
        table = parameters.partition("#")[2]
        return f"{before}{scheme}:{slashes}{path}{f'#{table}' if table else ''}"
    # A path made of an address has lost a slash.
    address = split_address(f"{scheme}://{slashes[2:]}{rest}")
    if address is None:
        return f"{before}{scheme}://{HIDDEN}"
    return before + address.shown + (f"#{address.table}" if address.table else "")


def without_credentials(text: str, arguments: Iterable[str]) -> str:
    """Return a message without the credentials in the arguments of the command that it is about."""
    for argument in sorted(arguments, key=len, reverse=True):
        for given in (argument, argument.partition("=")[2]):
            clean = redacted(given)
            if clean == given:
                continue
            # As it was given, as a path (two slashes become one) and as Python writes it.
            for form in (given, str(PurePath(given)), repr(given)[1:-1]):
                text = text.replace(form, clean)
            # A part of it, such as the folder of a path.
            who = given.rpartition("@")[0].rpartition("//")[2]
            text = text.replace(f"{who}@", f"{HIDDEN}@") if who else text
    return text


def _without_pairs(text: str) -> str:
    missing = _NO_SCHEME.match(text)
    return _PAIR.sub(rf"\1\2{HIDDEN}", text if missing is None else f"{HIDDEN}@{text[missing.end() :]}")
