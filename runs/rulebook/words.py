"""The rules in words: for `stalwart rules show`, `stalwart verify`, for pages, and for the cause of a refusal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runs.rulebook.shapes import DAYS, Cap, Hours, Order, Rule, Rulebook, RuleSection


@dataclass(frozen=True)
class RuleInWords:
    """One rule as a sentence. `line` is where it stands in `file`."""

    name: str
    kind: str
    tools: tuple[str, ...]
    sentence: str
    because: str
    file: str
    line: int


def in_words(rulebook: Rulebook) -> tuple[RuleInWords, ...]:
    """Every rule of a rulebook, in its order."""
    return tuple(
        RuleInWords(
            rule.name,
            rule.says.kind,
            rule.says.tools,
            sentence(rule),
            rule.says.because,
            rulebook.file,
            rule.line,
        )
        for rule in rulebook.rules
    )


def as_lines(rulebook: Rulebook) -> Iterator[str]:
    """Every rule as it is printed."""
    for rule in in_words(rulebook):
        yield f"  {rule.name}: {rule.sentence}"
        if rule.because:
            yield f"    because {rule.because}"


def sentence(rule: Rule) -> str:
    """A rule as one sentence."""
    says = rule.says
    when = f", when {says.when}" if says.when else ""
    undos = "" if says.undos or says.ask or says.four_eyes else " Undos are exempt."
    return f"{_said(says)}{when}.{undos}"


def _said(says: RuleSection) -> str:
    tools = _listed(says.tools, "and")
    if says.order:
        return f"{tools}: only after {of_order(says.order)}"
    if says.cap:
        return f"{tools}: {of_cap(says.cap)}"
    if says.ask:
        return f"{tools}: a person with the role {says.ask} is asked"
    if says.four_eyes:
        return f"{tools}: somebody other than who asked for it is asked"
    if says.only_in:
        return f"{tools}: only in {_task(says.only_in)}"
    if says.hours:
        return f"{tools}: only {of_hours(says.hours)}"
    return f"{tools}: refused"


def of_order(order: Order) -> str:
    """What must have run before."""
    tools = _listed(order.tools, "and" if order.after else "or")
    same = [
        name if source == f"$args.{name}" else f"{name} (its {source[1:]})"
        for name, source in order.same.items()
    ]
    alike = f" with the same {_listed(same, 'and')}" if same else ""
    still = " and was not undone" if order.net else ""
    return f"{tools} ran in the conversation{alike}{still}"


def of_cap(cap: Cap) -> str:
    """How much is allowed, and of what."""
    what = f"at most {cap.count} {'call' if cap.count == 1 else 'calls'}"
    if cap.most is not None:
        what = f"{cap.sum} comes to at most {cap.most}"
    net = ", not counting what was undone" if cap.net else ""
    zone = f" ({cap.zone})" if "day" in cap.per else ""
    return f"{what} per {_listed(cap.per, 'and')}{zone}{net}"


def of_hours(hours: Hours) -> str:
    """On which days, from when until when."""
    days = "every day" if set(hours.days) == set(DAYS) else _days(hours.days)
    return f"{days} {hours.start}-{hours.end} ({hours.zone})"


def _days(days: Sequence[str]) -> str:
    """`mon-fri` for a row of them, else a list."""
    places = sorted({DAYS.index(day) for day in days})
    names = [DAYS[place].capitalize() for place in places]
    row = places == list(range(places[0], places[-1] + 1)) and len(places) > 2
    return f"{names[0]}-{names[-1]}" if row else _listed(names, "and")


def _task(tasks: Sequence[str]) -> str:
    return f"the {'task' if len(tasks) == 1 else 'tasks'} {_listed(tasks, 'and')}"


def _listed(names: Sequence[str], word: str) -> str:
    *most, last = names
    return f"{', '.join(most)} {word} {last}" if most else last
