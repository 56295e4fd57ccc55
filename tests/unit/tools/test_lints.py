"""What registration says: each sentence of S0's section "The lints" is the name of a test here."""

from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from runs.tools.lints import CHECKS, MENDS, OF_AGENTS, OF_RULES, of_agent, of_file
from runs.tools.registry import Tool
from tests.unit.tools.shop import agent, findings, found, made_tool, routes, write


def only(spec: Any) -> str:
    """The one message that is found."""
    [item] = findings(spec)
    return item.message


# --- The sentences ------------------------------------------------------------------------------------
def test_registration_reads_every_write_for_what_recovery_needs_and_says_what_is_missing() -> None:
    def look(order: int) -> Any:
        """A read needs nothing."""

    reads = made_tool(look)
    bare = [write(name, retry_safe=False, lookup=None) for name in ("charge", "mail")]
    said = {(item.lint, item.tool) for item in of_file(agent(reads, *bare))}
    missing = ("write_without_compensation", "write_not_retry_safe", "lookup_missing")
    assert said == {(lint, item.name) for lint in missing for item in bare}
    assert findings(agent(reads, write("refund", irreversible=True))) == []


def test_write_without_compensation_a_write_neither_compensated_nor_marked_irreversible() -> None:
    assert found(agent(write("provision"))) == [
        ("write_without_compensation", "provision", "a write neither compensated nor marked irreversible")
    ]
    assert found(agent(write("mail", irreversible=True))) == []


def test_write_not_retry_safe_a_write_with_no_idempotency_so_an_ambiguous_failure_goes_to_a_person() -> None:
    bare = write("mail", irreversible=True, retry_safe=False, lookup=None)
    assert found(agent(bare))[0] == (
        "write_not_retry_safe",
        "mail",
        "a write with no idempotency, so an ambiguous failure goes to a person",
    )
    looked_up = write("mail", irreversible=True, retry_safe=False)
    assert found(agent(looked_up)) == []  # its ambiguous failure goes to the lookup


def test_irreversible_without_confirmation_an_irreversible_operation_that_asks_for_no_confirmation() -> None:
    silent = write("mail", irreversible=True, confirm=False)
    assert only(agent(silent)) == "an irreversible operation that asks for no confirmation"
    asked = {"asks": {"tools": "mail", "ask": "lead"}}
    assert findings(agent(silent, rules=asked)) == []  # a rule of its file always asks


def test_compensation_unknown_tool_the_compensation_names_one_which_the_catalogue_lacks() -> None:
    assert found(agent(write("charge", undo="refund_cart"))) == [
        (
            "compensation_unknown_tool",
            "charge",
            "the compensation names 'refund_cart', which the catalogue lacks",
        )
    ]


def test_compensation_not_retry_safe_it_undoes_it_and_is_not_retry_safe() -> None:
    refund = write("refund", irreversible=True, retry_safe=False)
    assert found(agent(write("charge", undo="refund"), refund)) == [
        ("compensation_not_retry_safe", "charge", "'refund' undoes it and is not retry-safe")
    ]


def test_compensation_unbound_argument_from() -> None:
    charge = write("charge", undo={"refund": {"order": "$args.ordre"}})
    assert found(agent(charge, write("refund", irreversible=True))) == [
        ("compensation_unbound", "charge", "order <- $args.ordre")
    ]


def test_compensation_cycle_its_compensations_return_to_at() -> None:
    circle = agent(write("open", undo="close"), write("close", undo="open"))
    assert found(circle) == [
        ("compensation_cycle", "open", "its compensations return to 'open'"),
        ("compensation_cycle", "close", "its compensations return to 'close'"),
    ]


def test_compensation_out_of_reach_agent_can_call_it_but_not_its_undo_so_a_run_of_that_agent_cannot_undo_it() -> (
    None
):
    spec = agent(write("charge", undo="refund"), write("refund", irreversible=True), has=["charge"])
    [item] = of_agent(spec)
    assert (item.lint, item.tool, item.agents) == ("compensation_out_of_reach", "charge", ("desk",))
    assert item.message == (
        "agent 'desk' can call it but not 'refund', which undoes it, so a run of that agent cannot undo it"
    )


def test_a_write_with_neither_an_undo_nor_irreversible_is_also_qg105_on_a_route_with_another_write() -> None:
    provision, refund = write("provision"), write("refund", irreversible=True)
    assert "QG105 provision" not in routes(agent(provision))
    assert routes(agent(provision, refund))["QG105 provision"] == ("provision", "refund")
    never = {"never": {"tools": "refund", "refuse": True}}
    assert routes(agent(provision, refund, rules=never)) == {}  # no route has another write


def test_a_failed_run_cannot_undo_it_and_nothing_says_so() -> None:
    said = {item.lint: item.message for item in of_agent(agent(write("provision"), write("open")))}
    assert said["QG105"].endswith(": a failed run cannot undo it, and nothing says so")


def test_before_launch_qg013_finds_a_route_where_an_irreversible_step_can_come_before_steps_that_would_be_undone() -> (
    None
):
    charge = write("charge", undo="refund")
    refund = write("refund", irreversible=True)
    mail = write("mail", irreversible=True)
    undos = {"undos_only": {"tools": "refund", "refuse": True, "undos": False}}
    assert routes(agent(charge, refund, mail, rules=undos)) == {"QG013 mail": ("mail", "charge")}


def test_without_its_confirmation_saying_so() -> None:
    tools = (
        write("charge", undo="refund"),
        write("refund", irreversible=True),
        write("mail", irreversible=True),
    )
    after = {"after": {"tools": ["mail", "refund"], "order": {"after": "charge"}}}
    assert routes(agent(*tools, rules=after)) == {}  # the charge stands before it, so its question says so


