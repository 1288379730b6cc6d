// Package regression finds what got slower between the runs of a benchmark: where,
// since when, by how much, how surely, and what it could have been and is not.
//
//	store ──history──▶ matrix ──Prepare──▶ Rows ──Compare──▶ Analysis ──Find──▶ Result
//	                   counts by call      all sums that     one choice of     the newest run,
//	                   node and run        may change        tested runs       two together, or a scan
//
// Words: the history is the runs before the tested ones; a row is a sum of samples
// that may change as one (a function, a call node, a pair of caller and callee,
// self or total); a place is the row that explains a change; a Finding is a change
// in words and numbers.
//
// A comparison is fit.go (levels, noise, scores, after sizefactor.go), pursuit.go
// (the fewest places that explain all differences), moved.go (work that only
// changed its place), verdict.go (threshold of the benchmark's own history),
// merge.go (one change, one finding) and report.go (findings). Find asks a store;
// Rows.Compare judges any two sets of runs.
//
// An older method stays beside it: Thesis, the time series score. It ranks and does
// not judge. Correlation over many benchmarks is in package bottleneck.
//
// Formulas, parameters, limits and sources are in docs/method/regression.md. The
// same input gives the same bytes. Nothing here prints, gates or reads files; a
// history that is too short or broken is a reason in the answer, not an error.
//
// Preparing costs time in proportion to call nodes × runs, a comparison to rows ×
// runs, and to the history once more where something was found.
package regression
