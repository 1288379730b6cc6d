package flamehtml

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func decode(b []byte) (*profile.Profile, error) {
	return NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
}

func mustDecode(t testing.TB, b []byte) *profile.Profile {
	t.Helper()
	p, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPages checks what is known of each recorded page.
func TestPages(t *testing.T) {
	for _, want := range []struct {
		file    string
		boxes   int
		total   int64 // of what has a stack
		typ     string
		top     string
		topSelf int64
		threads map[string]int64
	}{
		{"ap46-cpu.html.gz", 1447, 377, profile.CPUSamples, "shop/demo/ShopServer$Ledger.work", 90, map[string]int64{
			"pricing-1": 48, "pricing-2": 62, `alloc worker; "quoted"`: 70, "ledger-1": 37, "ledger-2": 20, "ledger-3": 34, "C2 CompilerThre": 59,
			"C1 CompilerThre": 36}},
		{"ap29-cpu.html.gz", 1076, 370, profile.CPUSamples, "shop/demo/ShopServer$Ledger.work", 0, nil},
		{"ap46-cpu.conv.html.gz", 1459, 483, profile.CPUSamples, "shop/demo/ShopServer$Ledger.work", 124, nil},
		{"ap29-cpu-tree.html.gz", 0, 544, profile.CPUSamples, "", 0, nil},
		{"pyspy.svg.gz", 0, 139, profile.CPUSamples, "", 0, nil},
	} {
		t.Run(want.file, func(t *testing.T) {
			b := readtest.File(t, want.file)
			if !Sniff(b[:min(len(b), 64<<10)]) {
				t.Error("not recognised")
			}
			g, err := parse(b, profile.Limits{}.WithDefaults())
			if err != nil {
				t.Fatal(err)
			}
			if want.boxes != 0 && len(g.boxes) != want.boxes {
				t.Errorf("%d boxes, want %d", len(g.boxes), want.boxes)
			}
			p := mustDecode(t, b)
			s := &p.Tables[p.Default]
			if s.Type.Name != want.typ || s.Total() != want.total {
				t.Errorf("%s of %d, want %s of %d", s.Type.Name, s.Total(), want.typ, want.total)
			}
			self, threads := map[string]int64{}, map[string]int64{}
			for i, v := range s.Value {
				f := p.Symbols.Frames[p.Symbols.Leaf(s.Stack[i])]
				self[p.Symbols.Functions[f.Function].Name] += v
				if s.Thread != nil {
					threads[p.Threads[s.Thread[i]].Name] += v
				}
			}
			if want.topSelf > 0 && self[want.top] != want.topSelf {
				t.Errorf("self value of %s is %d, want %d", want.top, self[want.top], want.topSelf)
			}
			for name, v := range want.threads {
				if threads[name] != v {
					t.Errorf("thread %s has %d, want %d", name, threads[name], v)
				}
			}
			if len(p.Warnings) > 0 {
				t.Errorf("warnings %q", p.Warnings)
			}
		})
	}
}

// collapsed spells samples as async-profiler's converter does.
func collapsed(p *profile.Profile, table int, suffixes map[profile.FrameType]string) map[string]int64 {
	out := map[string]int64{}
	s := &p.Tables[table]
	for i, v := range s.Value {
		var parts []string
		if s.Thread != nil && s.Thread[i] != 0 {
			parts = append(parts, p.Threads[s.Thread[i]].Frame)
		}
		for _, id := range p.Symbols.Path(s.Stack[i], nil) {
			f := p.Symbols.Frames[id]
			fn := p.Symbols.Functions[f.Function]
			name := fn.Name
			if fn.File != "" {
				name += " (" + fn.File + ":" + strconv.Itoa(int(f.Line)) + ")"
			}
			parts = append(parts, name+suffixes[f.Type])
		}
		out[strings.Join(parts, ";")] += v
	}
	return out
}

func lines(t *testing.T, text []byte) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[line[:i]] += n
	}
	return out
}

// TestConverter compares the page that the converter made of a recording with
// the text that it made of it.
func TestConverter(t *testing.T) {
	p := mustDecode(t, readtest.File(t, "ap46-cpu.conv.html.gz"))
	got := collapsed(p, 0, map[profile.FrameType]string{
		profile.FrameInterpreted: "_[0]", profile.FrameC1: "_[1]", profile.FrameJIT: "_[j]",
		profile.FrameInlined: "_[i]", profile.FrameKernel: "_[k]",
	})
	if diff := cmp.Diff(lines(t, readtest.File(t, "ap46-cpu.expect-cpu.collapsed.gz")), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDifferential compares a page that the converter made of two recordings
// with the text of both. The page lacks what only the base has.
func TestDifferential(t *testing.T) {
	p := mustDecode(t, readtest.File(t, "differential.html.gz"))
	if len(p.Tables) != 2 || p.Tables[0].Type.Name != profile.Base || p.Tables[1].Type.Name != profile.Head || p.Default != 1 {
		t.Fatalf("%+v", p.Tables)
	}
	base, updated := collapsed(p, 0, nil), collapsed(p, 1, nil)
	if diff := cmp.Diff(lines(t, readtest.File(t, "differential.new.collapsed.gz")), updated); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	want := lines(t, readtest.File(t, "differential.base.collapsed.gz"))
	shown := map[string]bool{}
	for stack := range updated {
		for i := range stack {
			if stack[i] == ';' {
				shown[stack[:i]] = true
			}
		}
		shown[stack] = true
	}
	for stack := range want {
		if !shown[stack] {
			delete(want, stack)
		}
	}
	if len(want) < 20 {
		t.Errorf("only %d stacks in common", len(want))
	}
	if diff := cmp.Diff(want, base); diff != "" {
		t.Errorf("base (-want +got):\n%s", diff)
	}
}
