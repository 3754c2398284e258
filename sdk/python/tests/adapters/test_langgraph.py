"""What LangGraph has besides."""

from __future__ import annotations

from typing import Any

from conftest import Server, wait_until
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from beeos import Agent, SyncClient, adapt

from .script import next_move
from .steps import place


def graph_of(step: Any, state: Any = MessagesState) -> Any:
    graph = StateGraph(state)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    return graph


def serve(server: Server, graph: Any, name: str, **more: Any) -> Agent:
    return adapt(graph, name, **more, **place(server, name))


def test_question(server: Server, client: SyncClient) -> None:
    """An interrupt that is about no tool is a question to the person; a state graph need not be compiled."""

    def ask(state: Any) -> Any:
        colour = interrupt({"question": "Which colour?", "choices": ["red", "blue"]})
        sure = interrupt("Sure?")
        return {"messages": [AIMessage(f"{state['messages'][-1].text} in {colour}, {sure['really']}")]}

    with server.serving(serve(server, graph_of(ask), "asker")):
        task = client.create_task("asker", "a house")
        for question, answer in {"Which colour?": "blue", "Sure?": {"really": True}}.items():
            wait_until(lambda q=question: (client.task("asker", task.task_id).question or {}).get("text") == q, question)
            client.continue_task("asker", task.task_id, answer)
        assert client.wait_for_task("asker", task.task_id).text == "a house in blue, True"


def test_approval_by_hand(server: Server, client: SyncClient) -> None:
    """An interrupt that names a tool and its arguments goes to the owner."""

    def spend(state: Any) -> Any:
        made = interrupt({"tool": "pay", "arguments": {"euros": 7}})
        return {"messages": [AIMessage("paid" if made["approved"] else made["reason"])]}

    with server.serving(serve(server, graph_of(spend).compile(), "payer")):
        task = client.create_task("payer", "pay")
        (asked,) = wait_until(lambda: [a for a in client.approvals() if a.arguments == {"euros": 7}], "the question")
        client.reject(asked.id, "too much")
        assert client.wait_for_task("payer", task.task_id).text == "pay was denied: too much"


def test_own_checkpointer(server: Server, client: SyncClient) -> None:
    """A graph with a checkpointer keeps its state itself: the channel is the thread. What a new checkpointer does
    not know is brought from the history."""

    class State(MessagesState):
        turns: int

    def step(state: Any) -> Any:
        said = [("user" if m.type == "human" else "assistant", m.text) for m in state["messages"]]
        turns = state.get("turns", 0) + 1
        return {"messages": [AIMessage(f"{next_move(said)} Turn {turns}.")], "turns": turns}

    graph, saver = graph_of(step, State), InMemorySaver()
    with server.serving(serve(server, graph.compile(checkpointer=saver), "keeper")):
        first = client.call("keeper", "my name is Ada")
        again = client.call("keeper", "what is my name?", context_id=first.context_id)
        assert again.text == "You are Ada. Turn 2."
    for kept, text in ((saver, "You are Ada. Turn 3."), (InMemorySaver(), "You are Ada. Turn 1.")):
        with server.serving(serve(server, graph.compile(checkpointer=kept), "keeper")):
            assert client.call("keeper", "what is my name?", context_id=first.context_id).text == text


def test_inputs(server: Server, client: SyncClient) -> None:
    """A graph without messages is a tool, and takes text where one text is all that it needs."""

    class State(TypedDict, total=False):
        topic: str
        poem: str

    def write(state: Any) -> Any:
        return {"poem": f"O {state['topic']}"}

    with server.serving(serve(server, graph_of(write, State).compile(), "poet")):
        assert client.call_tool("poet", "poet", {"topic": "bees"}).structured == {"topic": "bees", "poem": "O bees"}
        assert '"poem":"O honey"' in client.call("poet", '{"topic": "honey"}').text


def test_entrypoint_and_options(server: Server, client: SyncClient) -> None:
    @entrypoint()
    def shout(text: str) -> str:
        return text.upper()

    with server.serving(serve(server, shout, "shouter", options={"config": {"recursion_limit": 5}})):
        assert client.call("shouter", "hello").text == "HELLO"
