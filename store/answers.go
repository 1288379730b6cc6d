package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Select lists the selected profiles and checks that there is at least one and
// that their values add: one value type.
func Select(ctx context.Context, s Reader, q Query) ([]Profile, error) {
	list, err := s.Profiles(ctx, q)
	if err != nil {
		return nil, err
	}
	return list, OneType(list, q)
}

// OneType reports ErrNothing for an empty list and a SeveralTypesError for one
// whose values do not add.
func OneType(list []Profile, q Query) error {
	if len(list) == 0 {
		return fmt.Errorf("%w by: %s", ErrNothing, q.String())
	}
	var keys []string
	for i := range list {
		if k := list[i].Type.AddKey(); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	if len(keys) > 1 {
		slices.Sort(keys)
		return &SeveralTypesError{keys}
	}
	return nil
}

// OneName is OneType for answers in shares of a profile: types of one name may differ in
// their period, because a share has none.
func OneName(list []Profile, q Query) error {
	if len(list) > 0 && !slices.ContainsFunc(list, func(p Profile) bool { return p.Type.Name != list[0].Type.Name }) {
		return nil
	}
	return OneType(list, q)
}

// SumType returns the type of the sum of profiles whose values add. A period that is not the
// period of all of them is none of the sum's.
func SumType(list []Profile) profile.ValueType {
	typ := list[0].Type
	for i := range list[1:] {
		typ = calltree.MergeTypes(typ, list[i+1].Type)
	}
	return typ
}

// Weight describes what a profile counts in a sum over several.
type Weight string

// The weights.
const (
	BySamples Weight = "samples" // values add: long profiles count more
	ByShare   Weight = "share"   // every profile counts the same
)

// FunctionSum is what a function took over a selection.
type FunctionSum struct {
	Function   int32 // index in FunctionSums.Functions
	Profiles   int64 // that have the function
	Self       int64
	Total      int64
	SelfShare  float64 // sum over the profiles of self ÷ Profile.Sum; divide by their number for a mean
	TotalShare float64
}

// FunctionSums is the answer of SumFunctions. Functions are in byte order of
// names, Rows in the order of Functions.
type FunctionSums struct {
	Profiles  []Profile
	Functions []profile.Function
	Rows      []FunctionSum
}

// Aggregator is implemented by engines that compute some answers where the data is, faster
// than by streaming every row. The answers are the same.
type Aggregator interface {
	Aggregates() Aggregates
}

// Aggregates are the answers that an engine computes itself. What is nil is computed here,
// from Functions or Trees.
type Aggregates struct {
	SumFunctions    func(ctx context.Context, q Query) (*FunctionSums, error)
	FunctionMoments func(ctx context.Context, q Query, m Measure) (*MomentSet, error)
	// MergeTrees may leave out what MergeTreesAbove allows.
	MergeTrees func(ctx context.Context, q Query, percent float64) (*calltree.Tree, []Profile, error)
	// Preload reads the trees of many profiles in one statement, for the calls of Trees
	// that follow.
	Preload func(ctx context.Context, profiles []ProfileID) (release func(), err error)
}

// Versioned is implemented by engines that know when their content changed, because no other
// program can change it: answers about profiles hold while the version is the same. Later
// versions are larger. Versions of two openings do not compare.
type Versioned interface {
	Version() uint64
}

// aggregates returns what an engine computes itself.
func aggregates(s Reader) Aggregates {
	if a, ok := As[Aggregator](s); ok {
		return a.Aggregates()
	}
	return Aggregates{}
}

// Slow lists the kinds of queries that an engine answers by reading every row or tree of the
// selection: they take as long as reading them.
func Slow(s Reader) (list []string) {
	a := aggregates(s)
	for _, x := range []struct {
		fast bool
		name string
	}{{a.SumFunctions != nil, "functions (top, bottlenecks)"}, {a.FunctionMoments != nil, "correlations"},
		{a.MergeTrees != nil, "merged trees (tree, diff)"},
		{a.Preload != nil, "histories of trees (regressions)"}} {
		if !x.fast {
			list = append(list, x.name)
		}
	}
	return list
}

// SumFunctions adds up the functions of the selected profiles, whose value types must
// have one name. If these differ in their period, only the shares mean something.
func SumFunctions(ctx context.Context, s Reader, q Query) (*FunctionSums, error) {
	sum := aggregates(s).SumFunctions
	if sum == nil {
		sum = func(ctx context.Context, q Query) (*FunctionSums, error) { return sumFunctions(ctx, s, q) }
	}
	sums, err := sum(ctx, q)
	if err != nil {
		return nil, err
	}
	return sums, Summable(sums.Profiles, q)
}

// TotalFunctions is SumFunctions of profiles that must have one value type.
func TotalFunctions(ctx context.Context, s Reader, q Query) (*FunctionSums, error) {
	sums, err := SumFunctions(ctx, s, q)
	if err != nil {
		return nil, err
	}
	return sums, Addable(sums.Profiles, q)
}

func sumFunctions(ctx context.Context, s Reader, q Query) (*FunctionSums, error) {
	set, err := s.Functions(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	sums := &FunctionSums{Profiles: set.Profiles, Functions: set.Functions, Rows: make([]FunctionSum, len(set.Functions))}
	for rows, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, fn := range rows.Function {
			r, whole := &sums.Rows[fn], float64(set.Profiles[rows.Profile[i]].Sum)
			r.Profiles++
			r.Self += rows.Self[i]
			r.Total += rows.Total[i]
			if whole > 0 {
				r.SelfShare += float64(rows.Self[i]) / whole
				r.TotalShare += float64(rows.Total[i]) / whole
			}
		}
	}
	for fn := range sums.Rows {
		sums.Rows[fn].Function = int32(fn)
	}
	return sums, nil
}

// Moments describes, for one function in one benchmark, the series of its
// values x over the profiles that have it, and of the metric y of those of them
// that have one. M2 and C are sums of products of deviations from the means.
type Moments struct {
	Benchmark int32 // index in MomentSet.Benchmarks
	Function  int32 // index in MomentSet.Functions
	N         int64
	Mean, M2  float64 // of x over N profiles

	NY             int64   // profiles with a metric
	MeanX, MeanY   float64 // over NY profiles
	M2X, M2Y, CovC float64
}

// MomentSet is the answer of FunctionMoments.
type MomentSet struct {
	Profiles   []Profile
	Benchmarks []string // testrun.Benchmark.String, in order of first profile
	Functions  []profile.Function
	Rows       []Moments // by benchmark, then function
}

// Measure defines which number of a function is x.
type Measure struct {
	Self  bool // self instead of total
	Share bool // divided by Profile.Sum
}

// FunctionMoments returns the moments of every function in every benchmark of
// the selection. The metric y is the primary one as the store holds it.
func FunctionMoments(ctx context.Context, s Reader, q Query, m Measure) (*MomentSet, error) {
	if fast := aggregates(s).FunctionMoments; fast != nil {
		return fast(ctx, q, m)
	}
	set, err := s.Functions(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	out := &MomentSet{Profiles: set.Profiles, Functions: set.Functions}
	benchmark := BenchmarkIndex(set.Profiles, &out.Benchmarks)
	rows := map[int64]*Moments{} // by benchmark and function
	for chunk, err := range set.Rows {
		if err != nil {
			return nil, err
		}
		for i, fn := range chunk.Function {
			p := &set.Profiles[chunk.Profile[i]]
			x := float64(chunk.Total[i])
			if m.Self {
				x = float64(chunk.Self[i])
			}
			if m.Share {
				x /= math.Max(1, float64(p.Sum))
			}
			b := benchmark[chunk.Profile[i]]
			r := rows[int64(b)<<32|int64(fn)]
			if r == nil {
				r = &Moments{Benchmark: b, Function: fn}
				rows[int64(b)<<32|int64(fn)] = r
			}
			r.add(x, p)
		}
	}
	for _, r := range rows {
		out.Rows = append(out.Rows, *r)
	}
	slices.SortFunc(out.Rows, func(a, b Moments) int {
		return cmp.Or(cmp.Compare(a.Benchmark, b.Benchmark), cmp.Compare(a.Function, b.Function))
	})
	return out, nil
}

// add takes in one observation (Welford 1962, for pairs as in Bennett 2009).
func (r *Moments) add(x float64, p *Profile) {
	r.N++
	d := x - r.Mean
	r.Mean += d / float64(r.N)
	r.M2 += d * (x - r.Mean)
	metric, ok := p.Metric()
	if !ok {
		return
	}
	r.NY++
	dx, dy := x-r.MeanX, metric.Mean-r.MeanY
	r.MeanX += dx / float64(r.NY)
	r.MeanY += dy / float64(r.NY)
	r.M2X += dx * (x - r.MeanX)
	r.M2Y += dy * (metric.Mean - r.MeanY)
	r.CovC += dx * (metric.Mean - r.MeanY)
}

// BenchmarkIndex returns for each profile the index of its benchmark in names,
// which it fills in order of first appearance.
func BenchmarkIndex(profiles []Profile, names *[]string) []int32 {
	index := map[testrun.Benchmark]int32{}
	of := make([]int32, len(profiles))
	for i := range profiles {
		b, ok := index[profiles[i].Benchmark]
		if !ok {
			b = int32(len(*names))
			index[profiles[i].Benchmark] = b
			*names = append(*names, profiles[i].Benchmark.String())
		}
		of[i] = b
	}
	return of
}

// Preload announces that calls of Trees follow that read each of these profiles once. The
// caller releases what no call has read.
func Preload(ctx context.Context, s Reader, profiles []ProfileID) (release func(), err error) {
	if fast := aggregates(s).Preload; fast != nil {
		return fast(ctx, profiles)
	}
	return func() {}, nil
}

// MergeTrees returns the sum of the selected profiles as one call tree, and the
// profiles. The selection must have one value type.
func MergeTrees(ctx context.Context, s Reader, q Query) (*calltree.Tree, []Profile, error) {
	return MergeTreesAbove(ctx, s, q, 0)
}

// MergeTreesAbove is MergeTrees for callers that skip what is below nodes with a total of
// less than a percentage of the whole: the tree may have such a node's total as its self
// value, and nothing below it.
func MergeTreesAbove(ctx context.Context, s Reader, q Query, percent float64) (*calltree.Tree, []Profile, error) {
	if fast := aggregates(s).MergeTrees; fast != nil {
		return fast(ctx, q, percent)
	}
	set, err := s.Trees(ctx, q, TreeOptions{})
	if err != nil {
		return nil, nil, err
	}
	if err := Addable(set.Profiles, q); err != nil {
		return nil, nil, err
	}
	self := make([]int64, set.Table.Len())
	for v, err := range set.Vectors {
		if err != nil {
			return nil, nil, err
		}
		for i, n := range v.Nodes {
			self[n] += v.Self[i]
		}
	}
	return calltree.NewTree(set.Table, SumType(set.Profiles), self), set.Profiles, nil
}

// Addable reports whether the profiles that q selected can be added up: there
// is one at least, they have one value type, and no sum leaves the int64 range.
func Addable(profiles []Profile, q Query) error {
	if err := OneType(profiles, q); err != nil {
		return err
	}
	return CheckSum(profiles)
}

// Summable is Addable for SumFunctions, which requires one name, not one type.
func Summable(profiles []Profile, q Query) error {
	if err := OneName(profiles, q); err != nil {
		return err
	}
	return CheckSum(profiles)
}

// CheckSum reports whether the values of the profiles can be added without
// leaving the int64 range.
func CheckSum(profiles []Profile) error {
	var sum uint64
	for i := range profiles {
		if sum += uint64(profiles[i].Sum); sum > math.MaxInt64 {
			return fmt.Errorf("the sum of %d profiles exceeds 63 bits: select fewer", len(profiles))
		}
	}
	return nil
}
