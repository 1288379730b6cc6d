package transfer

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/testrun"
	"github.com/dendroprof/dendro/traceprof"
)

// anyText draws any bytes: names need not be UTF-8.
func anyText(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "text"))
}

func anyTexts(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.Custom(anyText), 0, 3).Draw(t, "texts")
}

func anyTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "no time") {
		return time.Time{}
	}
	return time.Unix(rapid.Int64Range(-1e11, 1e11).Draw(t, "sec"), rapid.Int64Range(0, 999_999_999).Draw(t, "nsec")).UTC()
}

func anyMap(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.Custom(anyText), rapid.Custom(anyText), 0, 3).Draw(t, "map")
}

func anyProfile(t *rapid.T) store.Profile {
	whole := rapid.Int64()
	return store.Profile{
		ID: store.ProfileID(anyText(t)), Benchmark: testrun.Benchmark{Group: anyText(t), Name: anyText(t)},
		Run:      testrun.Run{Key: anyText(t), Date: anyTime(t), Commit: anyText(t), Branch: anyText(t), Repository: anyText(t), Machine: anyText(t), Attributes: anyMap(t)},
		Type:     profile.ValueType{Name: anyText(t), Unit: anyText(t), Scale: rapid.IntRange(0, 18).Draw(t, "scale"), Period: whole.Draw(t, "period"), PeriodUnit: anyText(t), PeriodName: anyText(t), Original: anyText(t)},
		Metrics:  []testrun.Metric{{Name: anyText(t), Mean: rapid.Float64().Draw(t, "mean"), Unit: anyText(t), Better: testrun.Lower, N: rapid.Int().Draw(t, "n"), Primary: true, Samples: "1.5 2", Error: rapid.Float64().Draw(t, "error")}},
		Profiler: anyText(t), ProfilerVersion: anyText(t), Duration: time.Duration(whole.Draw(t, "duration")), Samples: whole.Draw(t, "samples"), Sum: whole.Draw(t, "sum"),
		Nodes: rapid.Int().Draw(t, "nodes"), Hash: anyText(t), Parts: anyTexts(t), File: anyText(t), HasSource: rapid.Bool().Draw(t, "source"), Seq: whole.Draw(t, "seq"),
	}
}

// TestProfiles sends any profiles there and back.
func TestProfiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOfN(rapid.Custom(anyProfile), 0, 4).Draw(t, "profiles")
		var got []store.Profile
		thereAndBack(t, &sent, &got)
		if d := cmp.Diff(sent, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// thereAndBack writes a message of one value and reads it.
func thereAndBack[T any](t interface {
	Helper()
	Fatal(...any)
}, sent, got *T) {
	t.Helper()
	message, err := Encode(sent)
	if err != nil {
		t.Fatal(err)
	}
	if err := Read(bytes.NewReader(message), got); err != nil {
		t.Fatal(err)
	}
}

// TestQueries sends any arguments there and back.
func TestQueries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := MomentsQuery{
			Query: store.Query{Groups: anyTexts(t), Benchmarks: anyTexts(t), Params: anyMap(t), Branches: anyTexts(t), Commits: anyTexts(t), Machines: anyTexts(t),
				Attributes: anyMap(t), Runs: anyTexts(t), Profiles: []store.ProfileID{store.ProfileID(anyText(t))}, Types: anyTexts(t), Since: anyTime(t), Until: anyTime(t), Last: rapid.IntRange(0, 9).Draw(t, "last")},
			Measure: store.Measure{Self: rapid.Bool().Draw(t, "self"), Share: rapid.Bool().Draw(t, "share")},
		}
		var got MomentsQuery
		thereAndBack(t, &sent, &got)
		if d := cmp.Diff(sent, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
	failed := true
	for _, sent := range []traceprof.SegmentQuery{{}, {Traces: []string{"ü\x00\u2028"}, Failed: &failed, Limit: 3}} {
		var got traceprof.SegmentQuery
		if thereAndBack(t, &sent, &got); !cmp.Equal(sent, got) {
			t.Error(cmp.Diff(sent, got))
		}
	}
}

var update = flag.Bool("update", false, "rewrite testdata/format.txt")

// TestFormat demands another Version when a type changes whose values are messages.
func TestFormat(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d\n", Version)
	seen := map[reflect.Type]bool{}
	var describe func(reflect.Type)
	describe = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Slice, reflect.Pointer:
			describe(typ.Elem())
		case reflect.Struct:
			if seen[typ] || typ == reflect.TypeFor[time.Time]() || strings.HasPrefix(typ.String(), "calltree.") {
				return
			}
			seen[typ] = true
			fmt.Fprintf(&b, "%s:", typ)
			for i := range typ.NumField() {
				fmt.Fprintf(&b, " %s %s;", typ.Field(i).Name, typ.Field(i).Type)
			}
			b.WriteString("\n")
			for i := range typ.NumField() {
				describe(typ.Field(i).Type)
			}
		}
	}
	for _, v := range []any{
		Failure{}, FunctionsQuery{}, TreesQuery{}, RawNamesQuery{}, MomentsQuery{}, StopQuery{}, InstancesQuery{}, EndpointsQuery{}, Merged{}, Sums{}, Moments{},
		store.PutOptions{}, store.File{}, store.Outcome{}, store.Measurement{}, store.FunctionRows{}, store.TreeVector{},
		traceprof.Task{}, traceprof.TaskQuery{}, traceprof.Log{}, traceprof.Instance{}, traceprof.Segment{}, traceprof.SegmentQuery{}, traceprof.Endpoint{},
		traceprof.Snapshots{}, traceprof.SnapshotQuery{}, traceprof.Expiry{}, traceprof.Expired{},
	} {
		describe(reflect.TypeOf(v))
	}
	name := filepath.Join("testdata", "format.txt")
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("a type of the format changed: raise Version, describe it there, and run this test with -update\n%s", d)
	}
}

