package jfr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

func mustDecode(t testing.TB, b []byte) *profile.Profile {
	t.Helper()
	p, err := NewDecoder().Decode(bytes.NewReader(b), nil, profile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// expected is text that async-profiler's own converter made of a recording.
var expected = []struct {
	recording, text, table string
	threads, lines         bool
}{
	{"ap29-multi", "expect-cpu", profile.CPUSamples, true, false},
	{"ap29-multi", "expect-alloc", profile.AllocSamples, false, false},
	{"ap29-multi", "expect-alloc-total", profile.Alloc, false, false},
	{"ap29-multi", "expect-lock-total", profile.Lock, false, false},
	{"ap46-cpu", "expect-cpu", profile.CPUSamples, true, false},
	{"ap46-cpu", "expect-cpu-lines", profile.CPUSamples, false, true},
	{"ap46-wall", "expect-wall", profile.WallSamples, true, false},
	{"ap46-multi", "expect-cpu", profile.CPUSamples, true, false},
	{"ap46-multi", "expect-wall", profile.WallSamples, true, false},
	{"ap46-multi", "expect-alloc", profile.AllocSamples, false, false},
	{"ap46-multi", "expect-alloc-total", profile.Alloc, false, false},
	{"ap46-multi", "expect-lock-total", profile.Lock, false, false},
}

// TestConverter compares with what async-profiler's converter writes, stack by
// stack, as text.
func TestConverter(t *testing.T) {
	for _, e := range expected {
		t.Run(e.recording+"."+e.text, func(t *testing.T) {
			p := mustDecode(t, readtest.File(t, e.recording+".jfr.gz"))
			want := addedLines(t, string(readtest.File(t, e.recording+"."+e.text+".collapsed.gz")))
			i, err := p.Table(e.table)
			if err != nil {
				t.Fatal(err)
			}
			got := collapsed(p, i, e.threads, e.lines)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// addedLines returns the lines of collapsed text with their counts, added up.
func addedLines(t *testing.T, text string) map[string]int64 {
	lines := map[string]int64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		lines[line[:i]] += n
	}
	return lines
}

// suffixes are what the converter writes behind a frame.
var suffixes = [profile.FrameTypes]string{
	profile.FrameInterpreted: "_[0]", profile.FrameC1: "_[1]", profile.FrameJIT: "_[j]",
	profile.FrameInlined: "_[i]", profile.FrameKernel: "_[k]",
}

// node is a node of the converter's tree. Frames that differ in their compile
// mode only are one node, and its mode is what most of them have.
type node struct {
	children                         map[string]*node
	self, total                      int64
	inlined, compiledC1, interpreted int64
}

func (n *node) child(key string) *node {
	c := n.children[key]
	if c == nil {
		c = &node{children: map[string]*node{}}
		n.children[key] = c
	}
	return c
}

func (n *node) mode() profile.FrameType {
	switch {
	case n.inlined*3 >= n.total:
		return profile.FrameInlined
	case n.compiledC1*2 >= n.total:
		return profile.FrameC1
	case n.interpreted*2 >= n.total:
		return profile.FrameInterpreted
	}
	return profile.FrameJIT
}

// compiled stands for the compile modes in keys of nodes.
const compiled = "_[?]"

// collapsed spells the samples of a table as the converter does.
func collapsed(p *profile.Profile, table int, threads, lines bool) map[string]int64 {
	root := &node{children: map[string]*node{}}
	s := &p.Tables[table]
	for i, v := range s.Value {
		at := root
		if threads {
			t := p.Threads[s.Thread[i]]
			at = at.child("[" + strings.TrimLeft(t.Name+" tid=", " ") + t.ID + "]")
		}
		for _, id := range p.Symbols.Path(s.Stack[i], nil) {
			f := p.Symbols.Frames[id]
			key := p.Symbols.Functions[f.Function].Name
			if lines && f.Line > 0 {
				key += fmt.Sprintf(":%d", f.Line)
			}
			if f.Type.CompileMode() {
				key += compiled
			} else {
				key += suffixes[f.Type]
			}
			at = at.child(key)
			at.total += v
			switch f.Type {
			case profile.FrameInlined:
				at.inlined += v
			case profile.FrameC1:
				at.compiledC1 += v
			case profile.FrameInterpreted:
				at.interpreted += v
			}
		}
		at.self += v
	}
	out := map[string]int64{}
	root.lines("", out)
	return out
}

func (n *node) lines(path string, out map[string]int64) {
	if n.self != 0 {
		out[strings.TrimPrefix(path, ";")] = n.self
	}
	for key, c := range n.children {
		if name, ok := strings.CutSuffix(key, compiled); ok {
			key = name + suffixes[c.mode()]
		}
		c.lines(path+";"+key, out)
	}
}

// TestChunks reads recordings of several chunks, of which those of async-profiler have the
// settings in the first one only. The numbers are those of the JDK's `jfr summary` and
// `jfr print`, times the interval that the recorder was told.
func TestChunks(t *testing.T) {
	for name, want := range map[string]string{
		"ap29-chunks":  "cpu-samples 116, cpu 1160ms, alloc-samples 292, alloc 153092096",
		"ap30-chunks":  "cpu-samples 21, cpu 1050ms, wall-samples 1467, wall 293400ms",
		"ap46-chunks":  "cpu-samples 22, cpu 1100ms, wall-samples 1550, wall 310000ms",
		"jdk17-chunks": "cpu-samples 39, cpu 390ms, native-samples 3",
		"jdk25-chunks": "cpu 360ms, cpu-samples 67",
	} {
		p := mustDecode(t, readtest.File(t, name+".jfr.gz"))
		var got []string
		for i := range p.Tables {
			s, n, unit := &p.Tables[i], p.Tables[i].Total(), ""
			if s.Type.Unit == nanoseconds {
				n, unit = n/1e6, "ms"
			}
			got = append(got, fmt.Sprintf("%s %d%s", s.Type.Name, n, unit))
		}
		if have := strings.Join(got, ", "); have != want {
			t.Errorf("%s: %s, want %s", name, have, want)
		}
		if p.Tables[p.Default].Type.Name != profile.CPU {
			t.Errorf("%s: the default is %s", name, p.Tables[p.Default].Type.Name)
		}
	}
}

// TestDigest compares with counts that the JDK's own tool gives of a recording of
// the JDK.
func TestDigest(t *testing.T) {
	p := mustDecode(t, readtest.File(t, "jdk25-profile.jfr.gz"))
	for _, e := range []struct{ event, table string }{
		{"jdk.ExecutionSample", profile.CPUSamples},
		{"jdk.CPUTimeSample", profile.CPU},
	} {
		t.Run(e.event, func(t *testing.T) {
			var want struct {
				Count          int
				SamplingPeriod map[string]int
				States         map[string]int
				Threads        map[string]int
				FrameTypes     map[string]int
				TopFrames      [][2]any
			}
			b, err := os.ReadFile("testdata/jdk25-profile." + strings.TrimPrefix(e.event, "jdk.") + ".digest.json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			i, err := p.Table(e.table)
			if err != nil {
				t.Fatal(err)
			}
			s := &p.Tables[i]
			if s.Len() != want.Count || s.Type.Original != e.event {
				t.Errorf("%d samples of %s, want %d", s.Len(), s.Type.Original, want.Count)
			}
			threads, states, periods := map[string]int{}, map[string]int{}, map[string]int{}
			types, top := map[string]int{}, map[string]int{}
			for i := range s.Len() {
				threads[p.Threads[s.Thread[i]].Name]++
				state := "None"
				if s.State != nil {
					state = p.States[s.State[i]]
				}
				states[state]++
				period := "None"
				if s.Type.Name == profile.CPU {
					period = fmt.Sprintf("PT%gS", time.Duration(s.Value[i]).Seconds())
				}
				periods[period]++
				path := p.Symbols.Path(s.Stack[i], nil)
				for _, id := range path[max(0, len(path)-5):] { // as many as jfr print shows
					types[modeNames[p.Symbols.Frames[id].Type]]++
				}
				leaf := p.Symbols.Frames[p.Symbols.Leaf(s.Stack[i])]
				top[p.Symbols.Functions[leaf.Function].Name]++
			}
			for _, c := range []struct {
				what      string
				want, got map[string]int
			}{
				{"threads", want.Threads, threads}, {"states", want.States, states},
				{"periods", want.SamplingPeriod, periods}, {"frame types", want.FrameTypes, types},
			} {
				if diff := cmp.Diff(c.want, c.got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.what, diff)
				}
			}
			for _, f := range want.TopFrames {
				if n := top[f[0].(string)]; float64(n) != f[1] {
					t.Errorf("%s is on top %d times, want %v", f[0], n, f[1])
				}
			}
		})
	}
}

var modeNames = map[profile.FrameType]string{
	profile.FrameInterpreted: "Interpreted", profile.FrameJIT: "JIT compiled",
	profile.FrameInlined: "Inlined", profile.FrameNative: "Native",
}
