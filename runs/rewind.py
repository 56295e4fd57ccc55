"""The rewind: what a failed run said leaves the model's memory; the record keeps every line."""

from runs.models import Message
from runs.transitions import Held, change, record


def rewind(held: Held) -> None:
    """Take the run's messages, all after the turn that started it, out of memory."""
    said = Message.objects.filter(run=held.run, rewound_at=None).exclude(role="user")
    count = said.update(rewound_at=held.now)
    change(held, held.run, rewound_at=held.now)
    record(held, "run.rewound", data={"messages": count})
