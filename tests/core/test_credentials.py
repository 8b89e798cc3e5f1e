"""Addresses are split into what may be shown and what connects, or are not shown at all."""

import copy
import pickle
import traceback

import pytest

from truefit import Engine
from truefit._core.credentials import Secret, redacted, split_address, without_credentials
from truefit._core.errors import InvalidInput, StoreUnusable
from truefit.sources import load, open_rows

#: An argument with a password in it, and what is shown of it.
SHOWN = {
    "postgresql://me:hunter2@h/shop#sales": "postgresql://h/shop#sales",
    "postgres://me:hunter2@h:5432/shop": "postgres://h:5432/shop",
    "POSTGRESQL://me:hunter2@h/shop": "postgresql://h/shop",
    "postgresql://:hunter2@h/shop": "postgresql://h/shop",
    "postgresql://hunter2@h/shop": "postgresql://h/shop",
    "postgresql://me:hun%40ter2@h/shop": "postgresql://h/shop",
    "postgresql://me:hunter2@a:1,b:2/shop": "postgresql://a:1,b:2/shop",
    "postgresql://me:hunter2@[::1]:5432/shop": "postgresql://[::1]:5432/shop",
    "postgresql://h/shop?password=hunter2&sslmode=require": "postgresql://h/shop?sslmode=require",
    "postgresql://h/shop?sslpassword=hunter2&sslkey=hunter2.key": "postgresql://h/shop",
    "postgresql://?host=/run/pg&dbname=shop&password=hunter2": "postgresql://?host=/run/pg&dbname=shop",
    "postgresql://h/shop?hunter2": "postgresql://h/shop",
    "postgresql://h/shop?dbname=postgresql%3A%2F%2Fme%3Ahunter2%40h": "postgresql://h/shop",
    "postgresql://h/password%3Dhunter2": "postgresql://h/***",
    "postgresql://me:hunter2#a?b@h/shop#sales": "postgresql://h/shop#sales",
    "postgresql://me:hunter2@b@h/shop": "postgresql://***",
    "postgresql://me:hunter2/b@h/shop": "postgresql://***",
    "postgresql://me:12/hunter2@h/shop": "postgresql://***",
    "postgresql://me:hunter2%zz@h/shop": "postgresql://***",
    "postgresql://h/shop?user=a@b&password=hunter2": "postgresql://***",
    "mysql://me:hunter2@h/shop": "mysql://h/shop",
    "jdbc:postgresql://h/shop?user=me&password=hunter2": "jdbc:postgresql://h/shop",
    "https://me:hunter2@example.org/rows.csv?token=hunter2": "https://example.org/rows.csv",
    "sqlite:///rows.db?key=hunter2#people": "sqlite:///rows.db#people",
    "sqlite://me:hunter2@h/rows.db": "sqlite://h/rows.db",
    "postgresql:/me:hunter2@h/shop": "postgresql://h/shop",
    "me:hunter2@h/shop": "***@h/shop",
    "postgresql:me:hunter2@h/shop": "***@h/shop",
    "host=h password=hunter2 dbname=shop": "host=h password=*** dbname=shop",
    "host=h password='hunter2 b'": "host=h password=***",
    "--data=postgresql://me:hunter2@h/shop": "--data=postgresql://h/shop",
}
SAME = [
    "rows.csv", "../me@work/rows.csv", "openml:credit-g@1", "models.py:model", "sqlite:////home/me@work/rows.db#people",
    "postgresql://localhost:5432/shop?host=/run/pg#sales", "tcp://127.0.0.1:8786", "rows=2000,seconds=60", "--json", "",
]  # fmt: skip


def nobody_there(argument):
    """Give an address of a server that refuses at once."""
    return argument.replace("@h", "@localhost:1").replace("a:1,b:2", "localhost:1").replace("//h/", "//localhost:1/")


@pytest.mark.parametrize("argument", SHOWN)
def test_what_is_shown_of_an_argument_has_no_password(argument):
    assert redacted(argument) == SHOWN[argument]
    assert redacted(SHOWN[argument]) == SHOWN[argument]


@pytest.mark.parametrize("argument", SAME)
def test_what_has_no_password_is_shown_as_it_is(argument):
    assert redacted(argument) == argument


def test_what_connects_is_as_it_was_given_but_for_the_table():
    address = split_address("POSTGRES://me:hun%40ter2@h/shop?sslmode=require#sales")
    assert address.whole.reveal() == "postgres://me:hun%40ter2@h/shop?sslmode=require"
    assert {secret.reveal() for secret in address.hidden} == {"hun%40ter2", "hun@ter2"}
    assert "hun" not in repr(address)


def test_a_drivers_message_is_cleaned_of_every_form():
    address = split_address("postgresql://me:hun%40ter2@h/shop?sslpassword=abcdef")
    assert address.cleaned('token "hun%40ter2" of hun@ter2, abcdef') == 'token "***" of ***, ***'
    short = split_address("postgresql://me:a@h/shop")
    assert short.cleaned("a password failed") == "its message is not shown, because it may repeat the password"
    assert short.cleaned("no") == "no"


def test_a_secret_is_not_printed_formatted_or_pickled():
    secret = Secret("hunter2")
    assert "hunter2" not in f"{secret} {secret!r} {[secret]} {secret!s:>20}"
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="A password is not written to a file"):
            way(secret)


def test_messages_lose_an_address_in_whatever_form_it_comes_back():
    given = "postgresql://me:hunter2@h/shop"
    for text in (f"Got {given!r}.", "no folder /home/postgresql:/me:hunter2@h", "postgresql:/me:hunter2@h/shop"):
        for arguments in ([given], [f"--store={given}"]):
            assert "hunter2" not in without_credentials(text, arguments)


@pytest.mark.parametrize("address", SHOWN)
def test_errors_of_python_calls_have_no_password_in_them_or_in_what_they_come_from(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "1")
    if address.lower().startswith("postgres"):
        pytest.importorskip("adbc_driver_postgresql")
    address = nobody_there(address)
    calls = [lambda: load(address, "y"), lambda: open_rows(address, "y")]
    if "/" in address:  # anything else is a good name for a store
        calls.append(lambda: Engine(store=address))
    for call in calls:
        with pytest.raises((InvalidInput, StoreUnusable)) as refused:
            call()
        error, texts = refused.value, []
        while error is not None:
            texts += [str(error), repr(error.args), *(getattr(error, "__notes__", ()))]
            error = error.__cause__ or error.__context__
        assert "hunter2" not in " ".join(texts)
        lines = traceback.format_exception(refused.value)
        assert not [line for line in lines if "hunter2" in line or "hun%40ter2" in line or "hun@ter2" in line]
