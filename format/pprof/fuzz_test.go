package pprof

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/dendroprof/dendro/test/readtest"
)

// checkDecode decodes msg, be it a profile or not, and checks what must hold for
// whatever bytes: a placed error of a known kind, or a valid profile that reads
// back equal when it is written.
func checkDecode(t *testing.T, msg []byte) {
	t.Helper()
	p, err := decode(msg)
	if !readtest.Sound(t, len(msg), p, err) {
		return
	}
	var out bytes.Buffer
	if err := Encode(&out, p, -1); err != nil {
		t.Fatal(err)
	}
	again, err := decode(out.Bytes())
	if err != nil {
		t.Fatalf("what was written does not read: %v", err)
	}
	readtest.Same(t, p, again)
}

func FuzzDecode(f *testing.F) {
	for _, name := range recorded {
		if msg := readtest.File(f, name); len(msg) < 5000 {
			f.Add(msg)
		}
	}
	f.Add(small().bytes(fieldSample, ints(1, 1)).b)
	f.Add(small().bytes(fieldSample, sub(func(m *builder) {
		m.packed(1, 1, 1, 1).packed(2, 7).bytes(3, ints(3, 4)).bytes(3, ints(1, 0, 9, 2))
	})).
		bytes(fieldMapping, ints(1, 1, 2, 3, 4, 4, 1, 1)).int(fieldTime, 5).int(fieldPeriod, 7).bytes(fieldPeriodType,
		ints(3, 2)).packed(fieldComment, 1, 2).b)
	f.Fuzz(func(t *testing.T, msg []byte) {
		Sniff(msg)
		checkDecode(t, msg)
	})
}

// TestMutations damages recorded profiles.
func TestMutations(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for _, name := range recorded {
		msg := readtest.File(t, name)
		for m := range readtest.Damaged(msg, rounds*1000/(1000+len(msg)/2)) {
			checkDecode(t, m)
		}
	}
}

// TestMemory checks the bound of the package comment on messages made to be
// expensive.
func TestMemory(t *testing.T) {
	size := 1 << 19
	if testing.Short() {
		size = 1 << 18
	}
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n, max int) []uint64 {
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = 1 + r.Uint64N(uint64(max))
		}
		return ids
	}
	// lines returns a location of n inlined lines.
	lines := func(id uint64, n int) []byte {
		return sub(func(m *builder) {
			m.int(1, id)
			for range n {
				m.bytes(4, ints(1))
			}
		})
	}
	fill := func(m *builder, num int, part func(i int) []byte) *builder {
		for i := 0; len(m.b) < size; i++ {
			m.bytes(num, part(i))
		}
		return m
	}
	locations := func(n int) *builder {
		m := small()
		for i := range n - 1 {
			m.bytes(fieldLocation, sub(func(m *builder) { m.int(1, uint64(i+2)).int(3, uint64(i)) }))
		}
		return m
	}
	for _, tt := range []struct {
		name string
		msg  *builder
	}{
		{"new frames", fill(locations(100), fieldSample, func(int) []byte {
			return sub(func(m *builder) { m.packed(1, random(1000, 100)...).int(2, 1) })
		})},
		{"short samples", fill(small(), fieldSample, func(int) []byte { return []byte{0x10, 1} })},
		{"short stacks", fill(locations(120), fieldSample, func(int) []byte {
			return sub(func(m *builder) { m.packed(1, random(2, 120)...).int(2, 1) })
		})},
		{"inlined", fill(locations(100).bytes(fieldLocation, lines(101, size/20)), fieldSample, func(i int) []byte {
			return sub(func(m *builder) { m.packed(1, 101, uint64(1+i%100), uint64(1+i/100%100)).int(2, 1) })
		})},
		{"inlined, few lines", fill(locations(100).bytes(fieldLocation, lines(101, 9)), fieldSample, func(i int) []byte {
			return sub(func(m *builder) { m.packed(1, append([]uint64{101, 101, 101, 101}, random(3, 100)...)...).int(2, 1) })
		})},
		{"strings", fill(small(), fieldString, func(int) []byte { return nil })},
		{"functions", fill(small(), fieldFunction, func(i int) []byte { return ints(uint64(i + 2)) })},
		{"locations", fill(small(), fieldLocation, func(i int) []byte { return ints(uint64(i + 2)) })},
		{"far locations", fill(small(), fieldLocation, func(i int) []byte { return ints(uint64(i+2) << 30) })},
		{"mappings", fill(small().strings(string(make([]byte, size/2))), fieldMapping,
			func(i int) []byte { return ints(uint64(i+1), 0, 0, 0, 5) })},
		{"lines", fill(small(), fieldLocation, func(i int) []byte { return lines(uint64(i+2), 1) })},
		{"types", fill(small(), fieldSampleType, func(int) []byte { return nil })},
		{"comments", fill(small().strings(string(make([]byte, size/2))), fieldComment, func(int) []byte { return []byte{5} })},
		{"labels", fill(small(), fieldSample, func(i int) []byte {
			return sub(func(m *builder) { m.int(2, 1).bytes(3, ints(1, 0, uint64(i))) })
		})},
		{"long labels", fill(small().strings(string(make([]byte, size/2))), fieldSample, func(i int) []byte {
			return sub(func(m *builder) { m.int(2, 1).bytes(3, ints(5, 5, uint64(i))) })
		})},
		{"long names", sub2(small().strings(string(make([]byte, size/2))), size, func(m *builder, i int) {
			id := uint64(i + 2)
			m.bytes(fieldFunction, ints(id, 5, 5, 5, id)).bytes(fieldLocation, sub(func(m *builder) { m.int(1, id).bytes(4, ints(id)) })).
				bytes(fieldSample, ints(id, 1))
		})},
		{"huge lengths", small().raw(fieldSample<<3|2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := decode(tt.msg.b)
		runtime.ReadMemStats(&after)
		used, limit := after.TotalAlloc-before.TotalAlloc, 512*uint64(len(tt.msg.b))+32<<20
		t.Logf("%-20s %4d bytes per byte of %d; %v", tt.name, used/uint64(len(tt.msg.b)), len(tt.msg.b), err)
		if used > limit {
			t.Errorf("%s: %d bytes for a message of %d", tt.name, used, len(tt.msg.b))
		}
		runtime.KeepAlive(p)
	}
}

// sub2 lets build add to m until it has size bytes.
func sub2(m *builder, size int, build func(m *builder, i int)) *builder {
	for i := 0; len(m.b) < size; i++ {
		build(m, i)
	}
	return m
}
