# `make` alone prints the targets. Go and a C++ compiler are enough for build, demo,
# lint, test, race, fuzz and bench; smoke and test-real say what they need. Nothing but
# install and release compiles with flags of its own, so that `go test ./PACKAGE` shares what they compile.

GO        ?= go
FUZZTIME  ?= 10s
SOAK      ?= 10m
BENCHARGS ?=

# Thirty test binaries contain DuckDB, and each is linked anew. Gold, where it is, takes a quarter less time for it.
LINK      := $(if $(shell command -v ld.gold),-ldflags=-extldflags=-fuse-ld=gold)

# What `make fuzz-changed` compares with.
BASE      ?= $(shell git rev-parse -q --verify origin/main >/dev/null && echo origin/main || echo main)

# What npm installed, as it says itself.
NODE      := web/node_modules/.package-lock.json

# Modules of their own.
MODULES   := $(patsubst %/go.mod,%,$(filter-out go.mod tools/go.mod,$(shell git ls-files '*go.mod' ':!*testdata*')))

.PHONY: help build install release demo lint test test-packages test-modules python-test spark-test spark-nightly race race-packages race-agent race-all test-large soak smoke smoke-neo4j smoke-servers smoke-timed nightly nightly-needs test-real real-neo4j real-newest real-servers fuzz fuzz-changed bench bench-smoke bench-readers bench-views bench-page bench-traces bench-continuous bench-neo4j bench-graph bench-detection image-test detection-record bench-full golden pictures web web-test web-e2e web-all web-many web-fresh clean

help: ## print the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Go's cache of tests knows the binary by its time, which a build sets even if nothing has changed: then it gets
# the time before back.
build: ## build bin/dendro
	@mkdir -p bin; touch -r bin/dendro bin/.before 2>/dev/null; $(GO) tool buildid bin/dendro > bin/.id 2>/dev/null; true
	$(GO) build -o bin/dendro ./cmd/dendro
	@$(GO) tool buildid bin/dendro | cmp -s - bin/.id && touch -r bin/.before bin/dendro; rm -f bin/.before bin/.id

# What releases have and debuggers miss: no symbols, also none of DuckDB's for libraries
# that a program could load, and the version.
HIDDEN    := -extldflags "-Wl,--exclude-libs,ALL"
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# What it contains is neither make's nor the shell's: it may be the name of a tag.
override VERSION := $(if $(filter file,$(origin VERSION)),$(VERSION),$(value VERSION))
export VERSION
STRIPPED  := -ldflags '-s -w -X github.com/dendroprof/dendro/app/internal/cli/command.version='"$$VERSION"' $(if $(filter Linux,$(shell uname -s)),$(HIDDEN))'
PREFIX    ?= /usr/local
SHARE     := $(DESTDIR)$(PREFIX)/share

install: ## install binary, man pages and completions below PREFIX (/usr/local)
	$(GO) build -trimpath $(STRIPPED) -o bin/dendro ./cmd/dendro
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 bin/dendro $(DESTDIR)$(PREFIX)/bin/dendro
	bin/dendro manual $(SHARE)/man/man1
	bin/dendro completion bash > $(SHARE)/bash-completion/completions/dendro
	bin/dendro completion zsh > $(SHARE)/zsh/site-functions/_dendro
	bin/dendro completion fish > $(SHARE)/fish/vendor_completions.d/dendro.fish

release: ## dist/dendro-VERSION-linux-ARCH.tar.gz and .deb (ARCH=amd64 or arm64, with a C++ compiler for it)
	tools/release $(ARCH)

