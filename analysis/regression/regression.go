// Package regression finds what became slower between the runs of a benchmark: where,
// since when, by how much, with what confidence, and which other causes are ruled out.
//
//	store ──history──▶ matrix ──Prepare──▶ Rows ──Compare──▶ Analysis ──Find──▶ Result
//	                   counts by call      all sums that     one choice of     the newest run,
//	                   node and run        may change        tested runs       two together
//
// Terms: the history is the runs before the tested ones; a row is a sum of samples
// that may change as one (a function, a call node, a pair of caller and callee,
// self or total); a place is the row that explains a change; a Finding describes a
// change.
//
// Files are in layers, each of which uses those below only (internal/archtest/layers.txt): rows, noise
// and size of runs, search for places, what places mean, findings, benchmarks of a store. Find reads a
// store; Rows.Compare compares any two sets of runs.
//
// Thesis is the method of the paper, a time series score that ranks without a verdict.
// Correlation over many benchmarks is in package bottleneck.
//
// Formulas and sources are in METHOD.md, parameters and limits in docs/method/regression.md. Results
// are reproducible. A history that is too short or unusable gives a reason in the
// result, not an error.
//
// Preparing costs time proportional to call nodes × runs, a comparison to rows × runs,
// and, if something was found, to the history once more.
package regression