// TestErrors wants what callers branch on, and the text, to arrive.
func TestErrors(t *testing.T) {
	conflict := &store.ConflictError{ID: "0123456789abcdef", Identity: "g/b, r, cpu", Old: "a", New: "b"}
	for _, err := range []error{
		store.ErrLocked, store.ErrOlder, store.ErrNewer, store.ErrNotStore, store.ErrCorrupt, store.ErrReadOnly, store.ErrNoSpace, store.ErrOtherRules,
		store.ErrConflict, store.ErrNoSource, store.ErrNothing, conflict, &store.SeveralTypesError{Keys: []string{"a/b", "c/d"}}, errors.New("any other"),
	} {
		sent := []store.Outcome{{Err: fmt.Errorf("there: %w", err)}, {Stored: 1, Unchanged: 2}}
		var got []store.Outcome
		thereAndBack(t, &sent, &got)
		if got[0].Err.Error() != "there: "+err.Error() || KindOf(got[0].Err) != KindOf(err) || got[1] != sent[1] {
			t.Errorf("%v became %v", sent, got)
		}
		var gotConflict *store.ConflictError
		if errors.As(err, &conflict) && (!errors.As(got[0].Err, &gotConflict) || *gotConflict != *conflict || !errors.Is(got[0].Err, store.ErrConflict)) {
			t.Errorf("the conflict became %+v", gotConflict)
		}
		var several *store.SeveralTypesError
		if errors.As(err, &several) && (!errors.As(got[0].Err, &several) || len(several.Keys) != 2) {
			t.Errorf("the types became %+v", several)
		}
	}
	kinds := map[string]bool{}
	for _, name := range Kinds() {
		if kinds[name] || name == "" {
			t.Errorf("kind %q occurs twice", name)
		}
		kinds[name] = true
	}
}

// files are some of everything: two forests, snapshots of one, modes, raw names,
// sources, metrics alone.
func files() []*store.File {
	im := storetest.NewImporter()
	a := im.File("g", "a", "r1", profile.CPUSamples, "×3  ×-4\nA  A\nB  C")
	im.AddMode(a.Records[0], profile.FrameJIT, "A\nB")
	a.Records[0].RawNames = map[int32]string{0: "A$1", 1: "B$2"}
	a.Source = []byte{}
	b := im.File("g", "b", "r1", profile.CPUSamples, "A\nB\nA\nD")
	b.Source = []byte("source")
	other := storetest.File("h", "a", "r2", profile.Alloc, "×4096\nX\nA")
	empty := &store.File{Name: "empty", Benchmark: other.Benchmark, Run: other.Run, Records: []*store.Record{{Type: profile.NamedType("cpu")}}}
	return []*store.File{a, b, other, storetest.MetricsFile("g", "a", "r1", storetest.Metric("time", math.Inf(1))), empty}
}

