package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// wide puts profiles whose streams are long.
func (l *lab) wide() {
	l.t.Helper()
	im := NewImporter()
	var files []*store.File
	for run := range 30 {
		f := newFile("g", "a", fmt.Sprint("r", run))
		var samples []Sample
		for fn := range 200 {
			samples = append(samples, Sample{[]string{"main", fmt.Sprint("f", fn)}, int64(run + fn + 1)})
		}
		im.AddSamples(f, profile.CPUSamples, samples...)
		files = append(files, f)
	}
	l.put(files...)
}

// testBreak leaves streams early, does not read them at all, and writes while
// one is being read.
func testBreak(l *lab) {
	l.wide()
	for range 20 { // more than any pool of connections
		set, err := l.s.Functions(l.ctx, store.Query{}, nil)
		l.ok(err)
		for _, err := range set.Rows {
			l.ok(err)
			break
		}
		trees, err := l.s.Trees(l.ctx, store.Query{}, store.TreeOptions{})
		l.ok(err)
		for _, err := range trees.Vectors {
			l.ok(err)
			break
		}
		if _, err := l.s.Functions(l.ctx, store.Query{}, nil); err != nil {
			l.t.Fatal(err)
		}
		if _, err := l.s.Trees(l.ctx, store.Query{}, store.TreeOptions{}); err != nil {
			l.t.Fatal(err)
		}
	}
	l.whileReading("Profiles", func() error { _, err := l.s.Profiles(l.ctx, store.Query{}); return err })

	files := []*store.File{File("g", "b", "r1", profile.CPUSamples, "A\nB")}
	opts := store.PutOptions{Rules: Rules}
	l.whileReading("Put", func() error {
		out, err := l.s.Put(l.ctx, files, opts)
		if err == nil {
			err = out[0].Err
		}
		return err
	})
	l.m.put(files[0], opts)

	gone := ids(l.profiles(store.Query{}))[:1]
	l.whileReading("Delete", func() error { _, err := l.s.Delete(l.ctx, gone); return err })
	l.m.delete(gone)
	l.check()
}

// patience is the timeout of a call that should not wait for a stream. The test of the
// suite shortens it.
var patience = 20 * time.Second

// whileReading makes a call while a stream is open.
func (l *lab) whileReading(name string, call func() error) {
	l.t.Helper()
	set, err := l.s.Functions(l.ctx, store.Query{}, nil)
	l.ok(err)
	var done chan error
	for _, err := range set.Rows {
		l.ok(err)
		if done != nil {
			continue
		}
		done = make(chan error, 1)
		go func() { done <- call() }()
		select {
		case err := <-done:
			done <- err
		case <-time.After(patience):
			l.t.Errorf("%s waits for a stream that is being read", name)
		}
	}
	if err := <-done; err != nil {
		l.t.Errorf("%s during a stream: %v", name, err)
	}
}

// testCancel ends contexts before and during calls.
func testCancel(l *lab) {
	l.wide()
	ctx, cancel := context.WithCancel(l.ctx)
	cancel()
	file := File("g", "b", "r1", profile.CPUSamples, "A")
	id := l.profiles(store.Query{Last: 1})[0].ID
	for name, call := range map[string]func() error{
		"Info":          func() error { _, err := l.s.Info(ctx); return err },
		"Profiles":      func() error { _, err := l.s.Profiles(ctx, store.Query{}); return err },
		"FunctionNames": func() error { _, err := l.s.FunctionNames(ctx); return err },
		"RawNames":      func() error { _, err := l.s.RawNames(ctx, "", []string{"main"}); return err },
		"Source":        func() error { _, err := l.s.Source(ctx, id); return err },
		"Functions":     func() error { _, err := l.countRows(ctx, func() {}); return err },
		"Trees":         func() error { _, err := l.countVectors(ctx, func() {}); return err },
		"Delete":        func() error { _, err := l.s.Delete(ctx, []store.ProfileID{id}); return err },
		"Compact":       func() error { return l.s.Compact(ctx) },
		"Put": func() error {
			_, err := l.s.Put(ctx, []*store.File{file}, store.PutOptions{Rules: Rules})
			return err
		},
		"SumFunctions":    func() error { _, err := store.SumFunctions(ctx, l.s, store.Query{}); return err },
		"TotalFunctions":  func() error { _, err := store.TotalFunctions(ctx, l.s, store.Query{}); return err },
		"MergeTrees":      func() error { _, _, err := store.MergeTrees(ctx, l.s, store.Query{}); return err },
		"FunctionMoments": func() error { _, err := store.FunctionMoments(ctx, l.s, store.Query{}, store.Measure{}); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			l.t.Errorf("%s with an ended context: %v", name, err)
		}
	}
	l.check()

	for name, count := range map[string]func(context.Context, func()) (int, error){"Functions": l.countRows, "Trees": l.countVectors} {
		whole, err := count(l.ctx, func() {})
		l.ok(err)
		ctx, cancel := context.WithCancel(l.ctx)
		n, err := count(ctx, cancel)
		if err == nil && n != whole || err != nil && !errors.Is(err, context.Canceled) {
			l.t.Errorf("%s: the stream of an ended context stops after %d of %d with the error %v", name, n, whole, err)
		}
		cancel()
	}
	l.put(file)
	l.check()
}

// countRows reads all rows, and calls after when it has the first.
func (l *lab) countRows(ctx context.Context, after func()) (int, error) {
	set, err := l.s.Functions(ctx, store.Query{}, nil)
	if err != nil {
		return 0, err
	}
	n := 0
	for rows, err := range set.Rows {
		if err != nil {
			return n, err
		}
		if n == 0 {
			after()
		}
		n += len(rows.Profile)
	}
	return n, nil
}

// countVectors is countRows for Trees.
func (l *lab) countVectors(ctx context.Context, after func()) (int, error) {
	set, err := l.s.Trees(ctx, store.Query{}, store.TreeOptions{})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, err := range set.Vectors {
		if err != nil {
			return n, err
		}
		if n == 0 {
			after()
		}
		n++
	}
	return n, nil
}
