package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/testrun"
)

// text is a source of folded text in memory.
func text(name, content string) Source {
	return Source{Name: name, Named: true, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

// run imports into st and returns the results as one line each.
func run(t *testing.T, st store.Store, o Options, sources ...Source) []string {
	t.Helper()
	var lines []string
	_, err := Run(context.Background(), st, sources, o, func(r Result) {
		line := fmt.Sprintf("%s %s", r.File, r.Status)
		if r.Err != nil {
			line += ": " + r.Error
		}
		lines = append(lines, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func profiles(t *testing.T, st store.Store) []store.Profile {
	t.Helper()
	list, err := st.Profiles(context.Background(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRunReportsInOrderAndGoesOn(t *testing.T) {
	st := mem.New()
	var sources []Source
	var want []string
	for i := range 120 {
		name := fmt.Sprintf("g/b%03d.folded", i)
		content := fmt.Sprintf("main;f%d 3\n", i)
		status := "stored"
		if i%10 == 3 {
			content, status = "main;f 1\nmain;broken\nmain;g 2\n", "failed: "+name+":2: "
		}
		sources = append(sources, text(name, content))
		want = append(want, name+" "+status)
	}
	got := run(t, st, Options{Workers: 3, Defaults: Label{Run: testrun.Run{Key: "r"}}}, sources...)
	if len(got) != len(want) {
		t.Fatalf("%d results of %d", len(got), len(want))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("result %d is %q, want %q…", i, got[i], want[i])
		}
	}
	list := profiles(t, st)
	if len(list) != 108 {
		t.Errorf("%d profiles stored", len(list))
	}
	for i := 1; i < len(list); i++ {
		if list[i-1].Run.Date != list[i].Run.Date {
			t.Fatal("one run, two dates")
		}
	}
}

func TestArchiveMembers(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range []struct{ name, content string }{
		{"nightly/sort.folded", "a;b 2\n"}, {"README", "no profile\n"}, {"nightly/cut.pb.gz", "\x1f\x8b\x08cut"}, {".hidden", "a;b 1\n"},
	} {
		w, err := z.Create(m.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	st := mem.New()
	got := run(t, st, Options{Defaults: Label{Run: testrun.Run{Key: "r"}}}, text("all.zip", b.String()))
	if len(got) != 3 || got[0] != "all.zip: nightly/sort.folded stored" || !strings.HasPrefix(got[1], "all.zip: README skipped") ||
		!strings.HasPrefix(got[2], "all.zip: nightly/cut.pb.gz failed: all.zip: nightly/cut.pb.gz: ") {
		t.Errorf("results %q", got)
	}
	list := profiles(t, st)
	if len(list) != 1 || list[0].Benchmark != (testrun.Benchmark{Group: "nightly", Name: "sort"}) {
		t.Errorf("profiles %+v", list)
	}
}

// TestLargeArchives imports two archives of many members at once, the first
// slower than the second: all goes in, in order, in parts.
func TestLargeArchives(t *testing.T) {
	slow := text("a.tar", archive(t, "a", 3*batchFiles+7))
	open := slow.Open
	slow.Open = func() (io.ReadCloser, error) {
		time.Sleep(50 * time.Millisecond)
		return open()
	}
	st := mem.New()
	got := run(t, st, Options{Workers: 2, Defaults: Label{Run: testrun.Run{Key: "r"}}}, slow, text("b.tar", archive(t, "b", 3*batchFiles+7)))
	if n := 2 * (3*batchFiles + 7); len(got) != n || len(profiles(t, st)) != n {
		t.Fatalf("%d results, %d profiles, want %d", len(got), len(profiles(t, st)), n)
	}
	for i, line := range got {
		if want := fmt.Sprintf("%s/b%03d.folded stored", []string{"a.tar: a", "b.tar: b"}[i*2/len(got)], i%(len(got)/2)); line != want {
			t.Fatalf("result %d is %q, want %q", i, line, want)
		}
	}
}

// archive returns a tar of small profiles.
func archive(t *testing.T, name string, members int) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range members {
		text := fmt.Sprintf("main;f%d 1\n", i)
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%s/b%03d.folded", name, i), Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestArchivesSideBySide reads an archive while the one before it is slow.
func TestArchivesSideBySide(t *testing.T) {
	first, second := archive(t, "a", firstFiles-1), archive(t, "b", firstFiles-1)
	end := len(second) - 1024   // of the last member
	read := make(chan struct{}) // closed when the second was read to there
	slow := Source{Name: "a.tar", Named: true, Open: func() (io.ReadCloser, error) {
		select {
		case <-read:
		case <-time.After(time.Minute):
			t.Error("the second archive waits for the first")
		}
		return io.NopCloser(strings.NewReader(first)), nil
	}}
	quick := Source{Name: "b.tar", Named: true, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(second[:end]), closing{read}, strings.NewReader(second[end:]))), nil
	}}
	st := mem.New()
	run(t, st, Options{Workers: 2, Defaults: Label{Run: testrun.Run{Key: "r"}}}, slow, quick)
	if n := len(profiles(t, st)); n != 2*(firstFiles-1) {
		t.Errorf("%d profiles", n)
	}
}

// closing is empty and closes a channel when it is read.
type closing struct{ done chan struct{} }

func (c closing) Read([]byte) (int, error) {
	select {
	case <-c.done:
	default:
		close(c.done)
	}
	return 0, io.EOF
}

// TestOriginalsOfArchives says of every member that its original is not kept,
// however many parts the archive comes in.
func TestOriginalsOfArchives(t *testing.T) {
	for _, members := range []int{1, partFiles, partFiles + 1, 2*firstFiles + 3} {
		warned := 0
		_, err := Run(t.Context(), mem.New(), []Source{text("a.tar", archive(t, "a", members))},
			Options{KeepSource: true, Defaults: Label{Run: testrun.Run{Key: "r"}}}, func(r Result) {
				if len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], "the original is not kept") {
					warned++
				}
			})
		if want := members; err != nil || warned != want && members > 1 {
			t.Errorf("%d of %d members say that the original is not kept, %v", warned, want, err)
		}
	}
}

func TestGuessedDatesDoNotContradict(t *testing.T) {
	st := mem.New()
	a, b := text("a.folded", "x 1\n"), text("b.folded", "y 1\n")
	a.Mtime, b.Mtime = time.Unix(1000, 0), time.Unix(2000, 0)
	o := Options{Defaults: Label{Run: testrun.Run{Key: "r"}}}
	for _, line := range append(run(t, st, o, a, b), run(t, st, o, text("c.folded", "z 1\n"))...) {
		if !strings.HasSuffix(line, " stored") {
			t.Error(line)
		}
	}
	for _, p := range profiles(t, st) {
		if !p.Run.Date.Equal(time.Unix(1000, 0)) {
			t.Errorf("%s: date %v, want that of the first file", p.File, p.Run.Date)
		}
	}
	o.Defaults.Run.Date = time.Unix(3000, 0)
	if got := run(t, st, o, text("d.folded", "z 1\n")); !strings.Contains(got[0], "failed") || !strings.Contains(got[0], "values of date") {
		t.Errorf("a date that was given and contradicts: %q", got)
	}
}

func TestTypes(t *testing.T) {
	diff := "a;b 1 2\na;c 3 4\n"
	for _, tt := range []struct {
		name, content string
		types         []string
		want          string // the stored types, or a part of the error
	}{
		{"folded", "a;b 1\n", nil, "cpu-samples/count"},
		{"folded as alloc", "a;b 1\n", []string{"alloc"}, "alloc/bytes"},
		{"differential", diff, nil, "select one with --type base or --type head"},
		{"differential, one", diff, []string{"head"}, "head/count"},
		{"a type it has not", diff, []string{"wall"}, "value type wall not found; the file has base, head"},
	} {
		st := mem.New()
		got := run(t, st, Options{Types: tt.types, Defaults: Label{Run: testrun.Run{Key: "r"}}}, text("x.folded", tt.content))
		var keys []string
		for _, p := range profiles(t, st) {
			keys = append(keys, p.Type.Key())
		}
		if have := strings.Join(keys, " ") + " " + got[0]; !strings.Contains(have, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, have, tt.want)
		}
	}
}

// TestProjection checks names, compile modes, raw names and threads of what
// arrives in the store, with warm workers.
func TestProjection(t *testing.T) {
	ctx := context.Background()
	files := []Source{
		text("one.folded", "[pool-1-thread-7 tid=11];a/B.run_[j];a/B$$Lambda$14/0x00007f01.get_[1] 3\n"),
		text("two.folded", "[pool-1-thread-9 tid=12];a/B.run_[j];a/B$$Lambda$77/0x00007f99.get_[j] 4\n[gc tid=1];G1Worker 1\n"),
	}
	st := mem.New()
	run(t, st, Options{Workers: 1, Defaults: Label{Run: testrun.Run{Key: "r"}, Group: "g"}}, files...)
	tree, _, err := store.MergeTrees(ctx, st, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int64{}
	for _, r := range tree.FunctionRows() {
		rows[tree.Functions[r.Func].Name] = r.Total
	}
	lambda := "a.B$$Lambda.get"
	if d := cmp.Diff(map[string]int64{"a.B.run": 7, lambda: 7, "G1Worker": 1}, rows); d != "" {
		t.Error(d)
	}
	raw, err := st.RawNames(ctx, "g", []string{lambda, "a.B.run"})
	if err != nil || raw[lambda] != "a/B$$Lambda$14/0x00007f01.get" || raw["a.B.run"] != "" {
		t.Errorf("raw names %v, %v", raw, err)
	}
	set, err := st.Trees(ctx, store.Query{Benchmarks: []string{"two"}}, store.TreeOptions{Modes: true})
	if err != nil {
		t.Fatal(err)
	}
	for v, err := range set.Vectors {
		if err != nil || len(v.Modes) != 1 || v.Modes[0].Mode != profile.FrameJIT || v.Modes[0].Sum() != 4 {
			t.Errorf("modes %+v, %v", v.Modes, err)
		}
	}

	st = mem.New()
	run(t, st, Options{ByThread: true, Defaults: Label{Run: testrun.Run{Key: "r"}}}, files...)
	tree, _, err = store.MergeTrees(ctx, st, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	roots := map[string]int64{}
	for _, n := range tree.Children(-1, nil) {
		roots[tree.Name(n)] = tree.Total[n]
	}
	if d := cmp.Diff(map[string]int64{"pool-*-thread-*": 7, "gc": 1}, roots); d != "" {
		t.Error(d)
	}
}

func TestDryRunStoresNothing(t *testing.T) {
	st := mem.New()
	run(t, st, Options{DryRun: true, Defaults: Label{Run: testrun.Run{Key: "r"}}}, text("a.folded", "x 1\n"))
	if n := len(profiles(t, st)); n != 0 {
		t.Errorf("%d profiles", n)
	}
}

func TestOtherRulesAreRefused(t *testing.T) {
	st := mem.New()
	o := Options{Defaults: Label{Run: testrun.Run{Key: "r"}}}
	run(t, st, o, text("a.folded", "x 1\n"))
	rules, err := normalize.ReadRules("rules", strings.NewReader("x => y\n"))
	if err != nil {
		t.Fatal(err)
	}
	o.Normalizer = normalize.New(rules)
	_, err = Run(context.Background(), st, []Source{text("b.folded", "x 1\n")}, o, func(Result) {})
	if !errors.Is(err, store.ErrOtherRules) {
		t.Errorf("error %v", err)
	}
}

// blocked is a source whose reading never ends.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }
func (blocked) Close() error             { return nil }

// TestCancel demands that an import ends although a source does not.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, mem.New(), []Source{{Name: "stdin", Open: func() (io.ReadCloser, error) { return blocked{}, nil }}}, Options{},
			func(Result) {})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the import does not end")
	}
}

// TestWarmImporter imports again and again with one importer: what it knows
// from earlier calls changes no answer.
func TestWarmImporter(t *testing.T) {
	ctx := context.Background()
	warm, cold := mem.New(), mem.New()
	im := New(warm, Options{Workers: 2})
	for i := range 20 {
		s := text(fmt.Sprintf("b%d.folded", i), fmt.Sprintf("m;f;g%d 2\nm;f 1\nm;X$$Lambda$%d/0x00007f%04x;g 1\n", i%5, i, i))
		s.Label.Run.Key = "r"
		s.Mtime = time.Unix(1, 0)
		if _, err := im.Import(ctx, []Source{s}, func(r Result) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		run(t, cold, Options{}, s)
	}
	a, _, err := store.MergeTrees(ctx, warm, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := store.MergeTrees(ctx, cold, store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.Self, a.Self); d != "" || a.Len() != b.Len() {
		t.Error(d)
	}
}
