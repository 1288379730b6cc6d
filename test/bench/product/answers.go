package product

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/bottleneck"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/bench"
)

// Answer implements bench.Engine.
func (e *engine) Answer(q bench.Question) (bench.Answer, error) {
	ctx := context.Background()
	switch q.Kind {
	case bench.Potential:
		return e.potential(ctx, q)
	case bench.Tree, bench.Merged:
		return e.merged(ctx, q)
	case bench.Above:
		return e.above(ctx, q)
	case bench.Scores:
		return e.scores(ctx, q)
	case bench.Correlation:
		return e.correlation(ctx, q)
	case bench.Subtree:
		return e.subtree(ctx, q)
	case bench.Series:
		return e.series(ctx, q)
	}
	return bench.Answer{}, bench.ErrNoAnswer
}

// potential is q1: a sum per function.
func (e *engine) potential(ctx context.Context, q bench.Question) (bench.Answer, error) {
	sums, err := store.SumFunctions(ctx, e.st, e.query(q))
	if err != nil {
		return bench.Answer{}, err
	}
	rows := slices.DeleteFunc(sums.Rows, func(r store.FunctionSum) bool { return r.Self <= 0 })
	return bench.Answer{Rows: len(rows), Sum: func() bench.Checksum {
		var d bench.Digest
		for _, r := range rows {
			d.Row(sums.Functions[r.Function].Name, r.Self)
		}
		return d.Sum()
	}}, nil
}

// merged is q2 and q3.
func (e *engine) merged(ctx context.Context, q bench.Question) (bench.Answer, error) {
	t, _, err := store.MergeTrees(ctx, e.st, e.query(q))
	if err != nil {
		return bench.Answer{}, err
	}
	return bench.Answer{Rows: t.Len(), Sum: func() bench.Checksum {
		var d bench.Digest
		paths := make([]uint64, t.Len())
		for n, up := range t.Parent {
			var parent uint64
			if up != calltree.NoNode {
				parent = paths[up]
			}
			paths[n] = bench.Path(parent, t.Name(int32(n)))
			d.RowPath(paths[n], t.Self[n], t.Total[n])
		}
		return d.Sum()
	}}, nil
}

// above is q4: where one function takes more than one percent.
func (e *engine) above(ctx context.Context, q bench.Question) (bench.Answer, error) {
	name := Names()(q.Function)
	set, err := e.st.Functions(ctx, e.query(q), []string{name})
	if err != nil {
		return bench.Answer{}, err
	}
	type row struct {
		p     *store.Profile
		total int64
	}
	var rows []row
	for chunk, err := range set.Rows {
		if err != nil {
			return bench.Answer{}, err
		}
		for i, at := range chunk.Profile {
			if p := &set.Profiles[at]; chunk.Total[i]*100 > p.Sum {
				rows = append(rows, row{p, chunk.Total[i]})
			}
		}
	}
	return bench.Answer{Rows: len(rows), Sum: func() bench.Checksum {
		var d bench.Digest
		for _, r := range rows {
			d.Row(bench.ProfileKey(r.p.Benchmark.Group, r.p.Benchmark.Name, r.p.Run.Key), r.total)
		}
		return d.Sum()
	}}, nil
}

// series of one function over the runs that scores looks at.
type series struct {
	now, sum, squares float64
	present           int
}

