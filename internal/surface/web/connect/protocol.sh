gateway=GATEWAY

# A key pair, and the consent of its owner: once.
openssl genpkey -algorithm ed25519 -out agent.pem
public=$(openssl pkey -in agent.pem -pubout -outform DER | tail -c 32 | base64)
instance=$(curl -sf "$gateway/api/v1/agents/join" -H 'Content-Type: application/json' \
  -d JOIN | jq -r .data.instance_id)

# signed METHOD PATH BODY: sends a signed request, prints the answer
signed() {
  local time nonce hash signature
  time=$(date +%s) nonce=$(openssl rand -hex 16)
  hash=$(printf '%s' "$3" | openssl dgst -sha256 -r | cut -d' ' -f1)
  printf '%s\n%s\n%s\n%s\n%s' "$1" "$2" "$hash" "$time" "$nonce" >to-sign
  signature=$(openssl pkeyutl -sign -rawin -inkey agent.pem -in to-sign | base64 -w0)
  curl -sf -X "$1" "$gateway$2" -H "Authorization: Ed25519 $instance:$time:$nonce:$signature" \
    -H 'Content-Type: application/json' --data-binary "$3"
}

# What it is, and then: frames in, frames out.
signed POST /api/v1/agents/sync SYNC
connection=
while frames=$(signed GET "/api/v1/agents/poll?agents=NAME&connection=$connection" ''); do
  while read -r frame; do
    case $(jq -r .type <<<"$frame") in
    hello)
      connection=$(jq -r .connection_id <<<"$frame") ;;
    chat_message)
      signed POST "/api/v1/agents/frames?connection=$connection" \
        "$(jq -c '{type: "reply", message_id, body: ("you said: " + .body)}' <<<"$frame")" ;;
    esac
  done <<<"$frames"
done
