# Nothing here is needed to build or test: `go build ./... && go test ./...` always works
# (scripts/setup.sh installs what the tests use). The targets only save typing.

GO        ?= go
TOOL       = $(GO) tool -modfile=tools/go.mod
TIMEOUT   ?= 40m
FUZZTIME  ?= 30s
# Tests wait more than they compute, so there are two packages more at a time than processors. The race
# detector watches our code; in SQLite, which is C made into Go, it would find nothing of ours and cost
# four fifths of the time.
AT_ONCE   := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
RACE       = -race -p $(AT_ONCE) -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false -timeout $(TIMEOUT)
# The longest come first: at the end there is then none that everything waits for.
PACKAGES   = ./test/faults ./test/console ./internal/cli ./test/clients ./test/hands ./internal/surface/web ./internal/surface/mcp ./...

.DEFAULT_GOAL := help
.PHONY: help build test race lint format vuln bench conformance clients fuzz hostile silence kills walk traces adapters address litestream backups dev docs release packages charts upgrade setup clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Compile everything, and the program into bin/beeos
	$(GO) build ./...
	$(GO) build -trimpath -o bin/beeos ./cmd/beeos

test: setup lint ## What CI runs: set-up, lint, build, MCP conformance, every test with the race detector
	$(GO) build ./...
	$(GO) run ./test/conformance
	$(GO) run ./test/conformance -bridge
	$(GO) test -run 'TestThousandConversations|SmallStacks|IdleAgentsAreCheap' ./internal/outward/builtin ./internal/surface/agentgateway ./internal/surface/mcp ./internal/surface/rest # weights, which the race detector would change
	$(GO) test $(RACE) -vet=off -ldflags=-w $(PACKAGES) # lint has vetted it

race: setup ## Every test with the race detector, nothing else
	$(GO) test $(RACE) $(PACKAGES)

