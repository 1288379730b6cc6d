package perfdata

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/format/perfscript"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(content []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(content), nil, profile.Limits{})
}

// recorded are recordings with what perf script says of them.
var recorded = map[string]string{"shop.perf.data.gz": "shop.perfscript.txt.gz", "stream.perf.data.gz": "stream.perfscript.txt.gz"}

// samples lists the samples of a profile as both formats have them: perf script prints
// addresses of the file and microseconds.
func samples(p *profile.Profile) (list []string) {
	for i := range p.Tables {
		t := &p.Tables[i]
		for row, stack := range t.Stack {
			thread := p.Threads[t.Thread[row]]
			var b strings.Builder
			fmt.Fprintf(&b, "%s %d %s %s", t.Type.Key(), t.Value[row], thread.Name, thread.ID)
			for ; stack != profile.NoStack; stack = p.Symbols.Parent(stack) {
				f := p.Symbols.Frames[p.Symbols.Leaf(stack)]
				if f.InlineDepth > 0 {
					continue
				}
				m := p.Symbols.Modules[f.Module]
				fmt.Fprintf(&b, " %x", f.Address-m.Start+m.Offset)
				fmt.Fprintf(&b, " %s %v", p.Symbols.Functions[f.Function].Module, f.Type == profile.FrameKernel)
			}
			list = append(list, b.String())
		}
	}
	slices.Sort(list)
	return list
}

