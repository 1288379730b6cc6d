// Package tracestacks reads the stacks that bpftrace and DTrace count in the kernel and
// print when they end.
//
//	@[                            libc.so.1`__read+0x15
//	    vfs_read+1                shop`main+0x8
//	    ksys_read+103               12
//	, shop]: 5
//
// The layouts were seen in output of bpftrace 0.17 and in dtrace(8) of illumos and
// FreeBSD; docs/format/perf.md has the grammar and what the reader does not keep.
// Both list frames innermost first. A count becomes one sample, other keys of an
// aggregation (comm, pid) become labels.
//
// Time is linear in the text; memory is bounded by what is different in it.
package tracestacks

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Names of the formats in Profile.Format.
const (
	BPFTraceName = "bpftrace"
	DTraceName   = "dtrace"
)

// NewBPFTraceDecoder returns a decoder of the output of bpftrace. It skips histograms and
// other maps without stacks, with a warning.
func NewBPFTraceDecoder() profile.Decoder { return stacktext.NewDecoder(BPFTraceName, readBPFTrace) }

// NewDTraceDecoder returns a decoder of the output of dtrace.
func NewDTraceDecoder() profile.Decoder { return stacktext.NewDecoder(DTraceName, readDTrace) }

// SniffBPFTrace reports whether text that begins with prefix is output of bpftrace: a map
// whose key begins on the same line and continues on the next.
func SniffBPFTrace(prefix []byte) bool {
	// Every text is asked, and the expression takes a hundred times as long as the search.
	return (bytes.HasPrefix(prefix, []byte("@")) || bytes.Contains(prefix, []byte("\n@"))) && bpftraceMap.Match(prefix)
}

var bpftraceMap = regexp.MustCompile(`(?m)^@\w*\[[^\n;]*\n(?:    [^ \n]|\t[0-9a-f]+ )[^\n]*\n`)

// SniffDTrace reports whether text that begins with prefix is output of dtrace: its head,
// or a line `module` + "`" + `function+0x1f` below which a count stands.
func SniffDTrace(prefix []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(prefix, "\n"), []byte("\n"))
	return bytes.HasPrefix(line, []byte("CPU ")) && bytes.Contains(line, []byte("FUNCTION:NAME")) ||
		bytes.IndexByte(prefix, '`') >= 0 && dtraceStack.Match(prefix)
}

var dtraceStack = regexp.MustCompile("(?m)^ {5,}[\\w.+-]+`[^\n]+\n(?:(?: {5,}[^ \n][^\n]*)?\n)*? +[0-9]+\n")

// reader is the reading of one text.
type reader struct {
	*stacktext.Reading
	names  []string // of the tables
	tables []*stacktext.Table
	rows   int

	labels []profile.Label
	keys   int // labels of the stack in work
}

// finish makes the tables of the profile.
func (t *reader) finish() error {
	if t.rows == 0 {
		return t.Malformed("no stack with a count is in it")
	}
	p := t.Profile
	for i, name := range t.names {
		p.Tables = append(p.Tables, t.tables[i].Samples(profile.ValueType{Name: name, Unit: "count"}, false, 0))
	}
	p.CountLost()
	return nil
}

func (t *reader) reset() {
	t.Frames, t.labels, t.keys = t.Frames[:0], t.labels[:0], 0
}

// maxTables bounds the maps of a program.
const maxTables = 1000

// add adds the stack in work with its count to the named table and begins a new one.
func (t *reader) add(name string, count int64) error {
	defer t.reset()
	i := 0
	for i < len(t.names) && t.names[i] != name {
		i++
	}
	if i == maxTables {
		return t.Malformed("more than %d maps", maxTables)
	}
	if i == len(t.names) {
		t.names, t.tables = append(t.names, name), append(t.tables, stacktext.NewTable(t.Limits))
	}
	if len(t.Frames) > 0 {
		t.rows++
	}
	return t.Sample(t.tables[i], stacktext.Row{Stack: t.Stack(t.Frames), Value: count, Labels: t.Labels(t.labels)})
}

// key adds a key of the aggregation that is no stack.
func (t *reader) key(text []byte) {
	if text = bytes.TrimSpace(text); len(text) > 0 {
		t.keys++
		t.labels = append(t.labels, t.Label(fmt.Sprintf("key%d", t.keys), text))
	}
}

// frame adds the next frame going outwards.
func (t *reader) frame(text []byte) error {
	text = bytes.TrimSpace(text)
	return t.PushText(text, func() profile.FrameID {
		fn, address := parseFrame(stacktext.Clean(text))
		s := t.Profile.Symbols
		return s.Frame(profile.Frame{Function: s.Function(fn), Address: address})
	})
}

var (
	offset   = regexp.MustCompile(`\+(?:0x[0-9a-f]+|[0-9]+)$`)
	perfLine = regexp.MustCompile(`^([0-9a-f]+) (.*) \((.*)\)$`)
)

