package uploads_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pprofile "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/uploads"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// TestPprofTree: the tree that clients ask for has the names of the file and the
// number of samples.
func TestPprofTree(t *testing.T) {
	fn := func(id uint64, name string) *pprofile.Location {
		return &pprofile.Location{ID: id, Line: []pprofile.Line{{Line: int64(10 * id), Function: &pprofile.Function{ID: id, Name: name}}}}
	}
	main, work, sleep := fn(1, "main.main"), fn(2, "main.work"), fn(3, "time.Sleep")
	p := &pprofile.Profile{
		SampleType: []*pprofile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &pprofile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
		Sample: []*pprofile.Sample{
			{Location: []*pprofile.Location{work, main}, Value: []int64{7, 70_000_000}},
			{Location: []*pprofile.Location{sleep, work, main}, Value: []int64{2, 20_000_000}},
			{Location: []*pprofile.Location{main}, Value: []int64{1, 10_000_000}},
		},
	}
	for _, l := range []*pprofile.Location{main, work, sleep} {
		p.Location, p.Function = append(p.Location, l), append(p.Function, l.Line[0].Function)
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	task := traceprof.Task{ID: "7_c2hvcA==.1", Kind: traceprof.PprofKind, Service: "shop", Start: 1000}
	up := uploads.New(mem.New(), uploads.Options{})
	for _, instance := range []string{"shop-1", "shop-2"} {
		if err := up.Put(t.Context(), &task, instance, file.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		instances []string
		times     int64
	}{{[]string{"shop-1"}, 1}, {[]string{"shop-1", "shop-1"}, 1}, {[]string{"shop-1", "shop-2", "shop-3"}, 2}, {nil, 0}} {
		got, err := up.Tree(t.Context(), &task, tt.instances, "")
		if err != nil {
			t.Fatal(err)
		}
		want := &uploads.Tree{}
		if tt.times > 0 {
			want = &uploads.Tree{
				Parent:    []int32{-1, 0, 1, 2},
				Signature: []string{"root", "main.main:10", "main.work:20", "time.Sleep:30"},
				Total:     []int64{10 * tt.times, 10 * tt.times, 9 * tt.times, 2 * tt.times},
				Self:      []int64{0, 1 * tt.times, 7 * tt.times, 2 * tt.times},
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", tt.instances, diff)
		}
	}
}

// jfrs are recordings of async-profiler and what its own converter makes of them.
const jfrs = "../../../../../format/jfr/testdata"

// converted sums what async-profiler's converter says, of the lines whose leaf
// ends as given.
func converted(t *testing.T, name, leaf string) (sum int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(jfrs, name+".collapsed.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		stack, value, _ := cutLast(lines.Text(), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(stack, leaf) {
			sum += n
		}
	}
	return sum
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	return s[:max(i, 0)], s[i+len(sep):], i >= 0
}

// TestEventsOfJFR compares the sums of each event with those of async-profiler's
// own converter.
func TestEventsOfJFR(t *testing.T) {
	recording, err := os.ReadFile(filepath.Join(jfrs, "ap46-multi.jfr.gz"))
	if err != nil {
		t.Fatal(err)
	}
	task := traceprof.Task{ID: "7_c2hvcA==.1", Kind: traceprof.AsyncKind, Service: "shop", Start: 1000}
	up := uploads.New(mem.New(), uploads.Options{})
	if err := up.Put(t.Context(), &task, "shop-1", recording); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		event      uploads.Event
		file, leaf string
		empty      bool
	}{
		{uploads.ExecutionSample, "ap46-multi.expect-cpu", "", false},
		{uploads.Lock, "ap46-multi.expect-lock-total", "", false},
		{uploads.AllocInTLAB, "ap46-multi.expect-alloc-total", "_[i]", false},
		{uploads.AllocOutside, "ap46-multi.expect-alloc-total", "_[k]", false},
		{uploads.LiveObject, "", "", true},
		{"NOTHING", "", "", true},
	} {
		tree, err := up.Tree(t.Context(), &task, []string{"shop-1"}, tt.event)
		if err != nil {
			t.Fatal(err)
		}
		if tt.empty {
			if len(tree.Parent) > 0 {
				t.Errorf("%s has %d nodes", tt.event, len(tree.Parent))
			}
			continue
		}
		want := converted(t, tt.file, tt.leaf)
		if want == 0 && len(tree.Parent) == 0 {
			continue
		}
		if len(tree.Parent) == 0 || tree.Total[0] != want || tree.Signature[0] != "all" || tree.Parent[0] != -1 {
			t.Errorf("%s: %d nodes, want a total of %d", tt.event, len(tree.Parent), want)
			continue
		}
		for n := range tree.Parent {
			children := int64(0)
			for c, parent := range tree.Parent {
				if parent == int32(n) {
					children += tree.Total[c]
				}
			}
			if n > 0 && tree.Parent[n] >= int32(n) || tree.Total[n] != tree.Self[n]+children {
				t.Fatalf("%s: node %d", tt.event, n)
			}
		}
	}
}

// TestPut: what becomes of recordings that are good, broken, or come twice.
func TestPut(t *testing.T) {
	jfr, err := os.ReadFile(filepath.Join(jfrs, "ap46-cpu.jfr.gz"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(jfrs, "ap46-multi.jfr.gz"))
	if err != nil {
		t.Fatal(err)
	}
	st := mem.New()
	up := uploads.New(st, uploads.Options{})
	task := traceprof.Task{ID: "7_c2hvcA==.1", Kind: traceprof.AsyncKind, Service: "shop", Start: 1000}
	for name, broken := range map[string][]byte{"garbage": []byte("garbage"), "cut": jfr[:len(jfr)/2], "empty": nil,
		"another format": []byte("a;b 3\n")} {
		if err := up.Put(t.Context(), &task, "shop-1", broken); !errors.Is(err, uploads.ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cpu := func() string {
		list, err := st.Profiles(t.Context(), store.Query{Types: []string{"cpu"}})
		if err != nil || len(list) != 1 || list[0].Benchmark != uploads.Benchmark(&task, "shop-1") || list[0].Run.Key != task.ID ||
			!list[0].Run.Date.Equal(time.UnixMilli(task.Start)) {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].Hash
	}
	var hashes []string
	for _, recording := range [][]byte{jfr, jfr, other} {
		if err := up.Put(t.Context(), &task, "shop-1", recording); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, cpu())
	}
	if hashes[0] != hashes[1] || hashes[1] == hashes[2] {
		t.Errorf("profiles %q: a repeat changes nothing, another recording takes the place", hashes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := up.Put(ctx, &task, "shop-2", jfr); err == nil || errors.Is(err, uploads.ErrUnreadable) {
		t.Errorf("a store that does not answer: %v", err)
	}
}