def test_every_lint_says_how_to_mend_it_and_stands_in_the_docs() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "lints.md").read_text()
    assert set(CHECKS) | OF_AGENTS | OF_RULES | {"undo_never_run"} == set(MENDS)
    for lint, mend in MENDS.items():
        assert f"| `{lint}` | " in docs
        assert mend.endswith(".")


# --- Undos that can never be bound --------------------------------------------------------------------
class Charged(TypedDict):
    charge: str


class Model(BaseModel):
    charge: str


def refund(**hints: Any) -> Tool:
    """An undo of one argument called charge, of this type."""

    def act(charge: Any) -> None:
        """Give it back."""

    act.__annotations__["charge"] = hints.get("takes", str)
    return write("refund", act, irreversible=True)


def charge(undo: Any = "refund", *, returns: Any = Any, order: Any = int) -> Tool:
    """A write of one argument called order."""

    def act(order: Any) -> Any:
        """Charge it."""

    act.__annotations__ |= {"order": order, "return": returns}
    return write("charge", act, undo=undo)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (charge(), []),  # its result may hold a charge: it does not say
        (charge(returns=Charged), []),
        (charge(returns=Model), []),
        (charge(returns=dict[str, Any]), []),
        (charge(returns=None), ["charge <- $result.charge"]),
        (charge(returns=str), ["charge <- $result.charge"]),
        (charge({"refund": {"charge": "$result"}}, returns=str), []),
        (charge({"refund": {"charge": "$result.id"}}, returns=Charged), ["charge <- $result.id"]),
        (charge({"refund": {"charge": "$args.order"}}), ["charge <- $args.order"]),  # a number for a text
        (charge({"refund": {"charge": "$args.order"}}, order=str), []),
        (charge({"refund": {"charge": "$order"}}), ["charge <- $order"]),
        (charge({"refund": {"charge": 4411}}), ["charge <- 4411"]),
        (charge({"refund": {"charge": "ch_1"}}), []),
        (
            charge({"refund": {"charge": "$result.charge", "amount": "$args.order"}}),
            ["amount <- $args.order"],
        ),
    ],
)
def test_an_undo_that_can_never_be_bound_is_said_and_one_that_may_be_is_not(
    tool: Tool, said: list[str]
) -> None:
    messages = [
        message for lint, _, message in found(agent(tool, refund())) if lint == "compensation_unbound"
    ]
    assert messages == said


@pytest.mark.parametrize(("given", "takes"), [(int, Decimal), (str, Decimal), (str, int), (int, float)])
def test_what_the_undo_can_read_from_another_type_is_bound(given: Any, takes: Any) -> None:
    bound = charge({"refund": {"charge": "$args.order"}}, order=given)
    assert found(agent(bound, refund(takes=takes))) == []


def test_a_write_whose_undo_can_never_be_bound_is_none_that_would_be_undone() -> None:
    broken = charge({"refund": {"charge": 4411}})
    assert routes(agent(broken, refund(), write("mail", irreversible=True))) == {}
    odd = charge({"refund": {"charge": "$result.charge", "amount": "$args.order"}})  # refund has no amount
    assert "QG013 mail" in routes(agent(odd, refund(), write("mail", irreversible=True)))


# --- Odd catalogues -----------------------------------------------------------------------------------
def test_a_tool_that_undoes_itself_is_a_cycle_of_one() -> None:
    assert found(agent(write("flip", undo="flip"))) == [
        ("compensation_cycle", "flip", "its compensations return to 'flip'")
    ]


def test_a_chain_that_runs_into_a_cycle_returns_to_where_the_cycle_begins() -> None:
    spec = agent(write("first", undo="open"), write("open", undo="close"), write("close", undo="open"))
    assert found(spec)[0] == ("compensation_cycle", "first", "its compensations return to 'open'")


def test_names_in_any_script_are_said_as_they_are() -> None:
    spec = agent(write("belegdruck_für_straße", undo="läschen"))
    assert found(spec)[0][2] == "the compensation names 'läschen', which the catalogue lacks"


def test_an_agent_of_reads_alone_has_nothing_to_say() -> None:
    def look(order: int) -> Any:
        """A read."""

    assert findings(agent(made_tool(look))) == []


# --- Ours ---------------------------------------------------------------------------------------------
def test_a_write_that_nothing_can_look_up_is_said() -> None:
    assert found(agent(write("mail", irreversible=True, lookup=None))) == [
        (
            "lookup_missing",
            "mail",
            "a write that nothing can look up, so its own answer is all that says whether it took effect",
        )
    ]


@pytest.mark.parametrize(
    ("attributes", "needs"),
    [
        # two more sendings, each 10 s of timeout and up to 4 s of pause later or after a lease of 30 s; 20 s to settle
        ({"key_retention": 79, "lookup": None}, "80"),
        ({"key_retention": 80, "lookup": None}, ""),
        # looked up: each follows once the one before is settled
        ({"key_retention": 179, "retry_safe": False, "settle_after": 60}, "180"),
        ({"key_retention": 180, "retry_safe": False, "settle_after": 60}, ""),
        # never sent again by itself
        ({"key_retention": 20, "retry_safe": False, "lookup": None}, ""),
    ],
)
def test_a_service_that_forgets_a_key_while_its_calls_are_under_way_is_said(
    attributes: dict[str, Any], needs: str
) -> None:
    spec = agent(write("mail", irreversible=True, **attributes))
    messages = [message for lint, _, message in found(spec) if lint == "key_retention_too_short"]
    kept = attributes["key_retention"]
    said = f"the service remembers its key for {kept} s, and its calls may take {needs} s"
    assert messages == ([f"{said}, so a later one is not sent again"] if needs else [])