// parseFrame reads a frame in one of the forms
//
//	vfs_read+1    shop::price(int)+16    0x563ef8749378    libc.so.1`__read+0x15
//	7fd3e804524a shop::price(int)+16 (/srv/shop)
func parseFrame(text string) (fn profile.Function, address uint64) {
	fn.Kind = profile.KindNative
	if m := perfLine.FindStringSubmatch(text); m != nil {
		address, _ = stacktext.Hex([]byte(m[1]))
		if text = m[2]; m[3] != profile.NoName {
			fn.Module = m[3][strings.LastIndexByte(m[3], '/')+1:]
		}
		if strings.HasPrefix(m[3], "[kernel") {
			fn.Kind = profile.KindKernel
		}
	} else if module, rest, ok := strings.Cut(text, "`"); ok && module != "" && rest != "" {
		fn.Module, text = module, rest
	}
	if strings.HasPrefix(text, "0x") {
		if a, ok := stacktext.Hex([]byte(text)); ok {
			address, fn.Kind = a, profile.KindUnknown
		}
	}
	if fn.Name = offset.ReplaceAllString(text, ""); fn.Name == "" {
		fn.Name = text
	}
	if strings.Contains(fn.Name, "::") && fn.Kind == profile.KindNative {
		fn.Kind = profile.KindCPP
	}
	return fn, address
}

// readBPFTrace reads the maps of bpftrace:
//
//	@name[key,
//	    frame
//	, key]: value
func readBPFTrace(r *stacktext.Reading) error {
	r.Profile.Profiler = "bpftrace"
	t := &reader{Reading: r}
	name := ""
	open := false
	for t.Next() {
		text := t.Text()
		switch {
		case !open:
			head, keys, ok := bytes.Cut(text, []byte("["))
			if !ok || !bytes.HasPrefix(head, []byte("@")) || bytes.Contains(keys, []byte("]: ")) {
				continue // a message, a histogram, a map with keys on one line
			}
			t.reset()
			open, name = true, stacktext.Clean(head)
			t.keysOf(keys)
		case len(text) > 0 && (text[0] == '\t' || bytes.HasPrefix(text, []byte("    "))):
			if err := t.frame(text); err != nil {
				return err
			}
		default:
			keys, value, ok := cutLast(text, "]:")
			t.keysOf(keys)
			if !ok {
				continue
			}
			open = false
			count, number := stacktext.Uint(bytes.TrimSpace(value))
			if !number {
				t.Notes.Add("a map without counts (histogram, average) was left out", "stacks of maps without counts (histograms, averages) were left out", t.Number())
				continue
			}
			if err := t.add(mapName(name), count); err != nil {
				return err
			}
		}
	}
	if open && len(t.Frames) > 0 {
		t.Notes.Add("the text ends within a stack, which was left out", "", t.Number())
	}
	return t.finish()
}

// keysOf adds the keys before, between and behind stacks: `shop, 12, ` or `, shop`.
func (t *reader) keysOf(text []byte) {
	for key := range bytes.SplitSeq(text, []byte(", ")) {
		t.key(bytes.Trim(key, ", "))
	}
}

func cutLast(text []byte, sep string) (before, after []byte, ok bool) {
	if i := bytes.LastIndex(text, []byte(sep)); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, nil, false
}

// mapName returns the name of the value type of a map; of the nameless one it is the
// customary count of samples.
func mapName(name string) string {
	if name = strings.TrimPrefix(name, "@"); name == "" {
		return profile.CPUSamples
	}
	return name
}

// readDTrace reads stacks below which their count stands. A line that is indented by at
// most two blanks is another key of the aggregation. Empty lines only separate the stacks
// of a key that has two, kernel and user.
func readDTrace(r *stacktext.Reading) error {
	r.Profile.Profiler = "DTrace"
	t := &reader{Reading: r}
	for t.Next() {
		text := t.Text()
		trimmed := stacktext.TrimLeft(text)
		indent := len(text) - len(trimmed)
		if trimmed = bytes.TrimRight(trimmed, " "); len(trimmed) == 0 {
			continue
		}
		if count, ok := stacktext.Uint(trimmed); ok && indent > 0 {
			if err := t.add(profile.CPUSamples, count); err != nil {
				return err
			}
			continue
		}
		switch {
		case bytes.HasPrefix(trimmed, []byte("CPU ")) && bytes.Contains(trimmed, []byte("FUNCTION:NAME")), probe.Match(text):
			t.reset()
		case indent == 2:
			t.key(trimmed)
		case indent > 2:
			if err := t.frame(trimmed); err != nil {
				return err
			}
		default:
			t.Notes.Add("a line that is no frame was left out", "lines that are no frames were left out", t.Number())
		}
	}
	return t.finish()
}

// probe is the line that dtrace prints for each time a probe fires:
// `  0  64091                        :tick-60s`.
var probe = regexp.MustCompile(`^ *[0-9]+ +[0-9]+ +\S*:\S* *$`)