image-test: # the steps of the Dockerfile in an empty Debian system, and its server (root, mmdebstrap)
	rm -f dist/*.deb
	$(MAKE) release
	tools/image-test

demo: build ## build, import real profiles, show the planted regression
	@bin/dendro demo

lint: ## gofmt, vet, staticcheck
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt-ed:"; echo "$$bad"; exit 1; }
	$(GO) vet ./...
	@set -e; for m in $(MODULES); do echo "cd $$m && $(GO) vet ./..."; (cd $$m && $(GO) vet ./...); done
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

test: build ## all tests that need only Go and a C++ compiler
	$(MAKE) -j 2 test-packages test-modules

# The longest begin first: pages that record benchmarks, and tests of the program as a process, which wait beside
# packages that compute.
test-packages: build
	DENDRO_TEST_BINARY=$(CURDIR)/bin/dendro $(GO) test -vet=off $(LINK) -p 3 -timeout 30m ./test/docs ./test/server ./test/e2e ./...

test-modules: # most of their time is that of agents that wait
	@set -e; for m in $(MODULES); do echo "cd $$m && $(GO) test ./..."; (cd $$m && $(GO) test -vet=off ./...); done

spark-test: build ## a lake and the Parquet tables in PySpark (python3 with venv, Java 17, Maven)
	tools/spark-test

spark-nightly: build # a lake of 2,000 profiles: Spark's answers and dendro's, with time and memory of both
	tools/spark-test 2000

# The packages in which goroutines meet (internal/archtest compares the list with the sources, and says who
# else runs the rest); query/judge is the road to the parallel analyses, server/pyroscope to the intake. Servers under
# attack wait, the longest first: four packages at once keep two processors busy.
RACE = ./app/internal/server ./profile ./calltree ./calltree/diff ./traceprof ./internal/groupcommit ./format ./format/goroutine ./ingest ./continuous/intake ./continuous/merged ./store/mem ./query/document ./query/judge ./app/internal/client ./app/internal/server/api ./app/internal/server/connect ./app/internal/server/fleet ./app/internal/server/otlp ./app/internal/server/pushes ./app/internal/server/pushes/functions ./app/internal/server/pyroscope ./app/internal/server/receiver ./app/internal/server/skywalking ./app/internal/server/skywalking/graphql ./app/internal/server/skywalking/graphql/exec ./app/internal/server/skywalking/kafka ./app/internal/server/upkeep
race: ## the packages in which goroutines meet under the race detector
	$(MAKE) -j 2 race-packages race-agent

race-packages:
	$(GO) test -vet=off -race -p 4 -timeout 30m -skip '$(SEQUENTIAL)' $(RACE)

race-agent:
	cd agent && $(GO) test -vet=off -race ./... && $(GO) test -vet=off -tags dendro_portable .

# Tests of one goroutine that take long, or more memory, under the race detector, for `make race` to
# skip; `make nightly` runs nearly all of them under it.
SEQUENTIAL = ^Test(UIs|Documents|Bound|CutAlongLayout|ManyVanished|ManyRenames|NumbersAsTexts|EntriesAreCounted|Hostile|HostileLayers|HostilePush|LongNames|NestedBomb|ManyMembers|MaxFrames|MaxMemory.*|Memory|Mutations|Bombs?|UnpackerIsBounded|TextBomb|BroadAndDeep|Allocations|DeepStacks|DeepViews|DiffOfDeepStacks)$$

race-all: export DENDRO_ALL = 1
race-all: # every package, every test but those that a duration fails
	$(GO) test -vet=off -race -timeout 60m -skip '^Test(TextBomb|BroadAndDeep|RulesThatMultiply)$$' ./...
	@set -e; for m in $(MODULES); do echo "cd $$m && $(GO) test -race ./..."; (cd $$m && $(GO) test -vet=off -race -timeout 60m ./...); done

test-large: # queries while a store of 3,000 profiles, 33 million call nodes, is compacted or pruned
	$(GO) test -vet=off -count=1 -v -timeout 60m ./store/duckdb -run QueriesWhile -bench-runs 300

python-test: build ## the Python package, and pandas, polars and DuckDB on files (python3 with venv)
	tools/python-test

# These tests would each build the binary of the sources otherwise.
smoke-neo4j smoke-servers smoke-timed real-servers: export DENDRO_TEST_BINARY = $(CURDIR)/bin/dendro

smoke: build ## one test of each real server, agent and reader (needs what test-real needs; part of every check)
	test/real/run
	tools/sarif-test
	$(MAKE) -j 2 --output-sync=target smoke-neo4j smoke-servers
	$(MAKE) smoke-timed

smoke-neo4j: build # what Neo4j answers to the engine and to the researcher's page
	$(GO) run ./test/neo4j -heap 1g -- $(GO) test -vet=off $(LINK) -short -count=1 -p 1 -timeout 20m -run '$(SMOKE)' ./store/neo4j ./test/neo4j/e2e

SMOKE = TestStore/shared/(One|Many|Runs|Queries|Conflict|Delete|Concurrent)|TestModels|TestCypher|TestSize|TestStartPage

# Most of their time is that of a start, an election or a lease, so that three run at once, beside Neo4j.
smoke-servers: build # Kafka, PostgreSQL, JMH
	DENDRO_TEST_REAL=1 $(GO) test -vet=off $(LINK) -short -count=1 -p 3 -timeout 20m ./test/fleet ./test/jmh ./app/internal/server/skywalking/kafka/broker ./test/lake

smoke-timed: build $(NODE) # agents, which wait, beside a pipeline and new users: they compare durations, so nothing else runs meanwhile
	DENDRO_TEST_REAL=1 $(GO) test -vet=off -short -count=1 -p 2 -timeout 20m -skip '$(TESTED)' ./test/agents ./test/pipeline ./test/newuser

# Tests of these packages that `make test` has run: they need neither real software nor a quiet machine.
TESTED = ^Test(Download|ReleaseTags|Pinned|InputsAreNoShell|Upgrade|Go|GoKilled|OnlyThePages)$$

nightly: nightly-needs test-real image-test spark-test spark-nightly race-all test-large soak fuzz bench bench-detection web-all ## everything that is too slow for every change; hours

nightly-needs: # says what nightly lacks before it begins
	@missing=$$(tools/missing nightly | tr '\n' ' '); test -z "$$missing" || { echo "make nightly lacks packages: apt install $$missing"; exit 1; }
	@test "$$(id -u)" = 0 || { echo "make nightly lacks root, for mmdebstrap and small disks"; exit 1; }
	@test -n "$$DENDRO_BOOSTER" -a -n "$$DENDRO_SKYWALKING_GO" || { echo "make nightly lacks DENDRO_BOOSTER and DENDRO_SKYWALKING_GO: folders (see CONTRIBUTING.md), or none"; exit 1; }
	$(GO) run ./test/neo4j -release newest -- true

test-real: build ## all tests against real servers, agents and readers (python3 with venv, Java 17 and 21, Maven)
	test/real/run
	$(MAKE) real-servers
	$(MAKE) real-neo4j
	$(MAKE) real-newest

real-neo4j: # the graph engine, both models
	$(GO) run ./test/neo4j -heap 1g -- $(GO) test -count=1 -timeout 60m ./store/neo4j/...

real-newest: # Neo4j's newest release
	$(GO) run ./test/neo4j -release newest -heap 1g -- $(GO) test -short -count=1 -p 1 -timeout 30m \
	  -run 'TestStore/shared|TestModels|TestCypher|TestKeys|TestReplaced|TestBulk/shared|TestGuide|TestStartPage' ./store/neo4j ./test/neo4j/e2e

# DENDRO_BOOSTER and DENDRO_SKYWALKING_GO name the built UI and the Go agent's release, or none: see test/agents.
real-servers: build $(NODE) # the binary with servers and agents
	DENDRO_TEST_REAL=1 $(GO) test -count=1 -p 1 -timeout 60m ./test/neo4j/... ./test/pipeline ./app/internal/server/skywalking/kafka/broker ./test/agents ./test/newuser ./test/jmh ./test/lake ./test/fleet ./test/pgo

soak: ## load a server for SOAK (10m): agents, imports, queries, kills, a full disk (Linux; root for the full disk)
	$(GO) test -vet=off -count=1 -v -timeout 3h -run TestSoak ./test/soak -soak $(SOAK)

fuzz: ## every fuzz target for FUZZTIME (10s)
	tools/fuzz $(FUZZTIME)

fuzz-changed: ## fuzz targets of packages that differ from BASE (origin/main), 2,000 inputs each
	tools/fuzz 2000x $(BASE)

bench-smoke: # a small run of the benchmark: engines must agree
	cd test/bench && $(GO) run ./cmd/bench -runs 4 -rounds 1 -repeats 2 -alone 3

bench: ## the benchmarks of test/bench/RESULTS.md, at most 10 minutes
	cd test/bench && $(GO) run ./cmd/bench $(BENCHARGS)

bench-readers: ## every reader against a named alternative (JFRCONV=jfr-converter.jar adds jfrconv)
	cd test/bench && $(GO) test -run '^$$' -bench Readers -benchtime 3x -benchmem .
	$(GO) test ./format/... -run '^$$' -bench Decode -benchtime 3x -benchmem

bench-views: ## views, transforms and diffs of a million samples
	$(GO) test ./calltree ./calltree/diff -run '^$$' -bench 'View|Transform|Invert|Lists|ThreadDumps|Compare' -benchtime 3x -benchmem

bench-traces: ## trace profiling: analysis, intake, agents, GraphQL
	$(GO) test ./traceprof -run '^$$' -bench . -benchtime 20x
	$(GO) test ./store/duckdb -run '^$$' -bench 'Intake|ReadSnapshots' -benchtime 20x
	$(GO) test ./app/internal/server/skywalking -run '^$$' -bench Snapshots -benchtime 600000x
	$(GO) test ./app/internal/server/skywalking -run '^$$' -bench Agents -benchtime 1x
	$(GO) test ./app/internal/server/skywalking/graphql -run '^$$' -bench Analyze -benchtime 5x

bench-continuous: ## windows of continuous profiles against a folder of pprof files (BENCHARGS='-services 1000' for the forest of that many, PUSHARGS='-services 1000 -pods 10' for the pushes of so many, HOURARGS='-services 1000 -hours 24' for the hours of a lake)
	cd test/bench && $(GO) test -v -run '^$$' -bench Continuous -benchtime 5x -timeout 30m . -args $(BENCHARGS)
	$(GO) test ./store/duckdb -run '^$$' -bench 'PushDuringRollUp|Retention' -benchtime 1x -timeout 30m
	$(GO) test ./app/internal/server/pushes -run '^$$' -bench 'Push|Gateway|Worker' -benchtime 2000x -args $(PUSHARGS)
	$(GO) test ./app/internal/server/pushes -run '^$$' -bench Memory -benchtime 1x -args -services 500
	$(GO) test -v ./store/duckdb/lake -run '^$$' -bench Hours -benchtime 1x -timeout 30m -args $(HOURARGS)

bench-neo4j: ## the graph engine against the thesis's import, and its questions (needs Java 17, Maven)
	$(GO) run ./test/neo4j -heap 2g -pagecache 1g -- $(GO) test ./store/neo4j -run '^$$' -bench 'Import|Ask' -benchtime 1x -timeout 60m

bench-graph: build ## the graph engine at the size of real histories (GRAPHARGS='-profiles 2000 -skip thesis'; needs Java 17, Maven, 4 GB of disk)
	cd test/bench && $(GO) run ./cmd/graph -dendro $(CURDIR)/bin/dendro $(GRAPHARGS)

bench-detection: ## how well regressions are detected; fails below the required figures
	$(GO) run ./test/detection/bench $(BENCHARGS)

detection-record: ## record the history of test/detection/recorded anew; tens of minutes
	$(GO) run ./test/detection/recorded/record

bench-full: ## the 114 M node table too (hours of text, tens of minutes)
	cd test/bench && $(GO) run ./cmd/bench -full $(BENCHARGS)

$(NODE): web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

web: $(NODE) ## build web/dist from the sources in web (Node 20)
	cd web && npm run build

web-test: $(NODE) ## types, lint and tests of the web pages (Node 20)
	cd web && npm run check && npm test

web-e2e: build $(NODE) ## the pages in a browser, against the binary (Node 20, chromium)
	cd web && DENDRO_TEST_BINARY=$(CURDIR)/bin/dendro npm run e2e

web-all: build $(NODE) ## the whole of web-e2e, with 10,000 benchmarks and the steps of speedscope (minutes)
	cd web && DENDRO_ALL=1 DENDRO_MANY=10000 DENDRO_TEST_BINARY=$(CURDIR)/bin/dendro npm run e2e

bench-page: build $(NODE) ## the page beside speedscope and d3-flame-graph, 100,000 and a million nodes (minutes)
	cd web && DENDRO_BENCH=1 DENDRO_TEST_BINARY=$(CURDIR)/bin/dendro npm run e2e bench-page

# How many benchmarks `make web-many` has.
MANY ?= 10000
web-many: build $(NODE) ## the first page of a store of MANY (10000) benchmarks in a browser; prints times (minutes)
	cd web && DENDRO_MANY=$(MANY) DENDRO_TEST_BINARY=$(CURDIR)/bin/dendro npm run e2e many

web-fresh: web # web/dist is what its sources build
	git diff --exit-code --stat web/dist
	@test -z "$$(git status --porcelain web/dist)" || { git status --short web/dist; exit 1; }

pictures: build $(NODE) ## write docs/pictures, and every page at three widths and two themes to bin/pictures, to be looked at
	$(GO) test ./test/docs -run TestPictures -update
	cd web && DENDRO_PICTURES=$(CURDIR)/docs/pictures DENDRO_GALLERY=$(CURDIR)/bin/pictures DENDRO_TEST_BINARY=$(CURDIR)/bin/dendro npm run e2e pictures gallery

golden: ## rewrite the golden files; read the difference before you commit it
	$(GO) test $$(grep -rl 'flag.Bool("update"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update

clean: ## remove what was built
	rm -rf bin dist dendro-demo.duckdb dendro-demo.duckdb.wal
