"""The agent that beeos agent check --exec tries: a program that reads and writes JSON lines.

sdk/spec/check.md says what its tools are.
"""

import json
import os
import sys
import threading
import time
import urllib.request
from collections import Counter

ME = str(os.getpid())
begun = Counter()
more = threading.Condition()
cancels = {}  # an event per open message
decisions = {}  # the owner's answers, by the message that asked


def say(id, **line):
    """Write a line. One thread at a time, or lines would run into each other."""
    with more:
        print(json.dumps({"id": id, **line}), flush=True)


def note(*what):
    with more:
        begun.update(what)
        more.notify_all()


def until(so):
    with more:
        more.wait_for(so)


class Message:
    def __init__(self, line):
        self.id, self.line = line["id"], line
        self.cancelled = cancels[self.id] = threading.Event()

    def delta(self, text):
        say(self.id, delta=text)


def stream(text, message):
    for i in range(int(text)):
        message.delta(f"{i + 1} ")
        time.sleep(0.05)


def think(text, message):
    say(message.id, reasoning=f"thinking about {text}")
    return f"thought about {text}"


def progress(text, message):
    say(message.id, progress=1, total=2, message="half way")
    return "done"


def wait(text, message):
    message.delta("waiting")
    message.cancelled.wait()
    note("cancelled")


def approve(text, message):
    say(message.id, approve={"request": "1", "tool": "write_file", "arguments": {"path": text}})
    until(lambda: message.id in decisions)
    decision = decisions.pop(message.id)
    return f"saved {text}" if decision["approved"] else f"not saved: {decision.get('reason', '')}"


def files(text, message):
    texts = [urllib.request.urlopen(file["url"]).read().decode() for file in message.line["attachments"]]
    read = "\n".join(texts)
    say(message.id, attach=[{"name": "upper.txt", "content_type": "text/plain", "text": read.upper()}])
    return read


def meet(text, message):
    until(lambda: begun[f"meet {text}"] >= int(text))
    return f"met {text}"


def fail(text, message):
    raise ValueError(text)


def hold(text, message):
    message.delta("held ")
    until(lambda: begun[f"release {text}"] > 0)
    return f"attempt {message.line['attempt']}"


def slow(text, message):
    message.delta(f"{ME} ")
    time.sleep(int(text) / 1000)
    return f"attempt {message.line['attempt']}"


tools = {
    "who": lambda text, message: ME,
    "count": lambda text, message: str(begun[text]),
    "stream": stream,
    "think": think,
    "progress": progress,
    "wait": wait,
    "approve": approve,
    "files": files,
    "meet": meet,
    "fail": fail,
    "hold": hold,
    "release": lambda text, message: "released",
    "slow": slow,
}


def answer(message):
    line = message.line
    arguments = line.get("arguments", {})
    if line.get("tool") == "add":
        note("add")
        return {"reply": str(arguments["a"] + arguments["b"])}
    if line.get("tool") == "echo":
        return {"reply": "", "structured": arguments}
    if "tool" in line:
        name, text = line["tool"], arguments.get("text", "")
    else:
        name, _, text = line.get("text", "").partition(" ")
    if name not in tools:
        message.delta("you said: ")
        return {"reply": line.get("text", "")}
    note(name, f"{name} {text}")
    return {"reply": tools[name](text, message) or ""}


def work(message):
    try:
        end = answer(message)
    except Exception as err:
        end = {"error": str(err)}
    say(message.id, **end)
    cancels.pop(message.id, None)


number = {"type": "integer"}
declared = [
    {
        "name": "add",
        "description": "Adds two numbers.",
        "inputSchema": {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]},
    },
    {"name": "echo", "description": "Returns its arguments."},
]
schema = {"type": "object", "properties": {"text": {"type": "string"}}}
print(json.dumps({"declare": {"tools": declared + [{"name": name, "inputSchema": schema} for name in tools]}}), flush=True)

for line in map(json.loads, sys.stdin):
    if "cancel" in line:
        if line["id"] in cancels:
            cancels[line["id"]].set()
    elif "decision" in line:
        with more:
            decisions[line["id"]] = line["decision"]
            more.notify_all()
    else:
        threading.Thread(target=work, args=[Message(line)], daemon=True).start()
