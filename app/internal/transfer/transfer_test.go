package transfer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

var update = flag.Bool("update", false, "record the format and messages of this version in testdata")

// TestFormat lets types whose values are messages change by fields at the end only, which
// appended counts: programs of the first release skip them, and do not send them.
func TestFormat(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d\n", Version)
	types := map[string]reflect.Type{}
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
			types[typ.String()] = typ
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
	now := map[string]string{}
	for line := range strings.Lines(b.String()) {
		typ, fields, _ := strings.Cut(strings.TrimSpace(line), ":")
		now[typ] = fields
	}
	for line := range strings.Lines(string(want)) {
		typ, fields, _ := strings.Cut(strings.TrimSpace(line), ":")
		more, ok := strings.CutPrefix(now[typ], fields)
		if n := strings.Count(more, ";"); !ok || types[typ] != nil && n != appended[types[typ]] {
			t.Errorf("%s was%s and is%s: append fields only, and count them in the variable appended", typ, fields, now[typ])
		}
	}
}

// recorded returns a message of the first release.
func recorded(t *testing.T, name string, write func(io.Writer) error) []byte {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		var b bytes.Buffer
		if err := errors.Join(write(&b), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	message, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// later returns a message as a later version may write it: with more in every frame, and with
// frames of another kind.
func later(t *testing.T, message []byte) []byte {
	t.Helper()
	out := bytes.Clone(message[:len(magic)+1])
	for rest := message[len(magic)+1:]; len(rest) > 0; {
		kind := rest[0]
		n, size := binary.Uvarint(rest[1:])
		content := rest[1+size : 1+size+int(n)]
		rest = rest[1+size+int(n):]
		out = append(out, frameFile+5, 3, 'n', 'e', 'w', kind)
		out = append(append(binary.AppendUvarint(out, n+6), content...), "future"...)
	}
	return out
}

// TestRecorded reads what the first release wrote, and what a later one may write.
func TestRecorded(t *testing.T) {
	sent := files()
	message := recorded(t, "files.message", func(w io.Writer) error {
		return WriteFiles(w, sent, store.PutOptions{Conflict: store.Add, Rules: "r"})
	})
	for what, message := range map[string][]byte{"the first release": message, "a later version": later(t, message)} {
		got, opts, err := ReadFiles(bytes.NewReader(message))
		if err != nil || opts != (store.PutOptions{Conflict: store.Add, Rules: "r"}) || len(got) != len(sent) {
			t.Fatalf("%s: %d files, %+v, %v", what, len(got), opts, err)
		}
		for i := range sent {
			if d := cmp.Diff(described(sent[i]), described(got[i])); d != "" {
				t.Errorf("%s: file %d: %s", what, i, d)
			}
		}
	}
	outcomes := []store.Outcome{{Stored: 1, Unchanged: 2}, {Err: store.ErrNoSpace}}
	message = recorded(t, "outcomes.message", func(w io.Writer) error { return WriteOutcomes(w, outcomes) })
	for what, message := range map[string][]byte{"the first release": message, "a later version": later(t, message)} {
		got, err := ReadOutcomes(bytes.NewReader(message))
		if err != nil || len(got) != 2 || got[0] != outcomes[0] || !errors.Is(got[1].Err, store.ErrNoSpace) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	samples := sampled()
	message = recorded(t, "sampled.message", func(w io.Writer) error { return WriteSampled(w, noFlush, sampled()) })
	for what, message := range map[string][]byte{"the first release": message, "a later version": later(t, message)} {
		got, err := ReadSampled(io.NopCloser(bytes.NewReader(message)))
		if err != nil {
			t.Fatal(what, err)
		}
		if d := cmp.Diff(samples.Tasks, got.Tasks) + cmp.Diff(samples.Segments, got.Segments); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		var was, is []string
		for _, x := range []struct {
			s    *Sampled
			list *[]string
		}{{samples, &was}, {got, &is}} {
			for s, err := range x.s.Snapshots {
				if err != nil {
					t.Fatal(what, err)
				}
				*x.list = append(*x.list, draw(&s))
			}
		}
		if !slices.Equal(was, is) {
			t.Error(what, cmp.Diff(was, is))
		}
	}
}

// before and after are a struct and what a later version made of it.
type (
	before struct {
		A int
		B string
	}
	after struct {
		A int
		B string
		C []string
		D *before
	}
)

// TestAppendedFields: a reader skips the fields that it does not know, also of elements of a list,
// and those that the writer did not know are zero. What is cut is an error all the same.
func TestAppendedFields(t *testing.T) {
	appended[reflect.TypeFor[after]()] = 2
	defer delete(appended, reflect.TypeFor[after]())
	w := &coder{}
	code(w, &[]after{{1, "a", []string{"x"}, &before{9, "z"}}, {2, "b", nil, nil}})
	var old []before
	r := &coder{reading: true, b: w.b}
	if code(r, &old); r.err != nil || len(r.b) > 0 || !slices.Equal(old, []before{{1, "a"}, {2, "b"}}) {
		t.Errorf("%+v, %v", old, r.err)
	}
	w = &coder{}
	code(w, &old)
	var current []after
	r = &coder{reading: true, b: w.b}
	if code(r, &current); r.err != nil || !reflect.DeepEqual(current, []after{{A: 1, B: "a"}, {A: 2, B: "b"}}) {
		t.Errorf("%+v, %v", current, r.err)
	}
	for _, cut := range []string{"\x01\x00", "\x01\x01\x02", "\x01\x05\x02"} { // of one element, nothing, A, and less than it says
		r := &coder{reading: true, b: []byte(cut)}
		if code(r, &current); !errors.Is(r.err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", cut, current, r.err)
		}
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
