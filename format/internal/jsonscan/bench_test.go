package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dendroprof/dendro/profile"
)

// table is what most of a profile in JSON is: long columns of small numbers, times
// and names.
type table struct {
	Stack []int32   `json:"stack"`
	Time  []float64 `json:"time"`
	Name  []string  `json:"name"`
}

func tableText(rows int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var t table
	for i := range rows {
		t.Stack = append(t.Stack, r.Int32N(50_000))
		t.Time = append(t.Time, float64(i)+float64(r.IntN(1e6))/1e6)
		if i%10 == 0 {
			t.Name = append(t.Name, fmt.Sprintf("java/util/concurrent/ThreadPoolExecutor$Worker.run%d", r.IntN(5000)))
		}
	}
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return text
}

func BenchmarkColumns(b *testing.B) {
	text := tableText(500_000)
	b.Run("reader=jsonscan", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		var s Scanner
		var stack []int32
		var time []int64
		for b.Loop() {
			s.Reset(bytes.NewReader(text), profile.Limits{})
			for key := range s.Object() {
				switch string(key) {
				case "stack":
					stack = Ints(&s, stack[:0], -1)
				case "time":
					time = Fixeds(&s, time[:0], 6)
				case "name":
					for range s.Array() {
						s.Bytes()
					}
				}
			}
			if err := s.End(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reader=jsonscan-skip", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		var s Scanner
		for b.Loop() {
			s.Reset(bytes.NewReader(text), profile.Limits{})
			if err := s.End(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("reader=encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			var t table
			if err := json.NewDecoder(bytes.NewReader(text)).Decode(&t); err != nil {
				b.Fatal(err)
			}
		}
	})
}
