# `make` alone prints the targets. Go and a C compiler are enough for all of
# them but test-real, which says what it needs.

GO        ?= go
FUZZTIME  ?= 10s
BENCHARGS ?=

# One setting for everything, so that builds, tests and tools share what they
# have compiled.
export GOFLAGS := $(GOFLAGS) -trimpath

.PHONY: help build demo test race test-real real-neo4j real-newest real-servers lint fuzz bench bench-readers bench-views bench-traces bench-neo4j bench-detection bench-full golden clean

help: ## print the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/dendro
	$(GO) build -o bin/dendro ./cmd/dendro

demo: build ## build, import real profiles, show the planted regression
	@bin/dendro demo

test: ## all tests that need only Go and a C compiler
	$(GO) vet ./...
	$(GO) test ./...
	cd test/bench && $(GO) test ./...

race: ## the concurrent packages under the race detector
	$(GO) test -race ./internal/ingest/... ./store/mem/... ./store/remote/... ./calltree/... ./profile ./normalize ./format/... ./traceprof/... ./internal/server/...

test-real: build ## tests against real servers, agents and readers (needs python3 with venv, Java 17, Maven; of Neo4j's newest release where Java 21 is there)
	test/real/run
	$(MAKE) -j2 --output-sync=target real-neo4j real-newest real-servers

real-neo4j: # the graph engine beside its server, which mostly waits for a disk: others run meanwhile
	$(GO) run ./test/neo4j -heap 1g -- $(GO) test -count=1 -timeout 30m ./store/neo4j/...

real-newest: # the smoke part beside the newest release
	$(GO) run ./test/neo4j -release newest -heap 1g $(if $(DENDRO_REQUIRE_NEWEST),,-optional) -- $(GO) test -short -count=1 -p 1 -timeout 30m \
	  -run 'TestStore/shared|TestModels|TestCypher|TestKeys|TestReplaced|TestBulk/shared' ./store/neo4j ./test/neo4j/e2e

real-servers: # the binary with servers and agents
	DENDRO_TEST_REAL=1 $(GO) test -count=1 -p 1 -timeout 30m ./test/neo4j/... ./test/kafka ./test/agents

lint: ## gofmt, vet, staticcheck, import and documentation rules
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt-ed:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...
	$(GO) test ./internal/archtest

fuzz: ## every fuzz target for FUZZTIME (10s)
	@set -e; for pkg in $$($(GO) list ./...); do \
	  dir=$$($(GO) list -f '{{.Dir}}' $$pkg); \
	  for f in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go 2>/dev/null | sed 's/func //' | sort -u); do \
	    echo "== $$pkg $$f"; $(GO) test $$pkg -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x; \
	  done; done

bench: ## the benchmarks of docs/benchmarks.md, at most 10 minutes
	cd test/bench && $(GO) run ./cmd/bench $(BENCHARGS)

bench-readers: ## every reader against a named alternative (JFRCONV=jfr-converter.jar adds jfrconv)
	cd test/bench && $(GO) test -run '^$$' -bench Readers -benchtime 3x -benchmem .
	$(GO) test ./format/... -run '^$$' -bench Decode -benchtime 3x -benchmem

bench-views: ## views, transforms and diffs of a million samples
	$(GO) test ./calltree -run '^$$' -bench 'View|Transform|Invert|Lists|ThreadDumps|Compare' -benchtime 3x -benchmem

bench-traces: ## trace profiling: analysis, intake, agents, GraphQL
	$(GO) test ./traceprof -run '^$$' -bench . -benchtime 20x
	$(GO) test ./store/duckdb -run '^$$' -bench 'Intake|ReadSnapshots' -benchtime 20x
	$(GO) test ./internal/server/skywalking -run '^$$' -bench Snapshots -benchtime 600000x
	$(GO) test ./internal/server/skywalking -run '^$$' -bench Agents -benchtime 1x
	$(GO) test ./internal/server/skywalking/graphql -run '^$$' -bench Analyze -benchtime 5x

bench-neo4j: ## the graph engine against the thesis's import, and its questions (needs Java 17, Maven)
	$(GO) run ./test/neo4j -heap 2g -pagecache 1g -- $(GO) test ./store/neo4j -run '^$$' -bench 'Import|Ask' -benchtime 1x -timeout 60m

bench-detection: ## how well regressions are detected; fails below the required figures
	$(GO) run ./test/detection/bench $(BENCHARGS)

bench-full: ## the 114 M node table too (hours of text, tens of minutes)
	cd test/bench && $(GO) run ./cmd/bench -full $(BENCHARGS)

golden: ## rewrite the golden files; read the difference before you commit it
	$(GO) test $$(grep -rl 'flag.Bool("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update

clean: ## remove what was built
	rm -rf bin dendro-demo.duckdb dendro-demo.duckdb.wal
