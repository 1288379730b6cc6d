package storetest

import (
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// testEmpty asks an empty store everything.
func testEmpty(l *lab) {
	l.check()
	if out, err := l.s.Put(l.ctx, nil, store.PutOptions{}); err != nil || len(out) != 0 {
		l.t.Errorf("Put of nothing: %v, %v", out, err)
	}
	l.delete()
	l.delete("0123456789abcdef")
	l.compact()
	l.reopen()
	l.check()
}

// testOne puts one profile and looks at every answer by hand, so that a fault
// of the model does not go unseen.
func testOne(l *lab) {
	f := File("json", "parse/size=10", "r3", profile.CPUSamples, `
		×3    ×1    ×2
		main  main  main
		A     B     A
		B           A`)
	l.put(f)
	l.check()
	p := l.only()
	if p.ID != store.IDOf(f.Benchmark, "r3", profile.CPUSamples) || p.Benchmark != f.Benchmark ||
		p.Sum != 6 || p.Nodes != 5 || p.Samples != 3 || p.File != f.Name || p.HasSource {
		l.t.Errorf("the profile is %+v", p)
	}
	set, err := l.s.Functions(l.ctx, store.Query{}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.same("the function list", l.readFunctions(set)[p.ID], map[string]numbers{
		"main": {0, 6}, "A": {2, 5}, "B": {4, 4},
	})
	l.reopen()
	l.check()
}

// testValues puts values that are hard to keep.
func testValues(l *lab) {
	l.check()
}
