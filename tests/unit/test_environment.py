"""A variable of the environment that means nothing is one line that says what it may be, and never shows a secret."""

from collections.abc import Callable

import pytest
from django.core.exceptions import ImproperlyConfigured

from stalwart_site import environment

NAME = "STALWART_X"


@pytest.mark.parametrize(
    ("text", "on"), [("", False), ("0", False), ("off", False), ("1", True), ("Yes", True), (" on ", True)]
)
def test_a_flag_is_on_or_off(monkeypatch: pytest.MonkeyPatch, text: str, on: bool) -> None:
    monkeypatch.setenv(NAME, text)
    assert environment.flag(NAME) is on


def test_what_is_not_set_or_set_to_nothing_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (None, "", "  "):
        monkeypatch.delenv(NAME, raising=False) if text is None else monkeypatch.setenv(NAME, text)
        assert (environment.seconds(NAME, 30), environment.count(NAME, 2)) == (30, 2)
        assert (environment.time_zone(NAME, "UTC"), environment.log_level(NAME, "INFO")) == ("UTC", "INFO")
        assert (environment.words(NAME, "a, b"), environment.mail(NAME)) == (["a", "b"], None)


def test_what_is_set_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(text: str) -> str:
        monkeypatch.setenv(NAME, text)
        return NAME

    assert environment.seconds(of("0.5"), 30) == 0.5
    assert environment.count(of("7"), 2) == 7
    assert environment.time_zone(of("Europe/Lisbon"), "UTC") == "Europe/Lisbon"
    assert environment.log_level(of("debug"), "INFO") == "DEBUG"
    assert environment.site(of("https://stalwart.example/"), "") == "https://stalwart.example"
    assert environment.database(of("postgresql://u:p@db:5432/n"), "")["HOST"] == "db"
    server = environment.mail(of("smtp+plain://localhost:25"))
    assert server
    assert (server.hostname, server.port) == ("localhost", 25)


@pytest.mark.parametrize(
    ("read", "texts", "so"),
    [
        (environment.flag, ["enabled", "2", "y"], "1 or 0"),
        (lambda name: environment.seconds(name, 30), ["30s", "-1", "0", "nan", "inf", "1,5"], "such as 30"),
        (lambda name: environment.count(name, 2), ["0", "-1", "1.5", "two", "²"], "such as 2"),
        (lambda name: environment.time_zone(name, "UTC"), ["Mars", "../UTC", "Europe"], "Europe/Lisbon"),
        (lambda name: environment.log_level(name, "INFO"), ["loud"], "WARNING"),
        (lambda name: environment.site(name, "http://x"), ["stalwart.example", "http://"], "https://"),
    ],
)
def test_what_means_nothing_is_quoted_and_told(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], texts: list[str], so: str
) -> None:
    for text in texts:
        monkeypatch.setenv(NAME, text)
        with pytest.raises(ImproperlyConfigured) as caught:
            read(NAME)
        said = str(caught.value)
        assert said.startswith(f"{NAME} is {text!r}: set it to ")
        assert so in said


@pytest.mark.parametrize(
    ("read", "texts"),
    [
        (
            lambda name: environment.database(name, ""),
            ["s3cret", "mysql://u:s3cret@h/n", "sqlite:///s3cret", "postgresql://u:s3cret@h:x/n"],
        ),
        (environment.mail, ["s3cret", "http://u:s3cret@h", "smtp://u:s3cret@h:x", "smtp://"]),
    ],
)
def test_an_address_with_a_password_in_it_is_not_quoted(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], texts: list[str]
) -> None:
    for text in texts:
        monkeypatch.setenv(NAME, text)
        with pytest.raises(ImproperlyConfigured) as caught:
            read(NAME)
        assert str(caught.value).startswith(f"{NAME} cannot be read: set it to the address of ")
        assert "s3cret" not in str(caught.value)
        assert caught.value.__context__ is None  # nor shown in a traceback
