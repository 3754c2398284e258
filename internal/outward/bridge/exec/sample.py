import json, sys

for line in sys.stdin:
    message = json.loads(line)
    if "cancel" not in message:
        print(json.dumps({"id": message["id"], "reply": "you said: " + message.get("text", "")}), flush=True)
