package pprof

import (
	"bytes"
	"fmt"
	"testing"

	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestWarmLocations: a Decoder knows the locations of the messages before, whatever their numbers
// were, and takes none for another that differs in one thing only.
func TestWarmLocations(t *testing.T) {
	message := func(turn int, change func(m *oracle.Mapping, l *oracle.Location)) []byte {
		m := &oracle.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, File: "/bin/shop", BuildID: "b1"}
		other := &oracle.Mapping{ID: 2, Start: 0xa000, Limit: 0xb000, File: "/bin/other"}
		p := &oracle.Profile{SampleType: []*oracle.ValueType{{Type: "samples", Unit: "count"}}, Mapping: []*oracle.Mapping{m, other}}
		for i := range 4 { // in another order each time
			n := (i + turn) % 4
			fn := &oracle.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", n), SystemName: fmt.Sprint("s", n), Filename: "f.go", StartLine: 1}
			p.Function = append(p.Function, fn)
			l := &oracle.Location{ID: uint64(i + 1), Mapping: m, Address: uint64(0x2000 + n),
				Line: []oracle.Line{{Function: fn, Line: 7, Column: 2}}}
			p.Location = append(p.Location, l)
			if n == 0 && change != nil {
				change(other, l)
			}
			p.Sample = append(p.Sample, &oracle.Sample{Location: []*oracle.Location{l, p.Location[0]}, Value: []int64{1}})
		}
		for _, l := range p.Location {
			for i := range l.Line {
				if fn := l.Line[i].Function; fn.ID == 0 {
					fn.ID = uint64(len(p.Function) + 1)
					p.Function = append(p.Function, fn)
				}
			}
		}
		var b bytes.Buffer
		if err := p.WriteUncompressed(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	d, s := NewDecoder(), profile.NewSymbols()
	changed := func(f func(fn *oracle.Function)) func(*oracle.Mapping, *oracle.Location) {
		return func(_ *oracle.Mapping, l *oracle.Location) { f(l.Line[0].Function) }
	}
	for turn, change := range []func(*oracle.Mapping, *oracle.Location){
		nil, nil,
		func(_ *oracle.Mapping, l *oracle.Location) { l.Line[0].Line = 8 },
		func(_ *oracle.Mapping, l *oracle.Location) { l.Line[0].Line, l.Line[0].Column = 2, 7 },
		func(_ *oracle.Mapping, l *oracle.Location) { l.Address = 0x3000 },
		func(m *oracle.Mapping, l *oracle.Location) { l.Mapping = m },
		func(_ *oracle.Mapping, l *oracle.Location) { l.Mapping = nil },
		func(_ *oracle.Mapping, l *oracle.Location) { l.Line = nil },
		func(_ *oracle.Mapping, l *oracle.Location) {
			l.Line = append([]oracle.Line{{Function: &oracle.Function{Name: "inlined"}, Line: 3}}, l.Line...)
		},
		changed(func(fn *oracle.Function) { fn.Name = "g" }),
		changed(func(fn *oracle.Function) { fn.SystemName = "g" }),
		changed(func(fn *oracle.Function) { fn.Name, fn.SystemName = fn.SystemName, fn.Name }),
		changed(func(fn *oracle.Function) { fn.Filename = "g.go" }),
		changed(func(fn *oracle.Function) { fn.StartLine = 2 }),
		nil,
	} {
		msg := message(turn, change)
		before := d.locations()
		p, err := d.Decode(bytes.NewReader(msg), s, profile.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := readtest.Describe(p), readtest.Describe(mustDecode(t, msg)); got != want {
			t.Errorf("message %d: %s\nwant\n%s", turn, got, want)
		}
		want := map[bool]int{true: 0, false: 1}[change == nil]
		if turn == 0 {
			want = 4
		}
		if got := d.locations() - before; got != want {
			t.Errorf("message %d has %d new locations, want %d", turn, got, want)
		}
	}
}

// locations returns how many locations a Decoder knows.
func (d *Decoder) locations() int {
	if d.links.warm == nil {
		return 0
	}
	return len(d.links.warm.located)
}
