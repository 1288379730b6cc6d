package pprof

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// largeProfile returns a profile of n samples in the shape of the recorded CPU
// profile, as a service of many endpoints would record it: stacks are those of
// the file with another of its stacks called from somewhere inside, through 40
// generations of handlers; few stacks are hot; most samples have labels.
func largeProfile(tb testing.TB, n int) *profile.Profile {
	p := mustDecode(tb, readtest.File(tb, "go-cpu.pb.gz"))
	s := p.Symbols
	r := rand.New(rand.NewPCG(1, 2))
	var paths [][]profile.FrameID
	for _, st := range p.Tables[0].Stack {
		paths = append(paths, s.Path(st, nil))
	}
	variant := func(id profile.FrameID, k int) profile.FrameID {
		fr := s.Frames[id]
		if k == 0 || fr.InlineDepth > 0 {
			return id
		}
		fn := s.Functions[fr.Function]
		fn.Name = fmt.Sprintf("%s.part%d", fn.Name, k)
		fn.Kind = 0
		fr.Function = s.Function(fn)
		fr.Address += uint64(k) << 24
		return s.Frame(fr)
	}
	stacks := make([]profile.StackID, max(n/8, 1))
	for i := range stacks {
		st, k := profile.NoStack, r.IntN(40)
		outer, inner := paths[r.IntN(len(paths))], paths[r.IntN(len(paths))]
		for _, id := range outer[:1+r.IntN(len(outer))] {
			st = s.Stack(st, variant(id, k))
		}
		for _, id := range inner {
			st = s.Stack(st, variant(id, k))
		}
		stacks[i] = st
	}
	p.LabelSets = p.LabelSets[:1]
	for i := range 200 {
		p.LabelSets = append(p.LabelSets, []profile.Label{
			{Key: "endpoint", Text: fmt.Sprintf("/v1/resource-%d", i%23)}, {Key: "tenant", Text: fmt.Sprintf("tenant-%d", i)},
		})
	}
	for i := range p.Tables {
		p.Tables[i] = profile.Samples{Type: p.Tables[i].Type}
	}
	zipf := rand.NewZipf(r, 1.2, 20, uint64(len(stacks)-1))
	for range n {
		st, labels, v := stacks[zipf.Uint64()], profile.LabelsID(r.IntN(len(p.LabelSets))), 1+int64(r.ExpFloat64()*3)
		if r.IntN(3) == 0 {
			labels = 0
		}
		for i, unit := range []int64{1, 10_000_000} {
			t := &p.Tables[i]
			t.Add(st, v*unit)
			t.Labels = append(t.Labels, labels)
		}
	}
	return p
}

// largeMessage is a message of more than 50 MB, written by the oracle.
var largeMessage = sync.OnceValue(func() []byte {
	var ours, theirs bytes.Buffer
	if err := Encode(&ours, largeProfile(new(testing.B), 1_100_000), -1); err != nil {
		panic(err)
	}
	o, err := oracle.ParseUncompressed(ours.Bytes())
	if err != nil {
		panic(err)
	}
	if err := o.WriteUncompressed(&theirs); err != nil {
		panic(err)
	}
	return theirs.Bytes()
})

// BenchmarkDecode compares with the reference package on inflated bytes. "warm"
// is a file like one before it: all its stacks are known.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []struct {
		name string
		msg  func() []byte
	}{
		{"large", largeMessage},
		{"small", func() []byte { return readtest.File(b, "go-cpu.pb.gz") }},
	} {
		b.Run("size="+size.name, func(b *testing.B) {
			msg := size.msg()
			readtest.Measure(b, "dendro", len(msg), func() error {
				_, err := NewDecoder().Decode(bytes.NewReader(msg), nil, profile.Limits{})
				return err
			})
			d, s := NewDecoder(), profile.NewSymbols()
			readtest.Measure(b, "dendro-warm", len(msg), func() error {
				_, err := d.Decode(bytes.NewReader(msg), s, profile.Limits{})
				return err
			})
			readtest.Measure(b, "google", len(msg), func() error {
				_, err := oracle.ParseUncompressed(msg)
				return err
			})
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	p := mustDecode(b, largeMessage())
	b.SetBytes(int64(len(largeMessage())))
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSniff(b *testing.B) {
	msg := largeMessage()[:sniffLen]
	b.SetBytes(sniffLen)
	for b.Loop() {
		if !Sniff(msg) {
			b.Fatal("not recognised")
		}
	}
}
