#!/usr/bin/env bash
# An agent in a shell: bash, curl and openssl 3, nothing else. It joins with a
# user key, declares itself, polls for messages and says them back.
#
#   AGENT_GATEWAY_URL=http://localhost:8083 BEEOS_KEY=oag_… examples/curl/agent.sh [name]
#
# On the machine of `beeos dev`, run it in the same folder and set nothing.
set -euo pipefail

name=${1:-curl-example}
dev=${BEEOS_DATA:-beeos-data}/dev.json

# member NAME reads a JSON object on stdin and prints one of its strings, as it
# stands there: escaped. That is all the JSON that this agent needs, because
# what it reads it only quotes again.
member() { { grep -oE "\"$1\" *: *\"([^\"\\\\]|\\\\.)*\"" | head -n 1 | sed -E 's/^"[^"]*" *: *"(.*)"$/\1/'; } || true; }

gateway=${AGENT_GATEWAY_URL:-$( { member agents <"$dev"; } 2>/dev/null || true)}
gateway=${gateway:-http://localhost:8083}
key=${BEEOS_KEY:-$( { member user_key <"$dev"; } 2>/dev/null || true)}
if [ -z "$key" ]; then
  echo "No credential: run 'beeos dev' here, or set BEEOS_KEY to a user key (oag_...)." >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An identity for as long as this script runs.
openssl genpkey -algorithm ed25519 -out "$work/key.pem" 2>/dev/null
public=$(openssl pkey -in "$work/key.pem" -pubout -outform DER | tail -c 32 | base64 | tr -d '\n')
instance=$(curl -sS --fail-with-body "$gateway/api/v1/agents/join" \
  -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
  -d "{\"name\":\"$name\",\"public_key\":\"$public\"}" | member instance_id)

# signed METHOD PATH [BODY] sends a request that carries this instance's
# signature over its method, path, body, time and a nonce.
signed() {
  local method=$1 path=$2 body=${3-} time nonce hash signature
  time=$(date +%s)
  nonce=$(openssl rand -hex 16)
  printf %s "$body" >"$work/body"
  hash=$(openssl dgst -sha256 -r "$work/body" | cut -d ' ' -f 1)
  printf '%s\n%s\n%s\n%s\n%s' "$method" "$path" "$hash" "$time" "$nonce" >"$work/text"
  signature=$(openssl pkeyutl -sign -rawin -inkey "$work/key.pem" -in "$work/text" | base64 | tr -d '\n')
  curl -sS --fail-with-body -X "$method" "$gateway$path" \
    -H "Authorization: Ed25519 $instance:$time:$nonce:$signature" \
    -H 'Content-Type: application/json' ${body:+--data-binary "@$work/body"}
}

signed POST /api/v1/agents/sync "{\"agents\":[{\"name\":\"$name\",\"description\":\"A shell script.\"}]}" >/dev/null

connection=
while frames=$(signed GET "/api/v1/agents/poll?wait=30s&connection=$connection"); do
  while IFS= read -r frame; do
    case $(member type <<<"$frame") in
    hello)
      connection=$(member connection_id <<<"$frame")
      echo "$name is connected to $gateway" >&2
      ;;
    chat_message)
      id=$(member message_id <<<"$frame")
      text=$(member body <<<"$frame")
      signed POST "/api/v1/agents/frames?connection=$connection" \
        "{\"type\":\"reply\",\"message_id\":\"$id\",\"body\":\"you said: $text\"}" >/dev/null
      ;;
    esac
  done <<<"$frames"
done