lint: ## Formatting, go vet, staticcheck
	@unformatted=$$($(TOOL) gofumpt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted; run: make format"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...

format: ## Rewrite the Go files in gofumpt's format
	$(TOOL) gofumpt -w .

vuln: ## Known vulnerabilities in what we import (asks the Go vulnerability database)
	$(TOOL) govulncheck ./...

bench: setup ## Measure calls and memory against a bare server; writes docs/reference/benchmarks.md
	$(GO) run ./test/bench -o docs/reference/benchmarks.md

conformance: setup ## The official suites of MCP and A2A; writes docs/reference/conformance.md
	$(GO) run ./test/conformance -o docs/reference/conformance.md
	$(GO) run ./test/conformance -fixture python -o docs/reference/conformance.md
	$(GO) run ./test/conformance -fixture typescript -o docs/reference/conformance.md
	$(GO) run ./test/tck -o docs/reference/conformance.md

clients: ## Every client in docs/reference/clients.md, also those that take minutes to install; needs Linux, for bubblewrap
	@scripts/setup.sh clients
	$(GO) vet -tags clients ./test/frameworks ./test/sdk ./test/acp ./test/typescript ./test/pythonsdk ./internal/outward/bridge/acp
	$(GO) test -tags clients -timeout 60m -v ./test/clients ./test/frameworks ./test/sdk ./test/acp
	$(GO) test -tags clients -v -run Sandbox ./internal/outward/bridge/acp
	$(GO) test -tags clients -timeout 30m -v -run TestRuntimes ./test/typescript # agents on Bun and Deno
	$(GO) test -tags clients -timeout 30m -v -run TestOldestPython ./test/pythonsdk # the SDK on Python 3.10
	$(GO) build -o bin/check ./examples/check && $(GO) run ./cmd/beeos agent check --kills 20 --timeout 3m bin/check
	CHECK_KILLS=20 $(GO) test -count=1 -v -run 'TestPythonSDK/check|TestCheck' ./test/pythonsdk ./test/typescript

fuzz: ## Fuzz every target for FUZZTIME each (30s), and the REST surface for 90s
	scripts/fuzz.sh $(FUZZTIME)

walk: setup ## Look at every page of the console, four ways, full of a mixed load; takes minutes
	$(GO) vet -tags walk ./test/console
	$(GO) test -tags walk -count=1 -v -timeout 30m -run TestWalk ./test/console

hostile: ## Attack a server and its bridges; needs a quiet machine: others' calls must not slow down
	$(GO) vet -tags hostile ./test/faults
	FAULTS_STRICT=1 $(GO) test -tags hostile -count=1 -v -timeout 30m -run 'Hostile|HalfSent' ./test/faults

silence: setup ## Freeze PostgreSQL under load and promote its standby; set one node's clock wrong; takes minutes
	$(GO) vet -tags silence ./test/faults
	$(GO) test -tags silence -count=1 -v -timeout 30m -run 'Silent|Clock|Frozen|Descriptors' ./test/faults

kills: setup ## Kill a busy server fifty times on each database: what was acknowledged is there, and usage is what the answers took
	FAULTS_KILLS=50 $(GO) test -count=1 -v -timeout 30m -run 'TestServerKilled|TestServerOnPostgresKilled' ./test/faults

address: ## One address with certificates of a real authority (pebble), and behind the real Caddy, from test/address/programs
	cd test/address/programs && $(GO) build -o $(CURDIR)/bin/address/ tool
	$(GO) vet -tags address ./test/address
	BEEOS_TEST_PROGRAMS=$(CURDIR)/bin/address $(GO) test -tags address -count=1 -v -timeout $(TIMEOUT) ./test/address

litestream: ## Copy the database of a busy server with the real Litestream, built from test/litestream, and go on with the copy
	cd test/litestream && $(GO) build -o $(CURDIR)/bin/litestream github.com/benbjohnson/litestream/cmd/litestream
	$(GO) vet -tags litestream ./test/faults
	BEEOS_TEST_LITESTREAM=$(CURDIR)/bin/litestream $(GO) test -tags litestream -count=1 -v -timeout $(TIMEOUT) -run TestContinuousCopy ./test/faults

backups: setup ## Back up a busy server twenty times on each database, restore and verify each; needs a machine that answers 200 calls a second
	FAULTS_BACKUPS=20 $(GO) test -count=1 -v -timeout $(TIMEOUT) -run TestBackupsUnderLoad ./test/faults

traces: ## The tests of traces against a real OpenTelemetry Collector, built from test/collector
	cd test/collector && $(GO) vet . && $(GO) build -o $(CURDIR)/bin/collector .
	BEEOS_TEST_COLLECTOR=$(CURDIR)/bin/collector $(GO) test -count=1 -v -timeout $(TIMEOUT) -run "Trace|Span|Entries|Unsampled" ./test/faults ./internal/app ./internal/telemetry/trace ./internal/engine/calltrace

adapters: setup ## Serve what each framework makes, with scripted models; installs gigabytes, takes minutes
	$(GO) vet -tags adapters ./test/pythonsdk ./test/typescript
	$(GO) test -tags adapters -count=1 -v -timeout 90m -run TestAdapters ./test/pythonsdk ./test/typescript

dev: ## Everything on this machine, with a demo agent
	$(GO) run ./cmd/beeos dev

docs: ## Write the generated pages, check all of them
	$(GO) test ./internal/config ./api ./docs -update
	$(GO) test -run TestDocs . -update
	$(GO) test ./test/reference -update
	$(GO) test ./test/docs

release: ## Everything that a version is shipped as, into dist/ (VERSION=1.2.3; see RELEASING.md)
	$(GO) run -C tools ./release -version "$(VERSION)" -out ../dist

packages: setup ## As root: make what is shipped for this machine from the last commit, twice, and try it: same bytes, installer, deb, rpm, image
	@[ "$$(id -u)" -eq 0 ] || { echo 'only root can install packages and change the root folder; run: sudo -E env PATH="$$PATH" make packages'; exit 1; }
	cd test/address/programs && $(GO) build -o $(CURDIR)/bin/address/ github.com/letsencrypt/pebble/v2/cmd/pebble github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv
	$(GO) vet -tags release ./test/deploy
	BEEOS_TEST_PROGRAMS=$(CURDIR)/bin/address $(GO) test -tags release -count=1 -v -timeout 60m ./test/deploy

charts: ## Lint and render the Helm chart, read it with the types of Kubernetes, and the Compose files with the library of Compose
	$(GO) test -C tools/charts -timeout 30m ./...

upgrade: setup ## Replace nodes of the version before one by one under load, and go back; restart and kill today's; needs the history
	$(GO) vet -tags upgrade ./test/upgrade
	$(GO) test -tags upgrade -count=1 -v -timeout 30m -run 'Rolling|WayBack|FirstSDK|Restarts' ./test/upgrade

setup: ## Install what the tests need and is missing
	@scripts/setup.sh

clean: ## Remove what was built and measured (never your data)
	rm -rf bin dist coverage.* *.prof *.test
