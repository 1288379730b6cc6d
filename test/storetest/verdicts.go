package storetest

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// testVerdicts: those of a benchmark are replaced together, and nothing but the end of the
// benchmark removes them.
func testVerdicts(l *lab) {
	t := l.t
	if _, ok := l.s.(store.VerdictKeeper); !ok {
		t.Log("the engine keeps no verdicts")
		return
	}
	a, b := testrun.Benchmark{Group: "g", Name: "a"}, testrun.Benchmark{Group: "g", Name: `b/"size"='1'`}
	alone := testrun.Benchmark{Name: "only metrics"}
	for _, run := range []string{"r1", "r2"} {
		l.put(File("g", a.Name, run, profile.CPUSamples, "A"), File("g", b.Name, run, profile.CPUSamples, "A"))
	}
	l.put(MetricsFile("", alone.Name, "r1", Metric("time/op", 3)))
	keep := func(list ...store.Verdict) {
		t.Helper()
		if err := l.s.(store.VerdictKeeper).KeepVerdicts(l.ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, of []testrun.Benchmark, want ...store.Verdict) {
		t.Helper()
		got, err := l.s.(store.VerdictKeeper).Verdicts(l.ctx, of)
		if d := cmp.Diff(want, got.List, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("%s: %v\n%s", when, err, d)
		}
	}
	check("at first", nil)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	document := bytes.Clone(every)
	aCPU, aWall := store.Verdict{Benchmark: a, Key: "cpu", Stamp: "1", Document: document},
		store.Verdict{Benchmark: a, Key: "wall\x00main", Stamp: `'"ü`, Document: bytes.Repeat(every, 500)}
	bCPU := store.Verdict{Benchmark: b, Key: "cpu", Stamp: "2"}
	metrics := store.Verdict{Benchmark: alone, Key: "", Stamp: "", Document: []byte("m")}
	keep(bCPU, aWall, aCPU, metrics, store.Verdict{Benchmark: testrun.Benchmark{Name: "not stored"}, Key: "cpu", Document: []byte("x")})
	clear(document)
	aCPU.Document = every
	check("all", nil, metrics, aCPU, aWall, bCPU)
	check("of one", []testrun.Benchmark{a, {Name: "not stored"}}, aCPU, aWall)
	check("of none stored", []testrun.Benchmark{{Name: "not stored"}})
	aCPU.Stamp, aCPU.Document = "3", []byte("other")
	keep(aCPU)
	check("replaced together", nil, metrics, aCPU, bCPU)
	keep()
	for _, bad := range [][]store.Verdict{{aCPU, aCPU}, {{Benchmark: a, Key: "\xff"}}, {{Benchmark: a, Stamp: strings.Repeat("x", 5000)}},
		{{Benchmark: a, Document: make([]byte, 17<<20)}}} {
		if err := l.s.(store.VerdictKeeper).KeepVerdicts(l.ctx, bad); err == nil {
			t.Errorf("kept %d bytes with the key %.20q", len(bad[0].Document), bad[0].Key)
		}
	}
	check("after refusals", nil, metrics, aCPU, bCPU)

	none := []store.Verdict{{Key: "service", Stamp: "1", Document: []byte("pushed")}}
	if _, ok := l.s.(continuous.Store); !ok {
		none = nil
	}
	keep(store.Verdict{Key: "service", Stamp: "1", Document: []byte("pushed")})
	check("on what has no runs", []testrun.Benchmark{{}}, none...)
	check("with the others", nil, slices.Concat(none, []store.Verdict{metrics, aCPU, bCPU})...)

	l.putAs(store.Replace, File("g", a.Name, "r2", profile.CPUSamples, "A\nB"))
	l.put(File("g", a.Name, "r3", profile.CPUSamples, "A"))
	check("after imports", nil, slices.Concat(none, []store.Verdict{metrics, aCPU, bCPU})...)
	l.compact()
	check("after Compact", nil, slices.Concat(none, []store.Verdict{metrics, aCPU, bCPU})...)
	l.reopen()
	check("after opening again", nil, slices.Concat(none, []store.Verdict{metrics, aCPU, bCPU})...)
	list := l.profiles(store.Query{Benchmarks: []string{b.Name}})
	l.delete(list[0].ID)
	check("after the end of a run", nil, slices.Concat(none, []store.Verdict{metrics, aCPU, bCPU})...)
	l.delete(list[1].ID)
	check("after the end of a benchmark", nil, slices.Concat(none, []store.Verdict{metrics, aCPU})...)
	l.put(File("g", b.Name, "r1", profile.CPUSamples, "A"))
	check("after it began anew", nil, slices.Concat(none, []store.Verdict{metrics, aCPU})...)

	ctx, cancel := context.WithCancel(l.ctx)
	cancel()
	if _, err := l.s.(store.VerdictKeeper).Verdicts(ctx, nil); err == nil {
		t.Error("Verdicts lists after the end of the context")
	}
	if err := l.s.(store.VerdictKeeper).KeepVerdicts(ctx, []store.Verdict{bCPU}); err == nil {
		t.Error("KeepVerdicts keeps after the end of the context")
	}
}

// testCode: what a new profile knows of a stored function changes Verdicts.Code, but for its
// lines.
func testCode(l *lab) {
	if _, ok := l.s.(store.VerdictKeeper); !ok {
		l.t.Log("the engine keeps no verdicts")
		return
	}
	code := int64(0)
	put := func(run string, fn profile.Function, other bool) {
		l.t.Helper()
		im := NewImporter()
		im.Rename = func(profile.Function) profile.Function { return fn }
		l.put(im.File("g", "b", run, profile.CPUSamples, "A"))
		v, err := l.s.(store.VerdictKeeper).Verdicts(l.ctx, nil)
		l.ok(err)
		if (v.Code != code) != other {
			l.t.Errorf("run %s: the code count went from %d to %d, want a change: %v", run, code, v.Code, other)
		}
		code = v.Code
	}
	put("r1", profile.Function{Name: "A"}, false)
	put("r2", profile.Function{Name: "A"}, false)
	put("r3", profile.Function{Name: "A", File: "a.go", StartLine: 3}, true)
	put("r4", profile.Function{Name: "A", File: "a.go", StartLine: 5}, false)
	put("r5", profile.Function{Name: "B", File: "b.go", StartLine: 5}, false)
	l.reopen()
	put("r6", profile.Function{Name: "A", File: "a.go", Kind: profile.KindGo}, true)
	l.compact()
	put("r7", profile.Function{Name: "A", File: "a.go", Kind: profile.KindGo}, false)
	l.reopen()
	put("r8", profile.Function{Name: "A", File: "a.go", Kind: profile.KindGo}, false)
}
