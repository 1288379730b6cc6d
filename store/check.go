package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
)

// Limits of what labels a file: a sidecar, a manifest or results may have any number.
const (
	maxLabel      = 16 << 10 // bytes of a name, a key or a value
	maxAttributes = 1_000    // of a run
	maxMetrics    = 10_000   // of a file
)

// Check returns an error for a file that no engine stores: with invalid or too many metrics
// and labels, two profiles of one type, values on unknown paths or beyond 63 bits, or names
// that are not UTF-8. Engines call it first, and have further limits of their own.
func (f *File) Check() error {
	if err := f.checkLabels(); err != nil {
		return err
	}
	for _, m := range f.Metrics {
		if err := m.Check(); err != nil {
			return err
		}
	}
	texts := []string{f.Name, f.Benchmark.Group, f.Benchmark.Name, f.Run.Key}
	types := map[string]bool{}
	for _, r := range f.Records {
		if types[r.Type.Name] {
			return fmt.Errorf("%w: %q has two profiles of type %s", ErrConflict, f.Name, r.Type.Name)
		}
		types[r.Type.Name] = true
		texts = append(texts, r.Type.Name, r.Type.Unit)
		if err := checkVector(r.Forest, r.Self); err != nil {
			return fmt.Errorf("value type %s: %w", r.Type.Name, err)
		}
		for _, m := range r.Modes {
			if err := checkVector(r.Forest, m.Vector); err != nil {
				return fmt.Errorf("value type %s, mode %s: %w", r.Type.Name, m.Mode, err)
			}
		}
	}
	for _, t := range texts {
		if strings.ToValidUTF8(t, "") != t {
			return fmt.Errorf("%w: %q is not UTF-8", profile.ErrMalformed, t)
		}
	}
	return nil
}

// checkLabels checks how many labels there are, and their lengths.
func (f *File) checkLabels() error {
	run := &f.Run
	switch n := len(run.Attributes); {
	case n > maxAttributes:
		return fmt.Errorf("%w: the run has %d attributes, at most %d are stored", profile.ErrTooLarge, n, maxAttributes)
	case len(f.Metrics) > maxMetrics:
		return fmt.Errorf("%w: %d metrics, at most %d are stored", profile.ErrTooLarge, len(f.Metrics), maxMetrics)
	}
	texts := []string{f.Name, f.Benchmark.Group, f.Benchmark.Name, run.Key, run.Commit, run.Branch, run.Repository, run.Machine}
	for key, value := range run.Attributes {
		texts = append(texts, key, value)
	}
	for i := range f.Metrics {
		texts = append(texts, f.Metrics[i].Name, f.Metrics[i].Unit)
	}
	for _, t := range texts {
		if len(t) > maxLabel {
			return fmt.Errorf("%w: the label %.40q… has %d bytes, at most %d are stored", profile.ErrTooLarge, t, len(t), maxLabel)
		}
	}
	return nil
}

// checkVector checks that values lie on paths of the forest and can be added.
func checkVector(f *calltree.Forest, v calltree.Vector) error {
	paths := 0
	if f != nil {
		paths = f.Paths.Len()
	}
	if len(v.Nodes) != len(v.Self) {
		return fmt.Errorf("%w: %d paths but %d values", profile.ErrMalformed, len(v.Nodes), len(v.Self))
	}
	if i := slices.IndexFunc(v.Nodes, func(p int32) bool { return p < 0 || int(p) >= paths }); i >= 0 {
		return fmt.Errorf("%w: path %d of %d", profile.ErrMalformed, v.Nodes[i], paths)
	}
	if _, ok := AddAbsolute(0, v.Self); !ok {
		return fmt.Errorf("%w: the sum of the values exceeds 63 bits", profile.ErrMalformed)
	}
	return nil
}

// AddAbsolute adds absolute values to a sum, which is 100 % of a profile; false
// when that leaves the range of int64.
func AddAbsolute(sum int64, values []int64) (int64, bool) {
	for _, v := range values {
		if sum += max(v, -v); sum < 0 { // also for the one value without a positive counterpart
			return 0, false
		}
	}
	return sum, true
}