// TestScript compares with perf script.
func TestScript(t *testing.T) {
	for name, script := range recorded {
		content := readtest.File(t, name)
		if !Sniff(content) {
			t.Errorf("%s is not recognised", name)
		}
		p, err := decode(content)
		if err != nil {
			t.Fatal(err)
		}
		want, err := perfscript.NewDecoder().Decode(bytes.NewReader(readtest.File(t, script)), nil, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(samples(want), samples(p)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if d := p.Duration - want.Duration; d < -2000 || d > 2000 {
			t.Errorf("%s: %v, want %v", name, p.Duration, want.Duration)
		}
		if len(p.Warnings) > 0 || p.ProfilerVersion != "6.1.187" && !strings.HasPrefix(name, "stream") {
			t.Errorf("%s: version %q, %v", name, p.ProfilerVersion, p.Warnings)
		}
		readtest.Damage(t, content, 2000, decode)
	}
}

// record returns a record of a type with fields of 8 bytes.
func record(typ uint32, misc uint16, words ...any) []byte {
	var b []byte
	for _, w := range words {
		switch w := w.(type) {
		case int:
			b = le.AppendUint64(b, uint64(w))
		case uint64:
			b = le.AppendUint64(b, w)
		case [2]uint32:
			b = le.AppendUint32(le.AppendUint32(b, w[0]), w[1])
		case string:
			b = append(b, w...)
			b = append(b, make([]byte, 8-len(w)%8)...)
		}
	}
	head := le.AppendUint16(le.AppendUint16(le.AppendUint32(nil, typ), misc), uint16(8+len(b)))
	return append(head, b...)
}

// stream returns a recording of one event whose samples have the given fields.
func stream(fields int, records ...[]byte) []byte {
	head := le.AppendUint64([]byte("PERFILE2"), streamHead)
	attr := record(recordAttr, 0, [2]uint32{1, leastAttr}, 0, 99, fields, 0, byFrequency, 0, 0, 7)
	return append(append(head, attr...), bytes.Join(records, nil)...)
}

const stack = hasIP | hasTID | hasTime | hasCallchain

// TestProcesses finds the mapping of an address: of the process, of the one it was forked
// from, of the program that exec began.
func TestProcesses(t *testing.T) {
	sample := func(pid uint32, addresses ...any) []byte {
		return record(recordSample, 0, append([]any{0x10, [2]uint32{pid, pid}, 1000, len(addresses)}, addresses...)...)
	}
	mmap := func(pid uint32, start int, path string) []byte {
		return record(recordMmap2, 0, [2]uint32{pid, pid}, start, 0x1000, 0, 0, 0, 0, 0, path)
	}
	user := uint64(1<<64 - 512)
	p, err := decode(stream(stack,
		record(recordComm, 0, [2]uint32{5, 5}, "sh"), mmap(5, 0x1000, "/bin/sh"), mmap(5, 0x9000, "//anon"),
		mmap(kernel, 0xf000, "[kernel.kallsyms]_text"),
		record(recordFork, 0, [2]uint32{6, 5}, [2]uint32{6, 5}, 0), sample(6, user, 0x1100), sample(5, user, 0x9100, 0x1100),
		record(recordComm, commExec, [2]uint32{6, 6}, "shop"), mmap(6, 0x1000, "/srv/shop"),
		sample(6, uint64(contextKernel), 0xf100, user, 0x1100), sample(6),
		record(recordLost, 0, 1, 3),
	))
	if err != nil {
		t.Fatal(err)
	}
	want := "== cpu-samples count scale 0 default\n" +
		"1 @0s [sh tid=6 in 6] sh![unknown] 0x1100 in /bin/sh\n" +
		"1 @0s [sh tid=5 in 5] sh![unknown] 0x1100 in /bin/sh > perf-5.map![unknown] 0x9100 in /tmp/perf-5.map\n" +
		"1 @0s [shop tid=6 in 6] shop![unknown] 0x1100 in /srv/shop > [kernel.kallsyms]![unknown] 0xf100\n" +
		"1 @0s [shop tid=6 in 6] [unknown] 0x10\n" +
		"warning: perf lost 3 events while recording\n"
	if diff := cmp.Diff(want, readtest.Describe(p)); diff != "" {
		t.Error(diff)
	}
}

// TestOrder reads records as the buffers of two processors leave them: samples of a program
// before its exec and its mappings.
func TestOrder(t *testing.T) {
	timed := func(time int, typ uint32, misc uint16, words ...any) []byte {
		return record(typ, misc, append(words, [2]uint32{6, 6}, time)...)
	}
	sample := func(time int, address int) []byte {
		return record(recordSample, 0, 0x10, [2]uint32{6, 6}, time, 1, address)
	}
	mmap := func(time, start int, path string) []byte {
		return timed(time, recordMmap2, 0, [2]uint32{6, 6}, start, 0x1000, 0, 0, 0, 0, 0, path)
	}
	round := record(recordRoundEnd, 0)
	head := le.AppendUint64([]byte("PERFILE2"), streamHead)
	attr := record(recordAttr, 0, [2]uint32{1, leastAttr}, 0, 99, stack, 0, sampleIDAll|byFrequency, 0, 0, 7)
	for name, records := range map[string][][]byte{
		"one round": {sample(30_000, 0x1100), sample(50_000, 0x2100), mmap(10_000, 0x1000, "/bin/sh"),
			timed(40_000, recordComm, commExec, [2]uint32{6, 6}, "shop"), mmap(45_000, 0x2000, "/srv/shop")},
		"two rounds": {sample(30_000, 0x1100), round, mmap(10_000, 0x1000, "/bin/sh"), sample(50_000, 0x2100), round,
			timed(40_000, recordComm, commExec, [2]uint32{6, 6}, "shop"), mmap(45_000, 0x2000, "/srv/shop"), round},
		"before that": {mmap(0, 0x1000, "/bin/sh"), sample(30_000, 0x1100), mmap(45_000, 0x2000, "/srv/shop"),
			timed(40_000, recordComm, commExec, [2]uint32{6, 6}, "shop"), sample(50_000, 0x2100)},
	} {
		p, err := decode(slices.Concat(append([][]byte{head, attr}, records...)...))
		if err != nil {
			t.Fatal(err)
		}
		want := "== cpu-samples count scale 0 default\n" +
			"1 @0s [ tid=6 in 6] sh![unknown] 0x1100 in /bin/sh\n" +
			"1 @20µs [shop tid=6 in 6] shop![unknown] 0x2100 in /srv/shop\n"
		if diff := cmp.Diff(want, readtest.Describe(p)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	short := decodeError(t, slices.Concat(head, attr, record(recordSample, 0, 0x10, [2]uint32{6, 6}, 9), sample(8, 0x10)))
	if want := int64(len(head) + len(attr)); short.Offset != want {
		t.Errorf("a damaged sample at byte %d, want %d", short.Offset, want)
	}
}

func decodeError(t *testing.T, content []byte) *profile.ParseError {
	t.Helper()
	_, err := decode(content)
	var at *profile.ParseError
	if !errors.As(err, &at) {
		t.Fatalf("%v, want a place", err)
	}
	return at
}

// TestPeriods reads events whose attributes say the period of all their samples, as
// `perf record -c` writes them: each its own.
func TestPeriods(t *testing.T) {
	const fields = identified | hasIP | hasCallchain
	attr := func(config, period, flags, id int) []byte {
		return record(recordAttr, 0, [2]uint32{1, leastAttr}, config, period, fields, 0, flags, 0, 0, id)
	}
	sample := func(id int) []byte { return record(recordSample, 0, id, 0x10, 1, 0x20) }
	p, err := decode(slices.Concat(le.AppendUint64([]byte("PERFILE2"), streamHead), attr(0, 1_000_000, 0, 7), attr(2, 1, 0, 8),
		attr(1, 99, byFrequency, 9),
		sample(7), sample(8), sample(7), sample(9), sample(8)))
	if err != nil {
		t.Fatal(err)
	}
	want := "== cpu nanoseconds scale 0 period 1000000 nanoseconds default\n1000000 [unknown] 0x20\n1000000 [unknown] 0x20\n" +
		"== page-faults count scale 0\n1 [unknown] 0x20\n1 [unknown] 0x20\n" +
		"== cpu-samples count scale 0\n1 [unknown] 0x20\n"
	if diff := cmp.Diff(want, readtest.Describe(p)); diff != "" {
		t.Error(diff)
	}
}

// TestFields reads samples with all fields in front of the stack.
func TestFields(t *testing.T) {
	all := identified | hasIP | hasTID | hasTime | hasAddress | hasID | hasStreamID | hasCPU | hasPeriod | hasCallchain | hasStack
	p, err := decode(stream(all, record(recordSample, 0, 7, 0x10, [2]uint32{1, 2}, 5, 0, 7, 0, [2]uint32{3, 0}, 40, 1, 0x20)))
	if err != nil {
		t.Fatal(err)
	}
	if got := readtest.Describe(p); !strings.Contains(got, "== cpu nanoseconds scale 0 period 40 nanoseconds default\n40 @0s [ tid=2 in 1] [unknown] 0x20\n") || len(p.Warnings) != 1 {
		t.Error(got)
	}
	if l := p.LabelSets[p.Tables[0].Labels[0]]; len(l) != 1 || l[0].Key != "cpu" || l[0].Num != 3 {
		t.Error(l)
	}
	for format, words := range map[uint64]int{0: 1, 4: 2, 4 | 16: 3, 1 | 2: 3, 8: 3, 8 | 4 | 1: 6} {
		f := fields{b: make([]byte, 8*words+8)}
		f.b[0] = 2 // values of a group
		if f.readValues(format); len(f.b) != 8 || f.bad {
			t.Errorf("%b: %d bytes left, want 8", format, len(f.b))
		}
	}
}

func TestErrors(t *testing.T) {
	sample := record(recordSample, 0, 0x10, [2]uint32{1, 1}, 5, 1, 0x20)
	good := stream(stack, sample)
	file := readtest.File(t, "shop.perf.data.gz")
	moved := slices.Clone(file)
	le.PutUint64(moved[24:], 1<<40)
	for name, c := range map[string]struct {
		content []byte
		is      error
		says    string
	}{
		"no head":    {[]byte("PERFILE2"), profile.ErrMalformed, "unexpected EOF"},
		"head":       {le.AppendUint64([]byte("PERFILE2"), 20), profile.ErrMalformed, "a head of 20 bytes"},
		"attributes": {moved, profile.ErrMalformed, "behind the records"},
		"cut":        {good[:len(good)-3], profile.ErrMalformed, "unexpected EOF"},
		"no event":   {append(slices.Clone(good[:16]), sample...), profile.ErrMalformed, "without an event"},
		"short":      {stream(stack, record(recordSample, 0, 0x10)), profile.ErrMalformed, "ends within its fields"},
		"chain":      {stream(stack, record(recordSample, 0, 0x10, 0, 5, 1<<62)), profile.ErrMalformed, "ends within its fields"},
		"deep":       {stream(stack, record(recordSample, 0, 0x10, 0, 5, 4, 1, 2, 3, 4)), profile.ErrTooLarge, "--max-depth"},
		"compressed": {stream(stack, record(recordCompressed, 0, 1)), profile.ErrUnsupported, "perf script"},
		"periods":    {stream(hasPeriod, record(recordSample, 0, 1<<62), record(recordSample, 0, 1<<62)), profile.ErrMalformed, "63 bits"},
		"record":     {stream(stack, []byte("\x09\x00\x00\x00\x00\x00\x04\x00")), profile.ErrMalformed, "a record of 4 bytes"},
		"two events": {stream(stack, record(recordAttr, 0, [2]uint32{1, leastAttr}, 0, 99, stack, 0, 0, 0, 0, 8), sample), profile.ErrMalformed,
			"without an id"},
		"unknown id": {stream(stack|identified, record(recordAttr, 0, [2]uint32{1, leastAttr}, 0, 99, stack, 0, 0, 0, 0, 8), sample),
			profile.ErrMalformed, "unknown event 16"},
	} {
		_, err := NewDecoder().Decode(bytes.NewReader(c.content), nil, profile.Limits{Depth: 3})
		readtest.Refused(t, name, err, c.is, c.says)
	}
	// A recording that was not ended has no features.
	size := le.Uint64(file[40:]) + le.Uint64(file[48:])
	if p, err := decode(file[:size]); err != nil || len(p.Warnings) != 1 {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	for name := range recorded {
		f.Add(readtest.File(f, name))
	}
	f.Add(stream(stack, record(recordSample, 0, 0x10, [2]uint32{1, 1}, 5, 1, 0x20)))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := decode(content)
		readtest.Sound(t, len(content), p, err)
	})
}
