package transfer

import (
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// What each type of the contract is made of. A field that is added goes to the
// end and raises Version.

func (c *coder) benchmark(v *testrun.Benchmark) {
	text(c, &v.Group)
	text(c, &v.Name)
}

func (c *coder) run(v *testrun.Run) {
	text(c, &v.Key)
	c.time(&v.Date)
	text(c, &v.Commit)
	text(c, &v.Branch)
	text(c, &v.Repository)
	text(c, &v.Machine)
	textMap(c, &v.Attributes)
}

func (c *coder) metric(v *testrun.Metric) {
	text(c, &v.Name)
	c.float(&v.Mean)
	text(c, &v.Unit)
	text(c, &v.Better)
	number(c, &v.N)
	c.bool(&v.Primary)
	text(c, &v.Samples)
	c.float(&v.Error)
}

func (c *coder) measurement(v *store.Measurement) {
	c.benchmark(&v.Benchmark)
	c.run(&v.Run)
	list(c, &v.Metrics, (*coder).metric)
}

func (c *coder) valueType(v *profile.ValueType) {
	text(c, &v.Name)
	text(c, &v.Unit)
	number(c, &v.Scale)
	number(c, &v.Period)
	text(c, &v.PeriodUnit)
	text(c, &v.PeriodName)
	text(c, &v.Original)
}

func (c *coder) function(v *profile.Function) {
	text(c, &v.Name)
	text(c, &v.SystemName)
	text(c, &v.File)
	number(c, &v.StartLine)
	number(c, &v.Column)
	text(c, &v.Module)
	text(c, &v.Language)
	number(c, &v.Kind)
}

func (c *coder) profile(v *store.Profile) {
	text(c, &v.ID)
	c.benchmark(&v.Benchmark)
	c.run(&v.Run)
	c.valueType(&v.Type)
	list(c, &v.Metrics, (*coder).metric)
	text(c, &v.Profiler)
	text(c, &v.ProfilerVersion)
	number(c, &v.Duration)
	number(c, &v.Samples)
	number(c, &v.Sum)
	number(c, &v.Nodes)
	text(c, &v.Hash)
	texts(c, &v.Parts)
	text(c, &v.File)
	c.bool(&v.HasSource)
	number(c, &v.Seq)
	c.bool(&v.Default)
}

func (c *coder) query(v *store.Query) {
	texts(c, &v.Groups)
	texts(c, &v.Benchmarks)
	textMap(c, &v.Params)
	texts(c, &v.Branches)
	texts(c, &v.Commits)
	texts(c, &v.Machines)
	textMap(c, &v.Attributes)
	texts(c, &v.Runs)
	texts(c, &v.Profiles)
	texts(c, &v.Types)
	c.time(&v.Since)
	c.time(&v.Until)
	number(c, &v.Last)
}

func (c *coder) outcome(v *store.Outcome) {
	number(c, &v.Stored)
	number(c, &v.Unchanged)
	c.failure(&v.Err)
}

// vector codes self values over a table or forest of n nodes.
func (c *coder) vector(v *calltree.Vector, n int) {
	c.indexes(&v.Nodes, n)
	if column(c, &v.Self); len(v.Self) != len(v.Nodes) {
		c.fail("%d values of %d nodes", len(v.Self), len(v.Nodes))
	}
}

func (c *coder) mode(v *store.ModeVector, n int) {
	number(c, &v.Mode)
	c.vector(&v.Vector, n)
}

// table codes a shape as the functions and depths of its rows, which are in
// depth-first order: parents and ends follow from that.
func (c *coder) table(t *calltree.Table) {
	list(c, &t.Functions, (*coder).function)
	c.funcs(&t.Func, len(t.Functions))
	column(c, &t.Depth)
	if !c.reading || c.err != nil {
		return
	}
	if len(t.Depth) != len(t.Func) {
		c.fail("%d depths of %d nodes", len(t.Depth), len(t.Func))
		return
	}
	t.Parent, t.End = make([]int32, len(t.Func)), make([]int32, len(t.Func))
	var open []int32 // the path to the row at hand
	for n, d := range t.Depth {
		if d < 0 || int(d) > len(open) {
			c.fail("node %d at depth %d below one at %d", n, d, len(open)-1)
			return
		}
		for _, closed := range open[d:] {
			t.End[closed] = int32(n)
		}
		t.Parent[n] = calltree.NoNode
		if d > 0 {
			t.Parent[n] = open[d-1]
		}
		open = append(open[:d], int32(n))
	}
	for _, n := range open {
		t.End[n] = int32(len(t.Func))
	}
	if err := t.Check(); err != nil {
		c.fail("%v", err)
	}
}

// funcs codes functions of rows, which do not grow as other indexes do.
func (c *coder) funcs(v *[]int32, limit int) {
	column(c, v)
	if !c.reading {
		return
	}
	for _, fn := range *v {
		if fn < 0 || int(fn) >= limit {
			c.fail("function %d of %d", fn, limit)
			return
		}
	}
}
