package pprof

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// recorded are the real profiles in testdata.
var recorded = []string{
	"go-cpu.pb.gz", "go-cpu-small.pb.gz", "go-heap.pb.gz", "go-goroutine.pb.gz", "go-threadcreate.pb.gz",
	"async-profiler-cpu.pprof.gz",
}

func decode(msg []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(msg), nil, profile.Limits{})
}

func mustDecode(tb testing.TB, msg []byte) *profile.Profile {
	tb.Helper()
	p, err := decode(msg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestRecordedProfiles(t *testing.T) {
	const ms = int64(time.Millisecond)
	tests := []struct {
		file     string
		types    string
		fallback string // the default type
		totals   []int64
		samples  []int
	}{
		{"go-cpu.pb.gz", "cpu-samples/count@10000000nanoseconds cpu/nanoseconds@10000000nanoseconds", "cpu", []int64{192, 1920 * ms}, []int{166, 166}},
		{"go-cpu-small.pb.gz", "cpu-samples/count@10000000nanoseconds cpu/nanoseconds@10000000nanoseconds", "cpu", []int64{37, 370 * ms}, []int{4, 4}},
		{"go-heap.pb.gz", "alloc-samples/count alloc/bytes@65536bytes live-samples/count live/bytes@65536bytes", "live", nil, nil},
		{"go-goroutine.pb.gz", "goroutines/count@1count", "goroutines", []int64{27}, []int{10}},
		{"go-threadcreate.pb.gz", "threadcreate/count@1count", "threadcreate", []int64{7}, []int{1}},
		{"async-profiler-cpu.pprof.gz", "cpu-samples/count", "cpu-samples", []int64{483}, nil},
	}
	for _, tt := range tests {
		p := mustDecode(t, readtest.File(t, tt.file))
		var keys []string
		var totals []int64
		var samples []int
		for i := range p.Tables {
			keys = append(keys, p.Tables[i].Type.Key())
			totals = append(totals, p.Tables[i].Total())
			samples = append(samples, p.Tables[i].Len())
		}
		if got := strings.Join(keys, " "); got != tt.types {
			t.Errorf("%s: types %s, want %s", tt.file, got, tt.types)
		}
		if got := p.Tables[p.Default].Type.Name; got != tt.fallback {
			t.Errorf("%s: default %s, want %s", tt.file, got, tt.fallback)
		}
		if tt.totals != nil && !cmp.Equal(totals, tt.totals) {
			t.Errorf("%s: totals %d, want %d", tt.file, totals, tt.totals)
		}
		if tt.samples != nil && !cmp.Equal(samples, tt.samples) {
			t.Errorf("%s: samples %d, want %d", tt.file, samples, tt.samples)
		}
		if len(p.Warnings) > 0 {
			t.Errorf("%s: warnings %v", tt.file, p.Warnings)
		}
		if p.Format != Name || p.Start.IsZero() {
			t.Errorf("%s: format %q, start %v", tt.file, p.Format, p.Start)
		}
	}
}

func TestHead(t *testing.T) {
	p := mustDecode(t, readtest.File(t, "go-cpu.pb.gz"))
	if got := p.Start.Format(time.RFC3339Nano); got != "2026-11-20T23:25:08.895933931Z" {
		t.Errorf("start %s", got)
	}
	if p.Duration.Round(time.Second) != 4*time.Second {
		t.Errorf("duration %v", p.Duration)
	}
	want := profile.Module{Path: "/srv/shop/goweb", BuildID: "4e79eb10b864ca30cf0dcaaf180f58e623099239", Start: 0x400000, Limit: 0x6fc000,
		HasFunctions: true}
	if got := p.Symbols.Modules[1]; got != want {
		t.Errorf("module %+v, want %+v", got, want)
	}
	p = mustDecode(t, readtest.File(t, "async-profiler-cpu.pprof.gz"))
	if p.Profiler != "async-profiler" {
		t.Errorf("profiler %q", p.Profiler)
	}
	for _, fn := range p.Symbols.Functions {
		if fn.Module != "" {
			t.Fatalf("%s is in module %q", fn.Name, fn.Module)
		}
	}
}

func TestKinds(t *testing.T) {
	want := map[string]profile.Kind{
		"main.quadratic":                            profile.KindGo,
		"net/http.(*conn).serve":                    profile.KindGo,
		"runtime.goexit":                            profile.KindGoRuntime,
		"runtime.mcall":                             profile.KindGoRuntime,
		"internal/runtime/syscall/linux.Syscall6":   profile.KindGoRuntime,
		"crypto/internal/fips140/sha256.blockSHANI": profile.KindGo,
		"shop/demo/ShopServer$Ledger.work":          profile.KindJava,
		"Parse::do_call":                            profile.KindCPP,
		"clone3":                                    profile.KindNative,
	}
	for _, file := range []string{"go-cpu.pb.gz", "async-profiler-cpu.pprof.gz"} {
		for _, fn := range mustDecode(t, readtest.File(t, file)).Symbols.Functions {
			if k, ok := want[fn.Name]; ok && k != fn.Kind {
				t.Errorf("%s: kind %v, want %v", fn.Name, fn.Kind, k)
			}
			if fn.Kind == profile.KindUnknown {
				t.Errorf("%s (%s): no kind", fn.Name, fn.File)
			}
		}
	}
}

// TestTop compares function lists with what go tool pprof printed.
func TestTop(t *testing.T) {
	for _, name := range []string{"go-cpu", "go-heap", "go-goroutine"} {
		p := mustDecode(t, readtest.File(t, name+".pb.gz"))
		tree, err := calltree.Merge(calltree.FromProfile(p, p.Default))
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]calltree.FunctionRow{}
		for _, r := range tree.FunctionRows() {
			rows[tree.Functions[r.Func].Name] = r
		}
		lines := 0
		for _, line := range table(t, name+".top.txt") {
			cells := strings.Fields(strings.TrimSuffix(line, " (inline)"))
			if len(cells) != 6 || cells[0] == "flat" {
				continue
			}
			lines++
			row, ok := rows[cells[5]]
			if !ok {
				t.Errorf("%s: no function %s", name, cells[5])
			}
			if !same(row.Self, cells[0]) || !same(row.Total, cells[3]) {
				t.Errorf("%s: %s has self %d and total %d, want %s and %s", name, cells[5], row.Self, row.Total, cells[0], cells[3])
			}
		}
		if lines < 8 {
			t.Errorf("%s: compared %d lines", name, lines)
		}
	}
}

// TestTags compares sums per label with what go tool pprof printed.
func TestTags(t *testing.T) {
	p := mustDecode(t, readtest.File(t, "go-cpu.pb.gz"))
	sums := map[string]int64{}
	s := &p.Tables[p.Default]
	for i, v := range s.Value {
		for _, l := range p.LabelSets[s.Labels[i]] {
			sums[l.Key+":"+l.Text] += v
		}
	}
	key := ""
	for _, line := range table(t, "go-cpu.tags.txt") {
		cells := strings.Fields(line)
		switch {
		case len(cells) == 0:
		case strings.Contains(line, ": Total"):
			key = cells[0]
		default:
			value := cells[len(cells)-1]
			if !same(sums[key+value], cells[0]) {
				t.Errorf("%s %s: sum %d, want %s", key, value, sums[key+value], cells[0])
			}
			delete(sums, key+value)
		}
	}
	if len(sums) > 0 {
		t.Errorf("labels that should not be: %v", sums)
	}
}

func table(t *testing.T, name string) (lines []string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	return lines
}

// same reports whether v is what text says, which has at least 2 decimals.
func same(v int64, text string) bool {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := map[string]float64{"": 1, "ms": 1e6, "s": 1e9, "kB": 1024, "MB": 1 << 20}[text[len(number):]]
	x, err := strconv.ParseFloat(number, 64)
	return err == nil && math.Abs(float64(v)/unit-x) < 0.0051
}

func TestSniff(t *testing.T) {
	for _, name := range recorded {
		msg := readtest.File(t, name)
		if !Sniff(msg) {
			t.Errorf("%s is not recognised", name)
		}
		if Sniff(msg[:len(msg)-1]) {
			t.Errorf("%s, cut, is recognised as a whole", name)
		}
	}
	large := bytes.Buffer{}
	big := largeProfile(t, 20_000)
	if err := Encode(&large, big, -1); err != nil {
		t.Fatal(err)
	}
	for n := sniffLen; n < sniffLen+64; n++ {
		if !Sniff(large.Bytes()[:n]) {
			t.Errorf("a prefix of %d bytes is not recognised", n)
		}
	}
	noise := make([]byte, sniffLen)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	for _, other := range []string{
		"", "\n", "\n\n\n", "main;work 10\n", "{}", "[]", "<html>", "PERFILE2........", "FLR\x00\x00\x02\x00\x00", "\x0a\x00",
		"\x1f\x8b\x08\x00", "PK\x03\x04", string(noise), strings.Repeat("a;b;c 12\n", 10_000), strings.Repeat("\n", sniffLen),
		strings.Repeat("\x00", sniffLen), strings.Repeat("0", sniffLen), strings.Repeat("2\x00", sniffLen/2),
		// An OpenTelemetry ProfilesData: messages in field 1 that are no value types.
		"\x0a\x08\x0a\x00\x12\x04\x12\x02\x0a\x00\x12\x04\x2a\x02\x08\x01",
	} {
		if Sniff([]byte(other)) {
			t.Errorf("%.20q is taken for pprof", other)
		}
	}
}

// TestWarm decodes the same files into one Symbols again and again: nothing is
// added and nothing differs.
func TestWarm(t *testing.T) {
	d, s := NewDecoder(), profile.NewSymbols()
	hashes := map[string]profile.Hash{}
	var functions, frames, stacks int
	for round := range 3 {
		for _, name := range recorded {
			p, err := d.Decode(bytes.NewReader(readtest.File(t, name)), s, profile.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Tables {
				key, h := fmt.Sprint(name, i), p.Hash(i)
				if round > 0 && hashes[key] != h {
					t.Errorf("%s table %d: another hash in round %d", name, i, round)
				}
				hashes[key] = h
				if fresh := mustDecode(t, readtest.File(t, name)).Hash(i); fresh != h {
					t.Errorf("%s table %d: another hash with fresh symbols", name, i)
				}
			}
		}
		if round > 0 && (functions != len(s.Functions) || frames != len(s.Frames) || stacks != s.Stacks.Len()) {
			t.Errorf("round %d added symbols", round)
		}
		functions, frames, stacks = len(s.Functions), len(s.Frames), s.Stacks.Len()
	}
	other := profile.NewSymbols()
	p, err := d.Decode(bytes.NewReader(readtest.File(t, recorded[0])), other, profile.Limits{})
	if err != nil || p.Symbols != other || len(other.Functions) == 0 {
		t.Errorf("other symbols are not used: %v", err)
	}
}