// described writes a file so that forests do not show.
func described(f *store.File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %v %v %v %q %v\n", f.Name, f.Benchmark, f.Run, f.Metrics, f.Source, f.Source == nil)
	for _, r := range f.Records {
		fmt.Fprintf(&b, " %v %s %s %d %d %s %v\n", r.Type, r.Profiler, r.ProfilerVersion, r.Duration, r.Samples, r.Hash, r.Parts)
		vector := func(v calltree.Vector) {
			for i, n := range v.Nodes {
				fmt.Fprintf(&b, "  %v %d\n", r.Forest.Names(n), v.Self[i])
			}
		}
		vector(r.Self)
		for _, m := range r.Modes {
			fmt.Fprintf(&b, "  mode %v\n", m.Mode)
			vector(m.Vector)
		}
		for fn := range int32(8) {
			if raw, ok := r.RawNames[fn]; ok {
				fmt.Fprintf(&b, "  %s was %s\n", r.Forest.Functions[fn].Name, raw)
			}
		}
	}
	return b.String()
}

func TestFiles(t *testing.T) {
	sent := files()
	var b bytes.Buffer
	if err := WriteFiles(&b, sent, store.PutOptions{Conflict: store.Add, Rules: "r"}); err != nil {
		t.Fatal(err)
	}
	got, opts, err := ReadFiles(&b)
	if err != nil || opts != (store.PutOptions{Conflict: store.Add, Rules: "r"}) || len(got) != len(sent) {
		t.Fatalf("%d files, %+v, %v", len(got), opts, err)
	}
	for i := range sent {
		if d := cmp.Diff(described(sent[i]), described(got[i])); d != "" {
			t.Errorf("file %d: %s", i, d)
		}
	}
	if got[0].Records[0].Forest != got[1].Records[0].Forest || got[0].Records[0].Forest == got[2].Records[0].Forest {
		t.Error("records of one forest are of several, or the reverse")
	}
}

// TestStreamsFail wants an error in the midst of a stream to arrive, after what came
// before it.
func TestStreamsFail(t *testing.T) {
	broken := fmt.Errorf("in the middle: %w", store.ErrCorrupt)
	set := &store.FunctionSet{Profiles: make([]store.Profile, 1), Functions: make([]profile.Function, 1)}
	set.Rows = func(yield func(store.FunctionRows, error) bool) {
		if yield(store.FunctionRows{Profile: []int32{0}, Function: []int32{0}, Self: []int64{1}, Total: []int64{2}}, nil) {
			yield(store.FunctionRows{}, broken)
		}
	}
	var b bytes.Buffer
	if err := WriteFunctions(&b, func() error { return nil }, set); err != nil {
		t.Fatal(err)
	}
	for cut := range 3 {
		got, err := ReadFunctions(io.NopCloser(bytes.NewReader(b.Bytes()[:b.Len()-cut])))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows, e := range got.Rows {
			if err = e; e == nil {
				n += len(rows.Self)
			}
		}
		if n != 1 || cut == 0 && (!errors.Is(err, store.ErrCorrupt) || err.Error() != broken.Error()) || cut > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("without the last %d bytes: %d rows, %v", cut, n, err)
		}
		for _, err := range got.Rows {
			if err == nil {
				t.Error("a stream is read twice")
			}
		}
	}
}

