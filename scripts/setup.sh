#!/usr/bin/env bash
# Installs what `make test` needs and this machine lacks; with the word clients, what
# `make clients` needs as well. Safe to run at any time: when everything is there it says
# so and ends at once.
set -euo pipefail

say() { printf 'setup: %s\n' "$*"; }
has() { command -v "$1" >/dev/null 2>&1; }

# The store's tests start a PostgreSQL of their own from these binaries, unless they are
# pointed at a server that runs already.
has_postgres() {
  [ -n "${BEEOS_TEST_POSTGRES:-}" ] || has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

if ! has go; then
  say 'Go is missing. Install Go 1.26 or later from https://go.dev/dl, then run this again.' >&2
  exit 1
fi

missing=()
has_postgres || missing+=(postgresql)
has gcc      || missing+=(gcc libc6-dev) # the race detector links with it
has make     || missing+=(make)
has curl     || missing+=(curl)
has openssl  || missing+=(openssl)
has jq       || missing+=(jq)
has python3  || missing+=(python3) # an example in docs/how-to/agents.md
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv) # clients that other people wrote
has npm      || missing+=(npm) # official MCP clients and suite; they bring the Node they need
has java     || missing+=(default-jre-headless) # a generator of clients
has chromium || has google-chrome || missing+=(chromium) # the console's pages are tested in a real browser
has promtool && has prometheus || missing+=(prometheus) # alert rules and dashboard are tested against the real one
if [ "$(uname)" = Linux ]; then # elsewhere nothing is installed from packages of ours
  has systemd-analyze || missing+=(systemd) # the unit is read by the real one
  has rpm             || missing+=(rpm) # make packages looks into the package
fi
has nginx || [ -x /usr/sbin/nginx ] || missing+=(nginx) # the sample files for proxies are tested behind the real one

if [ "${1:-}" = clients ]; then
  has bwrap  || missing+=(bubblewrap) # connect --acp --sandbox confines programs with it
fi

if [ ${#missing[@]} -eq 0 ]; then
  say 'everything is here'
  exit 0
fi

if ! has apt-get; then
  say "missing: ${missing[*]}. Install them with this system's package manager" >&2
  say '(macOS: brew install postgresql jq python3 prometheus), then run this again.' >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! has sudo; then
    say "missing: ${missing[*]}. Run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

# Tests start what they need themselves, so no package may start a service. Debian asks this
# file before it does; where there is one already, its owner has decided.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

say "installing ${missing[*]}"
"${as_root[@]}" apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -qq install --yes --no-install-recommends "${missing[@]}" >/dev/null
say 'done'
