package trees

import (
	"context"
	"slices"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// ExportRequest asks for a selection as one profile.
type ExportRequest struct {
	query.Selection `group:"Selection"`
	Average         `group:"Selection"`
	Against         string `param:"against" group:"Selection" arg:"what" choices:",history" default:"" help:"write the newest run of one benchmark (head) and the average of the runs before it (base): history; for formats with two sides" json:"against,omitempty"`
	RawNames        bool   `param:"raw-names" group:"View" help:"write one original name of each function in place of the normalised name" json:"rawNames,omitempty"`
	Lines           bool   `param:"lines" group:"View" help:"write the samples with their lines and names as recorded: of the original files (import --keep-source), or of pushed profiles" json:"lines,omitempty"`
	Filter          `group:"View"`

	Inputs []Input        `json:"-"` // in place of the store, if there are any
	Limits profile.Limits `json:"-"` // of original files that are decoded
}

// AllTables stands for all value types of a profile.
const AllTables = -1

// Export returns the sum of the selected profiles, the table of it to write (or
// AllTables), and notes.
func Export(ctx context.Context, st store.Store, r *ExportRequest) (p *profile.Profile, table int, notes []string, err error) {
	if st, r, err = query.Over(ctx, st, r); err != nil {
		return nil, 0, nil, err
	}
	defer func() { err = query.Hinted(ctx, st, &r.Selection, err) }()
	if r.inverted() || r.Select != "" {
		return nil, 0, nil, param.Errorf("an exported file contains stacks: leave out --invert, --callers and --select")
	}
	if r.Lines {
		p, notes, err := r.lines(ctx, st)
		return p, 0, notes, err
	}
	if r.Against != "" {
		q, notes, err := query.OneType(ctx, st, &r.Selection)
		if err != nil {
			return nil, 0, nil, err
		}
		c, err := againstHistory(ctx, st, q, r.Weight)
		if err != nil {
			return nil, 0, nil, err
		}
		return c.Profile(r.statistic()), AllTables, append(notes, c.Warnings...), nil
	}
	if r.summed() {
		p, notes, err := r.sum(ctx, st)
		return p, 0, notes, err
	}
	s, err := newScope(ctx, st, &TreeRequest{Selection: r.Selection, Average: r.Average, RawNames: r.RawNames,
		Filter: r.Filter, Inputs: r.Inputs, Limits: r.Limits}, viewTree)
	if err != nil {
		return nil, 0, nil, err
	}
	return timed(s.tree.Profile(), s.list), 0, s.notes, nil
}

// summed reports whether the profile is the sum of runs as it is, with its compile modes.
func (r *ExportRequest) summed() bool {
	t := TreeRequest{Selection: r.Selection, Average: r.Average, Filter: r.Filter, Inputs: r.Inputs}
	return t.isPlain(viewTree)
}

// sum returns the sum of the selected profiles.
func (r *ExportRequest) sum(ctx context.Context, st store.Store) (*profile.Profile, []string, error) {
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, nil, err
	}
	read := &reading{rawNames: r.RawNames, modes: true}
	in, err := read.sum(ctx, st, q)
	if err != nil {
		return nil, nil, err
	}
	return timed(in.modes.profile(in.tree), []Input{in}), notes, nil
}

// lines returns the sum of the original files of the selected profiles, as they were recorded.
func (r *ExportRequest) lines(ctx context.Context, st store.Store) (*profile.Profile, []string, error) {
	if !r.summed() || r.Against != "" || r.RawNames {
		return nil, nil, param.Errorf("--lines writes samples as they were recorded: leave out what changes them, --average and --against")
	}
	q, notes, err := query.OneType(ctx, st, &r.Selection)
	if err != nil {
		return nil, nil, err
	}
	read := &reading{limits: r.Limits, viewer: &viewer{notes: append(notes, query.PushedNotes(st)...)}}
	if read.typ = query.TypeOf(&r.Selection); len(q.Types) == 1 {
		read.typ = q.Types[0]
	}
	reader := Reader(ctx, r.Limits) // one, whose symbols all files share
	sum := profile.NewMerger(reader.Symbols(), q.Types)
	err = read.eachOriginal(ctx, st, q, "--lines", func() *format.Reader { return reader },
		func(_ string, p *profile.Profile, stored *store.Profile) error {
			return sum.Add(dumpOf(p, &stored.Run))
		})
	if err != nil {
		return nil, nil, err
	}
	p, err := sum.Profile()
	if err == nil && !slices.ContainsFunc(reader.Symbols().Frames, func(f profile.Frame) bool { return f.Line > 0 }) {
		err = param.Errorf("--lines: the recorded samples have no lines")
	}
	return p, read.notes, err
}