// scores is q5: the thesis's score of every function in the newest run. Its
// history is described by count, mean and centred squares, which the engine
// computes where the data is; missing runs count as zero.
func (e *engine) scores(ctx context.Context, q bench.Question) (bench.Answer, error) {
	all := e.query(q)
	all.Last = q.Last + 1
	list, err := e.st.Profiles(ctx, all)
	if err != nil || len(list) == 0 {
		return bench.Answer{}, err
	}
	ids := make([]store.ProfileID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	last := len(ids) - 1
	history, err := store.FunctionMoments(ctx, e.st, store.Query{Profiles: ids[:last]}, store.Measure{})
	if err != nil {
		return bench.Answer{}, err
	}
	set, err := e.st.Functions(ctx, store.Query{Profiles: ids[last:]}, nil)
	if err != nil {
		return bench.Answer{}, err
	}
	byName := map[string]*series{}
	at := func(f *profile.Function) *series {
		s := byName[f.Name]
		if s == nil {
			s = &series{}
			byName[f.Name] = s
		}
		return s
	}
	for _, r := range history.Rows {
		s := at(&history.Functions[r.Function])
		s.present, s.sum = int(r.N), math.Round(r.Mean*float64(r.N))
		s.squares = r.M2
	}
	for chunk, err := range set.Rows {
		if err != nil {
			return bench.Answer{}, err
		}
		for i, fn := range chunk.Function {
			at(&set.Functions[fn]).now = float64(chunk.Total[i])
		}
	}
	n := float64(last)
	return bench.Answer{Rows: len(byName), Sum: func() bench.Checksum {
		var d bench.Digest
		for name, s := range byName {
			d.Row(name, int64(s.now), int64(s.sum))
			d.Approx(name, s.score(n))
		}
		return d.Sum()
	}}, nil
}

// score is (now − mean) ÷ std over n runs of which some may lack the function:
// their squares are shifted from the mean of those present to that of all.
func (s *series) score(n float64) float64 {
	mean := s.sum / n
	k := float64(s.present)
	var squares float64
	if k > 0 {
		shift := s.sum/k - mean
		squares = s.squares + k*shift*shift
	}
	squares += (n - k) * mean * mean
	if std := math.Sqrt(squares / (n - 1)); std > 0 {
		return (s.now - mean) / std
	}
	return 0
}

// correlation is q6: Pearson of a function's share with the metric, mean over
// the benchmarks.
func (e *engine) correlation(ctx context.Context, q bench.Question) (bench.Answer, error) {
	set, err := store.FunctionMoments(ctx, e.st, e.query(q), store.Measure{Share: true, Self: true})
	if err != nil {
		return bench.Answer{}, err
	}
	type mean struct {
		sum float64
		n   int64
	}
	of := make([]mean, len(set.Functions))
	found := 0
	for _, r := range set.Rows {
		if r.NY < 2 {
			continue
		}
		m := &of[r.Function]
		if m.n++; m.n == 1 {
			found++
		}
		if bottom := math.Sqrt(r.M2X * r.M2Y); bottom > 1e-8 {
			m.sum += r.CovC / bottom
		}
	}
	return bench.Answer{Rows: found, Sum: func() bench.Checksum {
		var d bench.Digest
		for fn, m := range of {
			if m.n > 0 {
				d.Row(set.Functions[fn].Name, m.n)
				d.Approx(set.Functions[fn].Name, m.sum/float64(m.n))
			}
		}
		return d.Sum()
	}}, nil
}

const degrees = 6

// subtree is q7, by the product's own analysis.
func (e *engine) subtree(ctx context.Context, q bench.Question) (bench.Answer, error) {
	t, _, err := store.MergeTrees(ctx, e.st, e.query(q))
	if err != nil {
		return bench.Answer{}, err
	}
	p := bottleneck.Potentials(t.Table, t.Self, degrees-1)
	rows := 0
	for i := degrees - 1; i < len(p); i += degrees {
		if p[i] > 0 {
			rows++
		}
	}
	return bench.Answer{Rows: rows, Sum: func() bench.Checksum {
		var d bench.Digest
		for fn := range t.Functions {
			if of := p[fn*degrees : (fn+1)*degrees]; of[degrees-1] > 0 {
				d.Row(t.Functions[fn].Name, of...)
			}
		}
		return d.Sum()
	}}, nil
}

// quoted turns the name of a function into the piece of a pattern that names it alone.
var quoted = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// series is q8: what lies below a chain of direct calls, per run.
func (e *engine) series(ctx context.Context, q bench.Question) (bench.Answer, error) {
	names := Names()
	text := ""
	for i, f := range q.Chain {
		if i > 0 {
			text += ";"
		}
		text += quoted.Replace(names(f))
	}
	p, err := callpath.Parse(text)
	if err != nil {
		return bench.Answer{}, err
	}
	found, err := store.Find(ctx, e.st, e.query(q), p, false)
	if err != nil {
		return bench.Answer{}, err
	}
	return bench.Answer{Rows: len(found.Rows), Sum: func() bench.Checksum {
		var d bench.Digest
		for _, r := range found.Rows {
			if r.Total > 0 {
				d.Row(found.Profiles[r.Profile].Run.Key, r.Total)
			}
		}
		return d.Sum()
	}}, nil
}
