"""What people and other programs are told of: the lines of the record that matter to somebody outside.

A trigger of the record writes each of them into the outbox (models.Notice), in the same statement: what was rolled back
is told to nobody, and every writer of the record is covered. Standard library only.
"""

from runs.states import PARKED, RUN_ENDS

# kind of the notification -> what it says, as people choose it
KINDS = {
    "question.asked": "a question is asked",
    "question.escalated": "nobody answered a question in time",
    "run.stuck": "a run is stuck: an undo needs a person",
    "run.ended": "a run has ended",
    "handover.opened": "a run is handed over to a person",
}
# kind of the event -> kind of the notification
KIND_OF = {
    **{f"step.{state}": "question.asked" for state in sorted(PARKED)},
    "step.escalated": "question.escalated",
    "run.stuck": "run.stuck",
    **{f"run.{state}": "run.ended" for state in sorted(RUN_ENDS)},
    "handover.opened": "handover.opened",
}
