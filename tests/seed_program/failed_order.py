"""The failed order, as a program writes it: one turn, each write approved as it comes, one reply."""

from shop.tools import CALLS

from runs.agents import Agent, Reply

desk = Agent.from_file("agent.yaml")


def order(turn: str, user: str) -> Reply:
    """One turn; the person approves each write as it comes."""
    reply = desk.chat(turn, user=user)
    while reply.waiting and reply.waiting[0].kind == "confirm":
        reply = desk.confirm(user, "approve")
    return reply


reply = order(
    "charge order 4411 40.00, then update the crm for order 4411, then provision the account for order 4411",
    "u-17",
)
print(reply.text)
print("The tools ran in this order:")
for number, name in enumerate(CALLS, 1):
    print(f"{number}. {name}")

CALLS.clear()
reply = order(
    "charge order 4411 40.00, then send the receipt for order 4411, then provision the account for order 4411",
    "u-18",
)
print(reply.text)
