package transfer

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/traceprof"
)

// anyText draws any bytes: names need not be UTF-8.
func anyText(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "text"))
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
		Failure{}, store.PutOptions{}, store.File{}, store.Outcome{}, traceprof.Task{}, traceprof.Segment{}, traceprof.Snapshots{},
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
		store.ErrLocked, store.ErrOlder, store.ErrNewer, store.ErrNotStore, store.ErrCorrupt, store.ErrReadOnly, store.ErrNoSpace,
		store.ErrOtherRules,
		store.ErrConflict, store.ErrNoSource, store.ErrNothing, conflict, &store.SeveralTypesError{Keys: []string{"a/b", "c/d"}},
		errors.New("any other"),
	} {
		sent := []store.Outcome{{Err: fmt.Errorf("there: %w", err)}, {Stored: 1, Unchanged: 2}}
		var b bytes.Buffer
		if err := WriteOutcomes(&b, sent); err != nil {
			t.Fatal(err)
		}
		got, readErr := ReadOutcomes(&b)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if got[0].Err.Error() != "there: "+err.Error() || KindOf(got[0].Err) != KindOf(err) || got[1] != sent[1] {
			t.Errorf("%v became %v", sent, got)
		}
		var gotConflict *store.ConflictError
		if errors.As(err, &conflict) && (!errors.As(got[0].Err, &gotConflict) || *gotConflict != *conflict ||
			!errors.Is(got[0].Err, store.ErrConflict)) {
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

func TestVersions(t *testing.T) {
	var b bytes.Buffer
	if err := WriteOutcomes(&b, []store.Outcome{{Stored: 1}}); err != nil {
		t.Fatal(err)
	}
	message := b.Bytes()
	newer := bytes.Clone(message)
	newer[4]++
	if _, err := ReadOutcomes(bytes.NewReader(newer)); !errors.Is(err, ErrVersion) {
		t.Errorf("a newer version: %v", err)
	}
	if _, err := ReadOutcomes(strings.NewReader("<html>not a message</html>")); !errors.Is(err, ErrMalformed) {
		t.Errorf("something else: %v", err)
	}
	for n := range message {
		if _, err := ReadOutcomes(bytes.NewReader(message[:n])); err == nil {
			t.Errorf("the first %d bytes of %d are outcomes", n, len(message))
		}
	}
}

// FuzzFiles reads any bytes as an upload: they are refused, or whole.
func FuzzFiles(f *testing.F) {
	for _, list := range [][]*store.File{nil, files()} {
		var b bytes.Buffer
		if err := WriteFiles(&b, list, store.PutOptions{Rules: "r"}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
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

// FuzzOutcomes reads any bytes as the answer to an upload.
func FuzzOutcomes(f *testing.F) {
	var b bytes.Buffer
	if err := WriteOutcomes(&b, []store.Outcome{{Stored: 1}, {Err: store.ErrConflict}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(_ *testing.T, message []byte) { _, _ = ReadOutcomes(bytes.NewReader(message)) })
}
