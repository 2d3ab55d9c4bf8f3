"""What kind of failure a failed tool call is: finding the tool failed, or running it did.

The two ask for different remedies, so they are different kinds everywhere (SPEC D6): a tool that
was never found wants a better index or query, one that was found and failed wants other arguments,
another environment or a mended tool.
"""

from __future__ import annotations

from typing import Final

# Finding the tool: it is not in the index (or its server could not be listed), a search did not
# find it, it may not be used here, it is known and was called without being loaded.
INDEX: Final = "discovery.index"
QUERY: Final = "discovery.query"
GRANT: Final = "discovery.grant"
LOAD: Final = "discovery.load"
# Running it: the arguments do not fit, its server or command could not be had, it failed itself.
ARGUMENTS: Final = "execution.arguments"
ENVIRONMENT: Final = "execution.environment"
TOOL: Final = "execution.tool"

FAILURES: Final = (INDEX, QUERY, GRANT, LOAD, ARGUMENTS, ENVIRONMENT, TOOL)

DISCOVERY_NOTE: Final = "discovery_failure"
EXECUTION_NOTE: Final = "execution_failure"
"""Topics of notes in a record; their bodies are ``{"failure", "tool", "call_id", "reason"}``."""


def note_topic(failure: str) -> str:
    """The topic of the note that a failure is recorded under."""
    return DISCOVERY_NOTE if failure.startswith("discovery.") else EXECUTION_NOTE
