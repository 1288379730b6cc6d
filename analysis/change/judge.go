package change

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
)

// Lines groups profiles by line, the runs of each in order of date and key, those of a pair's head after
// those of its base. A run that is flagged is in no line, nor is a value type that repeats another one (history.Distinct).
func Lines(profiles []store.Profile) []history.Series {
	byKey := map[Key][]*store.Profile{}
	distinct := history.Distinct(profiles)
	for i := range distinct {
		if p := &distinct[i]; p.Run.Attributes[history.FlaggedAttribute] != "true" {
			k := KeyOf(p)
			byKey[k] = append(byKey[k], p)
		}
	}
	list := make([]history.Series, 0, len(byKey))
	for _, k := range slices.SortedFunc(maps.Keys(byKey), Key.compare) {
		of := byKey[k]
		s := history.Series{Benchmark: k.Benchmark, Type: of[0].Type, Profiles: make([]store.Profile, len(of))}
		slices.SortStableFunc(of, func(a, b *store.Profile) int {
			return cmp.Or(cmp.Compare(btoi(IsHead(a)), btoi(IsHead(b))), a.Run.Date.Compare(b.Run.Date), cmp.Compare(a.Run.Key, b.Run.Key))
		})
		for i, p := range of {
			s.Profiles[i] = *p
		}
		list = append(list, s)
	}
	return list
}

// KeyOf returns the key of the line of a profile.
func KeyOf(p *store.Profile) Key {
	k := Key{Benchmark: p.Benchmark, Type: p.Type.Key(), Branch: p.Run.Branch, Machine: p.Run.Machine, Profiler: p.Profiler}
	if pair, _ := history.PairOf(p); pair != "" {
		k.Branch, k.Pair = "", pair
	}
	return k
}

func keyOf(s *history.Series) Key { return KeyOf(&s.Profiles[0]) }

func (k Key) compare(l Key) int {
	return cmp.Or(k.Benchmark.Compare(l.Benchmark), cmp.Compare(k.Type, l.Type), cmp.Compare(k.Branch, l.Branch),
		cmp.Compare(k.Machine, l.Machine), cmp.Compare(k.Profiler, l.Profiler), cmp.Compare(k.Pair, l.Pair))
}

// Current reports whether a verdict is of all runs of a line, by this method and these options.
func Current(v *Verdict, s *history.Series, o regression.Options) bool {
	return v != nil && v.Runs == len(s.Profiles) && continues(v, s, o)
}

// continues reports whether a verdict is of the first runs of a line.
func continues(v *Verdict, s *history.Series, o regression.Options) bool {
	return v != nil && v.Method == Method && v.Runs > 0 && v.Runs <= len(s.Profiles) && v.Digest == digest(s, v.Runs, o)
}

// resumed returns the verdict that judging a line begins with: prev, or nil if it is of other runs, or of a part of a pair.
func resumed(prev *Verdict, s *history.Series, o regression.Options) *Verdict {
	if !continues(prev, s, o) || prev.Runs < len(s.Profiles) && keyOf(s).Pair != "" {
		return nil
	}
	return prev
}

// digest returns the digest of the first n runs of a line and of the options: all that their verdict
// depends on.
func digest(s *history.Series, n int, o regression.Options) string {
	b := store.AppendText(make([]byte, 0, 256*(n+1)), "change")
	for _, x := range []float64{o.Alpha, o.MinShare, o.Impact} {
		b = store.AppendNumbers(b, int64(math.Float64bits(x)))
	}
	b = store.AppendBools(b, o.Service, o.SkipOwnHistory, s.Service)
	b = store.AppendNumbers(b, int64(Method), int64(len(o.Own)))
	for _, text := range o.Own {
		b = store.AppendText(b, text)
	}
	for i := range s.Profiles[:n] {
		p := s.Profiles[i]
		p.Seq, p.ID = 0, "" // differ by engine and order of imports
		b = p.AppendKey(b)
	}
	key := store.KeyOf(b)
	return hex.EncodeToString(key[:])
}

// Judge returns the verdict of a line, which has at least one run. It continues prev, which is
// not changed, if that is a verdict of the first runs, and reads only the runs that it needs for
// that.
func Judge(ctx context.Context, st store.Reader, s *history.Series, prev *Verdict, o regression.Options) (*Verdict, error) {
	if prev = resumed(prev, s, o); prev != nil && prev.Runs == len(s.Profiles) {
		return prev, nil
	}
	read, err := prev.needed(s)
	if err != nil {
		return nil, err
	}
	some := *s
	some.Profiles = nil
	at := map[int]int{}
	for i, run := range read {
		at[run] = i
		some.Profiles = append(some.Profiles, s.Profiles[run])
	}
	samples, err := history.Read(ctx, st, &some)
	if err != nil {
		return nil, err
	}
	return judge(ctx, s, prev, o, func(runs []int) *history.Matrix {
		list := column.Of(runs, func(run int) int { return at[run] })
		return samples.Matrix(list)
	})
}

// JudgeSamples is Judge of samples in memory.
func JudgeSamples(ctx context.Context, s *history.Series, samples *history.Samples, prev *Verdict,
	o regression.Options) (*Verdict, error) {
	if !continues(prev, s, o) {
		prev = nil
	}
	return judge(ctx, s, prev, o, samples.Matrix)
}

// needed lists the runs that continuing a verdict reads.
func (v *Verdict) needed(s *history.Series) ([]int, error) {
	var list []int
	if v != nil {
		list = v.horizon()
		if len(list) > 0 && list[len(list)-1] >= v.Runs {
			return nil, fmt.Errorf("verdict of %s: run %d of %d", s.Benchmark, list[len(list)-1], v.Runs)
		}
	}
	from := 0
	if v != nil {
		from = v.Runs
	}
	for t := from; t < len(s.Profiles); t++ {
		list = append(list, t)
	}
	return list, nil
}

func judge(ctx context.Context, s *history.Series, prev *Verdict, o regression.Options,
	matrix func(runs []int) *history.Matrix) (*Verdict, error) {
	v := prev.clone()
	if v == nil {
		v = &Verdict{Method: Method, Key: keyOf(s), Type: s.Type, Needed: leastLevel + 1, Changes: []Change{}}
	}
	w := &walker{v: v, o: o, series: s, rows: func(runs []int) *regression.Rows {
		some := *s
		some.Profiles = nil
		for _, run := range runs {
			some.Profiles = append(some.Profiles, s.Profiles[run])
		}
		return regression.Prepare(&some, matrix(runs))
	}}
	if v.Key.Pair != "" {
		if err := w.judgePair(); err != nil {
			return nil, err
		}
	}
	for t := v.Runs; t < len(s.Profiles); t++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.step(t); err != nil {
			return nil, err
		}
	}
	v.Digest = digest(s, v.Runs, o)
	return v, nil
}

// clone returns a copy whose lists may be changed.
func (v *Verdict) clone() *Verdict {
	if v == nil {
		return nil
	}
	c := *v
	c.Walk.Level, c.Walk.Old = slices.Clone(v.Walk.Level), slices.Clone(v.Walk.Old)
	c.Changes = slices.Clone(v.Changes)
	for i := range c.Changes {
		x := &c.Changes[i]
		x.Base, x.Head = slices.Clone(x.Base), slices.Clone(x.Head)
	}
	return &c
}
