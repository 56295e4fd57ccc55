"""The agents and the settings of the processes that are attacked: times as short as a busy machine allows."""

from tests.crash.points import AGENTS
from tests.flows import AGENT_FILES
from tests.processes import SHORT_TIMES

ALL_AGENTS = [*AGENT_FILES, AGENTS / "blind.yaml", AGENTS / "load.yaml"]
_OURS = {
    "STALWART_AGENTS": ",".join(str(path) for path in ALL_AGENTS),
    "STALWART_CALL_TIMEOUT_SECONDS": "1",  # a call that is cut off is settled after twice that
}
# Of a process of the kill matrix.
CARRIER = (
    SHORT_TIMES
    | _OURS
    | {
        "STALWART_LEASE_SECONDS": "0.5",
        "STALWART_RETRY_SECONDS": "0.05",
        "STALWART_RENUDGE_SECONDS": "0.02",
    }
)
# Of real workers under attack: a hung cluster is replaced within seconds.
SITE = (
    SHORT_TIMES
    | _OURS
    | {"STALWART_WORKERS": "2", "STALWART_STALL_SECONDS": "4", "STALWART_DRAIN_SECONDS": "5"}
)
# Seconds from a kill until work goes on, whatever was killed: the lease, and five.
GOES_ON = float(SHORT_TIMES["STALWART_LEASE_SECONDS"]) + 5
