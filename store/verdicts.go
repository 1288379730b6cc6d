package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// VerdictKeeper is implemented by engines that keep what an analysis derived from the runs
// of a benchmark, so that the next query does not compute it again. An engine knows nothing
// of a verdict: who reads it compares its stamp with what it would rest on now. A verdict is
// derived data: a copy of a store begins without, and who cannot keep one computes it.
type VerdictKeeper interface {
	// Verdicts lists the verdicts of benchmarks, of all if none is named, by benchmark and
	// key, as they are at one time.
	Verdicts(ctx context.Context, of []testrun.Benchmark) (Verdicts, error)

	// KeepVerdicts replaces all verdicts of each benchmark of the list with those in the
	// list. It skips a benchmark that is not stored. Verdicts of a benchmark vanish with it;
	// no other change of the store touches them. The zero benchmark is that of verdicts on what
	// has no runs: engines that store pushed profiles keep them, others skip them.
	KeepVerdicts(ctx context.Context, list []Verdict) error
}

// Verdict is what an analysis derived from the runs of a benchmark.
type Verdict struct {
	Benchmark testrun.Benchmark
	Key       string // of several verdicts of a benchmark: its value type, and what else tells them apart
	Stamp     string // what the verdict rests on: version of the method, fingerprint of the runs
	Document  []byte
}

// Verdicts are verdicts and what they were found with.
type Verdicts struct {
	// Code counts how often the store learned of a stored function what decides whose code
	// it is: its kind, file or module. A verdict on profiles that did not change may rest on
	// it: it belongs into the stamp. Lines move with every commit and decide nothing.
	Code int64
	List []Verdict
}

// The maximum lengths of a text and of the document of a verdict in bytes.
const (
	maxVerdictText     = 4 << 10
	maxVerdictDocument = 16 << 20
)

// CheckVerdicts returns an error for verdicts that no engine keeps.
func CheckVerdicts(list []Verdict) error {
	type name struct {
		testrun.Benchmark
		key string
	}
	seen := map[name]bool{}
	for i := range list {
		v := &list[i]
		for _, text := range []string{v.Key, v.Stamp} {
			switch {
			case len(text) > maxVerdictText:
				return fmt.Errorf("%w: a text of %d bytes in a verdict on %s; the maximum is %d", profile.ErrMalformed, len(text), v.Benchmark, maxVerdictText)
			case strings.ToValidUTF8(text, "") != text:
				return fmt.Errorf("%w: %q in a verdict on %s is not UTF-8", profile.ErrMalformed, text, v.Benchmark)
			}
		}
		if n := len(v.Document); n > maxVerdictDocument {
			return fmt.Errorf("%w: a verdict of %d bytes on %s; the maximum is %d", profile.ErrMalformed, n, v.Benchmark, maxVerdictDocument)
		}
		if n := (name{v.Benchmark, v.Key}); seen[n] {
			return fmt.Errorf("%w: two verdicts on %s with the key %q", profile.ErrMalformed, v.Benchmark, v.Key)
		} else {
			seen[n] = true
		}
	}
	return nil
}

// SortVerdicts sorts by benchmark and key.
func SortVerdicts(list []Verdict) {
	slices.SortFunc(list, func(a, b Verdict) int {
		return cmp.Or(strings.Compare(a.Benchmark.Group, b.Benchmark.Group), strings.Compare(a.Benchmark.Name, b.Benchmark.Name),
			strings.Compare(a.Key, b.Key))
	})
}

// OtherCode reports whether a stored function, to which a new profile added what it knows,
// may now be other code: see Verdicts.Code.
func OtherCode(before, after profile.Function) bool {
	before.StartLine, before.Column = after.StartLine, after.Column
	return before != after
}
