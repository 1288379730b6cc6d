package intern

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestIndex compares an Index with a map, also with hashes of which many are equal.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{0, 3, 32, 64}).Draw(t, "bits of the hash")
		hash := func(s string) uint64 {
			if bits == 0 {
				return 0
			}
			return String(s) >> (64 - bits) << (64 - bits)
		}
		var x Index
		var values []string
		numbers := map[string]int32{}
		for range rapid.IntRange(0, 300).Draw(t, "values") {
			v := fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "value"))
			got, ok := x.Find(hash(v), func(n int32) bool { return values[n] == v })
			want, has := numbers[v]
			if ok != has || got != want {
				t.Fatalf("%s: %d, %v, want %d, %v", v, got, ok, want, has)
			}
			if !ok {
				numbers[v] = int32(len(values))
				x.Add(hash(v), int32(len(values)))
				values = append(values, v)
			}
		}
	})
}

func TestHash(t *testing.T) {
	if String("java.lang.Thread.run") != Bytes([]byte("java.lang.Thread.run")) {
		t.Error("a text and its bytes differ")
	}
	seen := map[uint64][2]uint64{}
	for a := range uint64(300) {
		for b := range uint64(300) {
			h := With(With(0, a), b)
			if other, ok := seen[h]; ok {
				t.Fatalf("%d, %d and %v have one hash", a, b, other)
			}
			seen[h] = [2]uint64{a, b}
		}
	}
}

// TestAllocations: asking allocates nothing, whatever is asked is.
func TestAllocations(t *testing.T) {
	var x Index
	values := []string{"a", "b"}
	for i, v := range values {
		x.Add(String(v), int32(i))
	}
	v := "b"
	if n := testing.AllocsPerRun(100, func() {
		if got, ok := x.Find(String(v), func(n int32) bool { return values[n] == v }); !ok || got != 1 {
			t.Fatal(got, ok)
		}
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// key is what a function of a profile is known by.
type key struct {
	name, system, module, file string
	line, column               int32
	language                   string
}

func keys() []key {
	list := make([]key, 1<<16)
	for i := range list {
		list[i] = key{fmt.Sprintf("org.example.service.Handler$$Lambda$%d.handle", i*7), "", "", "", 0, 0, "java"}
	}
	return list
}

func hashOf(k *key) uint64 { return With(String(k.name), uint64(k.line)) }

// BenchmarkNew adds 65,536 values, each asked for before; the time is that of one.
func BenchmarkNew(b *testing.B) {
	list := keys()
	b.Run("index", func(b *testing.B) {
		for n := 0; n < b.N; n += len(list) {
			var x Index
			for i := range list {
				k := &list[i]
				h := hashOf(k)
				if _, ok := x.Find(h, func(n int32) bool { return list[n] == *k }); !ok {
					x.Add(h, int32(i))
				}
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		for n := 0; n < b.N; n += len(list) {
			x := map[key]int32{}
			for i, k := range list {
				if _, ok := x[k]; !ok {
					x[k] = int32(i)
				}
			}
		}
	})
}

// BenchmarkKnown asks for values that are there.
func BenchmarkKnown(b *testing.B) {
	list := keys()
	var x Index
	known := map[key]int32{}
	for i, k := range list {
		x.Add(hashOf(&k), int32(i))
		known[k] = int32(i)
	}
	b.Run("index", func(b *testing.B) {
		for i := range b.N {
			k := &list[i*127%len(list)]
			if _, ok := x.Find(hashOf(k), func(n int32) bool { return list[n] == *k }); !ok {
				b.Fatal("lost")
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		for i := range b.N {
			if _, ok := known[list[i*127%len(list)]]; !ok {
				b.Fatal("lost")
			}
		}
	})
}

// TestWith spreads numbers that differ in few bits, and those that somebody
// prepared for a multiplication by a constant that is known, over the table.
func TestWith(t *testing.T) {
	const n = 1 << 14
	inverse := uint64(1)
	for range 6 {
		inverse *= 2 - inverse*0x9E3779B97F4A7C15
	}
	parts := map[string]func(i uint64) uint64{
		"prepared": func(i uint64) uint64 {
			h := i | 0x12345678<<32
			return (h ^ h>>32) * inverse
		},
	}
	for shift := 0; shift <= 48; shift += 8 {
		parts[fmt.Sprint("from bit ", shift)] = func(i uint64) uint64 { return i << shift }
	}
	for name, part := range parts {
		for _, hash := range map[string]func(x uint64) uint64{
			"last":  func(x uint64) uint64 { return With(String("f"), x) },
			"first": func(x uint64) uint64 { return With(x, 0) },
		} {
			places := map[uint64]bool{}
			for i := range uint64(n) {
				places[hash(part(i))>>32%n] = true
			}
			// Of places chosen at random 1 - 1/e are taken.
			if len(places) < n*6/10 {
				t.Errorf("%s: %d numbers come to %d of %d places", name, n, len(places), n)
			}
		}
	}
}

func TestGrow(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 33, 1000} {
		var x Index
		x.Add(String("a"), 0)
		x.Grow(n)
		slots := len(x.slots)
		for i := range n {
			x.Add(String(fmt.Sprint(i)), int32(i+1))
		}
		if got, ok := x.Find(String("a"), func(i int32) bool { return i == 0 }); !ok || got != 0 || len(x.slots) != slots {
			t.Errorf("room for %d values: %d slots became %d", n, slots, len(x.slots))
		}
	}
}

// TestBytes: a value takes 11 to 22 bytes of slots, however many there are.
func TestBytes(t *testing.T) {
	var x Index
	for n := range int32(100_000) {
		if x.Add(With(0, uint64(n)), n); n < 100 {
			continue
		}
		if bytes := 8 * float64(len(x.slots)) / float64(x.used); bytes < 10 || bytes > 22 {
			t.Fatalf("%d values take %.1f bytes each", x.used, bytes)
		}
	}
	var grown Index
	if grown.Grow(x.used); len(grown.slots) != len(x.slots) {
		t.Errorf("%d slots if known before, %d if one by one", len(grown.slots), len(x.slots))
	}
}