// TestUnwritable wants a row that has no form to be said, and not to look like a
// message that broke off.
func TestUnwritable(t *testing.T) {
	rows := func(yield func([]any, error) bool) { _ = yield([]any{int64(1)}, nil) && yield([]any{struct{}{}}, nil) }
	var b bytes.Buffer
	if err := WriteSQL(&b, noFlush, &store.SQLAnswer{Columns: []string{"a"}, Types: []string{"A"}, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	a, err := ReadSQL(io.NopCloser(&b))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err = range a.Rows {
		n++
	}
	if n != 2 || err == nil || !strings.Contains(err.Error(), "a value of type struct {}") {
		t.Errorf("%d rows, the last %v", n, err)
	}
}

func TestVersions(t *testing.T) {
	message, err := Encode(&store.Query{Groups: []string{"g"}})
	if err != nil {
		t.Fatal(err)
	}
	var q store.Query
	newer := bytes.Clone(message)
	newer[4]++
	if err := Read(bytes.NewReader(newer), &q); !errors.Is(err, ErrVersion) {
		t.Errorf("a newer version: %v", err)
	}
	if err := Read(strings.NewReader("<html>not a message</html>"), &q); !errors.Is(err, ErrMalformed) {
		t.Errorf("something else: %v", err)
	}
	for n := range message {
		if err := Read(bytes.NewReader(message[:n]), &q); err == nil {
			t.Errorf("the first %d bytes of %d are a query", n, len(message))
		}
	}
}

// messages are uploads, and answers of all kinds to be begun from.
func messages(t testing.TB) (uploads, answers [][]byte) {
	st := mem.New()
	ctx := context.Background()
	upload := func(list []*store.File) {
		var b bytes.Buffer
		if err := WriteFiles(&b, list, store.PutOptions{Rules: "r"}); err != nil {
			t.Fatal(err)
		}
		uploads = append(uploads, b.Bytes())
	}
	upload(nil)
	upload(files())
	if _, err := st.Put(ctx, files(), store.PutOptions{Rules: "r"}); err != nil {
		t.Fatal(err)
	}
	answer := func(write func(w io.Writer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, b.Bytes())
	}
	flush := func() error { return nil }
	answer(func(w io.Writer) error {
		set, err := st.Functions(ctx, store.Query{}, nil)
		return errors.Join(err, WriteFunctions(w, flush, set))
	})
	answer(func(w io.Writer) error {
		set, err := st.Trees(ctx, store.Query{}, store.TreeOptions{Modes: true})
		return errors.Join(err, WriteTrees(w, flush, set))
	})
	answer(func(w io.Writer) error {
		tree, profiles, err := store.MergeTrees(ctx, st, store.Query{Groups: []string{"h"}, Types: []string{profile.Alloc}})
		return errors.Join(err, Write(w, &Merged{tree, profiles}))
	})
	answer(func(w io.Writer) error {
		sums, err := store.SumFunctions(ctx, st, store.Query{Groups: []string{"h"}, Types: []string{profile.Alloc}})
		return errors.Join(err, Write(w, &Sums{*sums}))
	})
	answer(func(w io.Writer) error {
		set, err := store.FunctionMoments(ctx, st, store.Query{Groups: []string{"g"}}, store.Measure{})
		return errors.Join(err, Write(w, &Moments{*set}))
	})
	answer(func(w io.Writer) error {
		return WriteSQL(w, flush, &store.SQLAnswer{Columns: []string{"a"}, Types: []string{"A"}, Rows: func(yield func([]any, error) bool) {
			_ = yield([]any{nil}, nil) && yield([]any{int64(1)}, nil) && yield([]any{time.Unix(1, 2)}, nil) && yield([]any{[]byte("x")}, nil) && yield([]any{1.5}, nil)
		}})
	})
	return uploads, answers
}

// FuzzFiles reads any bytes as an upload: they are refused, or whole.
func FuzzFiles(f *testing.F) {
	uploads, _ := messages(f)
	for _, m := range uploads {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		list, _, err := ReadFiles(bytes.NewReader(message))
		if err != nil {
			return
		}
		// What was read can be put: nothing points beside its table.
		if _, err := mem.New().Put(t.Context(), list, store.PutOptions{Rules: "r"}); err != nil {
			return // two records of one identity, and the like
		}
		for _, file := range list {
			_ = described(file)
		}
	})
}

func reading[T any](r io.Reader) error { return Read(r, new(T)) }

// FuzzAnswers reads any bytes as each of the answers.
func FuzzAnswers(f *testing.F) {
	_, answers := messages(f)
	for _, m := range answers {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		in := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(message)) }
		for _, read := range []func(io.Reader) error{
			reading[[]store.Profile], reading[[]profile.Function], reading[map[string]string], reading[[]store.Measurement], reading[[]store.Outcome],
			reading[[]byte], reading[int], reading[Merged], reading[Sums], reading[Moments], reading[store.Query],
			reading[[]traceprof.Segment], reading[[]traceprof.Instance], reading[traceprof.SegmentQuery],
		} {
			_ = read(in())
		}
		if set, err := ReadFunctions(in()); err == nil {
			for rows, err := range set.Rows {
				for i := range rows.Profile {
					_, _ = set.Profiles[rows.Profile[i]], set.Functions[rows.Function[i]]
				}
				_ = err
			}
		}
		if set, err := ReadTrees(in()); err == nil {
			if err := set.Table.Check(); err != nil {
				t.Errorf("the table: %v", err)
			}
			for v := range set.Vectors {
				for _, n := range v.Nodes {
					_ = set.Table.Path(n)
				}
			}
		}
		if a, err := ReadSQL(in()); err == nil {
			for row, err := range a.Rows {
				if err == nil && len(row) != len(a.Columns) {
					t.Errorf("%d values in %d columns", len(row), len(a.Columns))
				}
			}
		}
	})
}
