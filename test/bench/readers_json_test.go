package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/dendroprof/dendro/format/chrome"
	"github.com/dendroprof/dendro/format/firefox"
	"github.com/dendroprof/dendro/format/speedscope"
	"github.com/dendroprof/dendro/profile"
)

// jsonSize is the least size of the files of BenchmarkReadersJSON.
const jsonSize = 50 << 20

// jsonProfile returns a profile with a tree of the given number of nodes, 4 threads
// and rows samples with times.
func jsonProfile(nodes, rows int) *profile.Profile {
	r := rand.New(rand.NewPCG(1, 2))
	p := profile.New(nil)
	for i := range 4 {
		p.Threads = append(p.Threads, profile.Thread{Name: fmt.Sprintf("worker-%d", i), ID: strconv.Itoa(100 + i), Process: "7"})
	}
	stacks := []profile.StackID{profile.NoStack}
	for range nodes {
		fn := p.Symbols.Function(profile.Function{
			Name: fmt.Sprintf("com.example.shop.service%d.Handler.handle%d", r.IntN(50), r.IntN(200)), File: "Handler.java", Kind: profile.KindJava,
		})
		f := p.Symbols.Frame(profile.Frame{Function: fn, Line: r.Int32N(300)})
		stacks = append(stacks, p.Symbols.Stack(stacks[max(0, (len(stacks)-1)-r.IntN(1+len(stacks)/4))], f))
	}
	t := profile.Samples{Type: profile.NamedType(profile.Wall)}
	for i := range rows {
		t.Add(stacks[1+r.IntN(len(stacks)-1)], 1_000_000+r.Int64N(1000))
		t.Time = append(t.Time, int64(i)*1_000_000+r.Int64N(1000))
		t.Thread = append(t.Thread, profile.ThreadID(1+r.IntN(4)))
	}
	p.Tables = []profile.Samples{t}
	return p
}

// The structs are what a plain reader of the same fields would decode into.
type (
	firefoxFile struct {
		Meta struct {
			Version    int `json:"preprocessedProfileVersion"`
			Interval   float64
			Categories []struct{ Name, Color string }
		}
		Shared  struct{ StringArray []string }
		Threads []struct {
			Name, Pid string
			Tid       any
			FuncTable struct {
				Name, Resource           []int32
				IsJS, RelevantForJS      []bool
				FileName                 []*int32
				LineNumber, ColumnNumber []*int32
			}
			FrameTable struct {
				Func, InlineDepth     []int32
				Address               []int64
				Category, Subcategory []*int32
				Line, Column          []*int32
			}
			StackTable struct {
				Frame  []int32
				Prefix []*int32
			}
			Samples struct {
				Stack  []*int32
				Time   []float64
				Weight []float64
			}
		}
	}
	speedscopeFile struct {
		Shared struct {
			Frames []struct {
				Name, File string
				Line, Col  int32
			}
		}
		Profiles []struct {
			Type, Name, Unit string
			Samples          [][]int32
			Weights          []float64
		}
	}
	traceFile struct {
		TraceEvents []struct {
			Ph, Name, Cat string
			Pid, Tid      int64
			Ts, Dur       float64
			Args          json.RawMessage
		}
	}
)

// traceText returns trace events of 8 threads, nested 4 deep.
func traceText() []byte {
	var b bytes.Buffer
	b.WriteString(`{"traceEvents":[`)
	for i := 0; b.Len() < jsonSize; i++ {
		if i > 0 {
			b.WriteString(",\n")
		}
		at, level := i/8/4*1000, i/8%4
		fmt.Fprintf(&b, `{"pid":7,"tid":%d,"ts":%d.5,"ph":"X","cat":"toplevel","name":"Task::run%d","dur":%d,"args":{"src_file":"../../a/b.cc","n":%d}}`,
			i%8, at+level*10, level*100+i%97, 900-level*100, i)
	}
	b.WriteString("]}")
	return b.Bytes()
}

// BenchmarkReadersJSON/<format> compares the readers of JSON formats, up to a whole
// profile, with encoding/json into structs, which is not yet one.
func BenchmarkReadersJSON(b *testing.B) {
	p := jsonProfile(60_000, 2_200_000)
	var ff bytes.Buffer
	if err := firefox.Encode(&ff, p, -1); err != nil {
		b.Fatal(err)
	}
	var sp bytes.Buffer
	if err := speedscope.Encode(&sp, jsonProfile(20_000, 700_000), -1); err != nil {
		b.Fatal(err)
	}
	type decoder interface {
		Decode(io.Reader, *profile.Symbols, profile.Limits) (*profile.Profile, error)
	}
	for _, f := range []struct {
		name    string
		text    []byte
		decoder decoder
		plain   func() any
	}{
		{"firefox", ff.Bytes(), firefox.NewDecoder(), func() any { return new(firefoxFile) }},
		{"speedscope", sp.Bytes(), speedscope.NewDecoder(), func() any { return new(speedscopeFile) }},
		{"chrome", traceText(), chrome.NewDecoder(), func() any { return new(traceFile) }},
	} {
		if len(f.text) < jsonSize*9/10 {
			b.Fatalf("%s: only %d bytes", f.name, len(f.text))
		}
		b.Run(f.name+"/reader=dendro", func(b *testing.B) {
			b.SetBytes(int64(len(f.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.decoder.Decode(bytes.NewReader(f.text), nil, profile.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(f.name+"/reader=encoding-json", func(b *testing.B) {
			b.SetBytes(int64(len(f.text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := json.NewDecoder(bytes.NewReader(f.text)).Decode(f.plain()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
