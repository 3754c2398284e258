"""BeeOS for Python: agents that dial out, and a client that calls them.

An agent is a name and a few functions. While it runs, people and programs reach it over MCP, A2A and
REST:

    from beeos import Agent

    bot = Agent("weather")

    @bot.tool
    def forecast(city: str, days: int = 1) -> str:
        "The forecast for a city."
        return f"sunny in {city} for {days} days"

    bot.run()
"""

from ._version import __version__
from .adapters import adapt, serve
from .agent import Agent, run
from .client import Client
from .context import Context, Continued, Elicitation, Question
from .errors import (
    Busy,
    Cancelled,
    CannotAsk,
    Denied,
    Ended,
    Error,
    Fault,
    QuestionFailed,
    Refuse,
    SetupError,
    Unreachable,
)
from .files import Attachment
from .message import Message, StoredMessage
from .models import (
    AgentInfo,
    Answer,
    Approval,
    Conversation,
    Delivery,
    File,
    StreamEvent,
    Task,
    ToolResult,
    Update,
    Webhook,
)
from .results import Audio, Document, Image, Link
from .steps import Step
from .sync_client import SyncClient
from .sync_context import SyncContext
from .trace import Trace
from .webhooks import verify_webhook

__all__ = [
    "Agent",
    "AgentInfo",
    "Answer",
    "Approval",
    "Attachment",
    "Audio",
    "Busy",
    "Cancelled",
    "CannotAsk",
    "Client",
    "Context",
    "Continued",
    "Conversation",
    "Delivery",
    "Denied",
    "Document",
    "Elicitation",
    "Ended",
    "Error",
    "Fault",
    "File",
    "Image",
    "Link",
    "Message",
    "Question",
    "QuestionFailed",
    "Refuse",
    "SetupError",
    "Step",
    "StoredMessage",
    "StreamEvent",
    "SyncClient",
    "SyncContext",
    "Task",
    "ToolResult",
    "Trace",
    "Unreachable",
    "Update",
    "Webhook",
    "__version__",
    "adapt",
    "run",
    "serve",
    "verify_webhook",
]
