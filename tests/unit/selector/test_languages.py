"""A language is a file, and a file that does not fit says where."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from runs.errors import ConfigurationError
from runs.selector import Selector, grammar, shipped
from runs.selector.grammar import LANGUAGES, read_grammar
from tests.unit.selector.languages import TABLES

ENGLISH = (LANGUAGES / "en" / "grammar.yaml").read_text()


def test_a_language_that_ships_has_its_tests() -> None:
    assert shipped() == tuple(sorted(TABLES)) == ("en", "pt")


def test_every_language_can_say_what_another_can() -> None:
    english = grammar("en")
    for language in map(grammar, shipped()):
        assert language.currencies.keys() == english.currencies.keys()
        assert set(language.quantities.values()) == set(english.quantities.values())


def test_a_language_that_has_not_shipped_is_named_with_those_that_have() -> None:
    with pytest.raises(ConfigurationError, match="the language 'xx' has not shipped; these have: en, pt"):
        Selector([], ["en", "xx"])
    with pytest.raises(ConfigurationError, match="has not shipped"):
        grammar("../languages/en")


def test_a_currency_without_a_name_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match="the currency 'XXX' is not known in English; these are: BRL, EUR"
    ):
        Selector([], currency="XXX")


BAD: list[tuple[str, str, str]] = [
    ("colour: red", "colour: unknown key", "colour"),
    ("name: ''", "name: String should have at least 1 character", "name"),
    ("articles: [The]", '"The" must be one or more words in small letters', "- The"),
    ("articles: [the old]", "articles.0: String should match", "- the old"),
    ("connectives: [and,  then, THEN]", '"THEN" must be one or more words in small letters', "- THEN"),
    ("decimal_mark: ';'", "decimal_mark: Input should be '.' or ','", "decimal_mark"),
    ("quantities: {none: 0}", "quantities.none: Input should be greater than or equal to 1", "none"),
    ("currencies: {usd: {signs: [], words: []}}", "currencies.usd", "usd:"),
    ("currencies: {USD: {signs: ['1'], words: []}}", "currencies.USD.signs.0", "- '1'"),
    ("decimal_mark: ','", "decimal_mark and group_mark are the same", ""),
    ("list_word: plus", 'the list_word "plus" is not among the connectives', ""),
    ("articles: [and]", '"and" has two meanings', ""),
    ("pronouns: [same]", '"same" has two meanings', ""),
    ("courtesies: [café]", '"café" has a letter that is not in a to z or in letters', ""),
]


@pytest.mark.parametrize(("line", "said", "where"), BAD, ids=[line for line, _, _ in BAD])
def test_a_file_that_does_not_fit_says_where(line: str, said: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "grammar.yaml"
    document: dict[str, Any] = yaml.safe_load(ENGLISH) | yaml.safe_load(line)
    path.write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False))
    at = next((n for n, text in enumerate(path.read_text().splitlines(), 1) if where and where in text), 1)
    with pytest.raises(ConfigurationError) as refusal:
        read_grammar(path)
    assert said in str(refusal.value)
    assert str(refusal.value).startswith(f"{path}:{at}: ")
