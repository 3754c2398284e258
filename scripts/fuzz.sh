#!/usr/bin/env bash
# Runs every fuzz target for a while, one after the other, and then a fuzzer of REST surfaces:
# scripts/fuzz.sh [30s]
# The seeds run with `go test` anyway; an input that fails is kept in testdata and should be
# committed with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-30s}

grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r dir; do
  for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -d' ' -f2 | sort); do
    printf '%s %s\n' "$dir" "$target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$each" "$dir"
  done
done

# Requests made up from api/openapi.yaml, against a real server.
printf './test/sdk TestSchemathesis\n'
go test -tags fuzz -run '^TestSchemathesis$' ./test/sdk
