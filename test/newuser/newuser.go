// Package newuser plays the first hour of three new users, each from a fresh clone: an
// engineer gets a gate that fails on a regression in a repository of theirs, an operator
// sends a report, and a researcher has the share of a function over runs as a DataFrame.
// Others play a week of work on benchmarks in Go, Python, C++, Java, Rust and JavaScript, with the
// real frameworks and profilers: record base and branch in turns, check, look, accept, prune,
// export. They know only the README, the pages of docs/start, and what these name. It has
// tests only.
package newuser
