package gperftools

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

const (
	cpuFile      = "shop.cpuprofile"
	heapFile     = "shop.tcmalloc.heap"
	jemallocFile = "shop.jemalloc.heap"
)

func decode(content []byte) (*profile.Profile, error) {
	d := NewHeapDecoder()
	switch {
	case SniffCPU(content):
		d = NewCPUDecoder()
	case SniffJemalloc(content):
		d = NewJemallocDecoder()
	}
	return d.Decode(bytes.NewReader(content), nil, profile.Limits{})
}

func mustDecode(t *testing.T, content []byte) *profile.Profile {
	t.Helper()
	p, err := decode(content)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGolden(t *testing.T) {
	for _, name := range []string{cpuFile, heapFile, jemallocFile} {
		content := readtest.File(t, name)
		if SniffCPU(content) != (name == cpuFile) || SniffHeap(content) != (name == heapFile) ||
			SniffJemalloc(content) != (name == jemallocFile) {
			t.Errorf("%s is not recognised", name)
		}
		readtest.Golden(t, name+".golden", readtest.Describe(mustDecode(t, content)))
		readtest.Damage(t, content, 2000, decode)
	}
}

// TestOracle compares with the reader of these formats in the package of pprof.
func TestOracle(t *testing.T) {
	for _, name := range []string{cpuFile, heapFile} {
		content := readtest.File(t, name)
		o, err := oracle.ParseData(content)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, s := range o.Sample {
			var b strings.Builder
			for _, l := range s.Location {
				fmt.Fprintf(&b, " %#x", l.Address)
				if m := l.Mapping; m != nil {
					fmt.Fprintf(&b, " %s %#x-%#x+%#x", m.File, m.Start, m.Limit, m.Offset)
				}
			}
			for i, v := range s.Value {
				if v != 0 {
					want = append(want, fmt.Sprintf("%s %d%s", o.SampleType[i].Type, v, &b))
				}
			}
		}
		p := mustDecode(t, content)
		for i := range p.Tables {
			for row, stack := range p.Tables[i].Stack {
				var b strings.Builder
				fmt.Fprintf(&b, "%s %d", p.Tables[i].Type.Original, p.Tables[i].Value[row])
				for ; stack != profile.NoStack; stack = p.Symbols.Parent(stack) {
					f := p.Symbols.Frames[p.Symbols.Leaf(stack)]
					fmt.Fprintf(&b, " %#x", f.Address)
					if m := p.Symbols.Modules[f.Module]; f.Module != 0 {
						fmt.Fprintf(&b, " %s %#x-%#x+%#x", m.Path, m.Start, m.Limit, m.Offset)
					}
				}
				got = append(got, b.String())
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestJemalloc compares with what jeprof prints: its total, and as many objects.
func TestJemalloc(t *testing.T) {
	p := mustDecode(t, readtest.File(t, jemallocFile))
	// Every record is rounded.
	if d := p.Tables[1].Total() - 1_593_812; len(p.Tables) != 2 || d < -3 || d > 0 || p.Tables[1].Type.Period != 2048 {
		t.Error(p.Tables[1].Total(), p.Tables[1].Type)
	}
}

// cpuProfile returns a CPU profile of two samples.
func cpuProfile(order binary.ByteOrder, size int) []byte {
	var b []byte
	for _, v := range []uint64{0, 3, 0, 10_000, 0, 5, 3, 0x1010, 0x100f, 0x1020, 7, 1, 0x2010, 0, 1, 0} {
		w := make([]byte, 8)
		if size == 4 {
			w = w[:4]
			order.PutUint32(w, uint32(v))
		} else {
			order.PutUint64(w, v)
		}
		b = append(b, w...)
	}
	return append(b, "build=x\n1000-2000 r-xp 00000000 00:00 1 /srv/a b\n3000-4000 rw-p 0 0:0 1 /srv/c\n"...)
}

// TestWords reads the words of all machines. The place of the signal that the unwinder
// repeats is one frame.
func TestWords(t *testing.T) {
	const want = "5 a b!0x101f 0x101f in /srv/a b > a b!0x1010 0x1010 in /srv/a b\n7 0x2010 0x2010\n"
	for _, size := range []int{4, 8} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			content := cpuProfile(order, size)
			// 0x100f is no repetition: the address of a return is one more than its call.
			content = bytes.ReplaceAll(content, word(order, size, 0x100f), word(order, size, 0x1010))
			if got := readtest.Describe(mustDecode(t, content)); !strings.Contains(got, want) {
				t.Errorf("%v, %d bytes: %s", order, size, got)
			}
		}
	}
}

func word(order binary.ByteOrder, size int, v uint64) []byte {
	w := make([]byte, 8)
	if size == 4 {
		order.PutUint32(w, uint32(v))
		return w[:4]
	}
	order.PutUint64(w, v)
	return w
}

func TestHeap(t *testing.T) {
	for text, want := range map[string]string{
		"heap profile: 1: 2 [3: 4] @ heapprofile\n1: 2 [3: 4] @ 0x11 0x0\n0: 0 [1: 1] @\n":            "== live-samples count scale 0 period 1 bytes\n1 0x10 0x10\n",
		"heap profile: 1: 2 [3: 4] @ heap_v2/1000\n1: 1000 [0: 0] @ 0x11\n\nMAPPED_LIBRARIES:\nx\n":   "== live bytes scale 0 period 1000 bytes default\n1581 0x10 0x10\n",
		"heap profile: 1: 2 [3: 4] @ heapz_v2/1000\n1: 1000 [0: 0] @ 0x11\n":                          "== live bytes scale 0 period 1000 bytes default\n1581 0x10 0x10\n",
		"heap_v2/1000\n  t*: 9: 9 [0: 0]\n@ 0x11\n  t*: 1: 1000 [2: 2000]\n  t0: 1: 1000 [2: 2000]\n": "== alloc-samples count scale 0 period 1000 bytes\n3 0x10 0x10\n",
	} {
		if got := readtest.Describe(mustDecode(t, []byte(text))); !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestErrors(t *testing.T) {
	const head = "heap profile: 1: 2 [3: 4] @ heapprofile\n"
	cpu := cpuProfile(binary.LittleEndian, 8)
	for _, c := range []struct {
		content string
		is      error
		says    string
	}{
		{string(cpu[:100]), profile.ErrMalformed, "byte 96: malformed: unexpected EOF"},
		{string(cpu[:40]) + "\xff\xff\xff\xff\xff\xff\xff\xff", profile.ErrMalformed, "unexpected EOF"},
		{string(cpu[:40]) + strings.Repeat("\xff", 16) + strings.Repeat("\x01", 24), profile.ErrMalformed, "63 bits"},
		{string(cpu[:40]) + string(word(binary.LittleEndian, 8, 1)) + string(word(binary.LittleEndian, 8, 9)) + strings.Repeat("12345678", 9),
			profile.ErrTooLarge, "--max-depth"},
		{"heap profiles\n", profile.ErrMalformed, "not the first line"},
		{head + "what\n", profile.ErrMalformed, "line 2: malformed: not a record"},
		{head + "1: 2 [3] @ 0x1\n", profile.ErrMalformed, "not a record"},
		{head + "t1\n", profile.ErrMalformed, "not a record"},
		{head + "1: 2 [3: 4] @ x1\n", profile.ErrMalformed, "not an address"},
		{head + "1: 2 [3: 4] @ 0x1 0x2 0x3 0x4\n", profile.ErrTooLarge, "--max-depth"},
		{head + strings.Repeat("1: 9223372036854775807 [3: 4] @ 0x1\n", 2), profile.ErrMalformed, "63 bits"},
		{"heap_v2/9223372036854775807\n@ 0x1\n t*: 1: 9 [0: 0]\n@ 0x1\n t*: 9: 9223372036854775807 [0: 0]\n", profile.ErrMalformed, "63 bits"},
	} {
		d := NewHeapDecoder()
		if c.content[0] == 0 {
			d = NewCPUDecoder()
		}
		_, err := d.Decode(strings.NewReader(c.content), nil, profile.Limits{Depth: 3})
		readtest.Refused(t, fmt.Sprintf("%.40q", c.content), err, c.is, c.says)
	}
	if SniffHeap([]byte("heap profile: 60: 261408 [3466: 6560344] @ heap/131072\n")) {
		t.Error("a profile of Go is recognised")
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{cpuFile, heapFile, jemallocFile} {
		f.Add(readtest.File(f, name))
	}
	f.Add(cpuProfile(binary.BigEndian, 4))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := decode(content)
		readtest.Sound(t, len(content), p, err)
		SniffHeap(content)
	})
}
