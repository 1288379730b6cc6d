// Package docs tests that the documentation is true: it runs the commands, queries and
// programs of README.md and of the pages below docs/, parses their JSON and Go, follows all
// links, and compares the pictures with what Dendro draws.
//
// The pages listed as sessions show commands with their output (package test/session).
// In the other pages, a fenced block is run if its language is sh, sql or python. It is
// run in the order of the page, in a folder with the store of `dendro demo`
// (dendro.duckdb), two of its profiles (before.pb.gz, after.pb.gz) and all of them
// (profiles/). A block that cannot be run has the word fragment after its language.
// Pages whose blocks need other surroundings (agents, a server, Neo4j) have tests there:
// see elsewhere.
//
// The package has no code outside of its tests.
package docs
