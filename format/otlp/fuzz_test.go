package otlp

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format/protobuf"
	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/test/readtest"
)

// checkDecode checks what must hold for whatever bytes.
func checkDecode(t *testing.T, b []byte) {
	t.Helper()
	p, err := decode(b)
	if !readtest.Sound(t, len(b), p, err) {
		return
	}
	if len(p.Warnings) > 10 || len(p.Tables) == 0 {
		t.Fatalf("%d warnings, %d tables", len(p.Warnings), len(p.Tables))
	}
	var out bytes.Buffer
	if err := Encode(&out, p, -1); err != nil {
		t.Fatal(err)
	}
	again, err := decode(out.Bytes())
	if err != nil {
		t.Fatalf("what was written does not read: %v", err)
	}
	for i := range again.Tables {
		again.Hash(i)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(readtest.File(f, recorded[1]))
	f.Add([]byte(full))
	f.Add(encode(f, mustDecode(f, []byte(full)), -1))
	f.Add([]byte("\nF\x12D\n\x00\x12@\n\x04\b\x01\x10\x02\x12\b\b\x01\x12\x04\x80\x87\xa7\x0e")) // the numbers of 1.9
	f.Fuzz(func(t *testing.T, b []byte) {
		Sniff(b)
		checkDecode(t, b)
	})
}

func TestMutations(t *testing.T) {
	seeds := [][]byte{[]byte(full), encode(t, mustDecode(t, []byte(full)), -1)}
	for _, name := range recorded {
		seeds = append(seeds, readtest.File(t, name))
	}
	for _, seed := range seeds {
		for b := range readtest.Damaged(seed, 20_000_000/(100_000+10*len(seed))) {
			checkDecode(t, b)
		}
	}
}

// TestMemory checks the bound of the package comment on messages made to be
// expensive.
func TestMemory(t *testing.T) {
	const size = 1 << 18
	fill := func(b []byte, num int, part []byte) []byte {
		for len(b) < size {
			b = wire.AppendBytes(b, num, part)
		}
		return b
	}
	first := func(p []byte) []byte { // samples of the first Profile message
		return wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 2, p)))
	}
	dictionary := func(b []byte) []byte { return wire.AppendBytes(nil, 2, b) }
	line := wire.AppendBytes(nil, 3, "")
	inlined := wire.AppendBytes(nil, 2, bytes.Repeat(line, 5000))
	deep := wire.AppendBytes(nil, 7, wire.AppendBytes(nil, 1, make([]byte, 60_000)))
	for _, tt := range []struct {
		name string
		msg  []byte
	}{
		{"samples", first(fill(nil, 2, nil))},
		{"values", first(fill(nil, 2, []byte{4<<3 | wire.Varint, 1}))},
		{"attributes", first(fill(nil, 2, append([]byte{4<<3 | wire.Varint, 1, 2<<3 | wire.Bytes, 100}, make([]byte, 100)...)))},
		{"profiles", wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2, fill(nil, 2, nil)))},
		{"comments", append(wire.AppendBytes(nil, 1, wire.AppendBytes(nil, 2,
			wire.AppendBytes(nil, 2, wire.AppendBytes(nil, 11, bytes.Repeat([]byte{1}, size))))),
			dictionary(append(wire.AppendBytes(nil, 6, ""),
				wire.AppendBytes(nil, 6, []byte(protobuf.Encode(&attribute{Value: textValue(strings.Repeat("x", size))})))...))...)},
		{"stacks", dictionary(fill(nil, 7, nil))},
		{"strings", dictionary(fill(nil, 5, nil))},
		{"locations", dictionary(fill(nil, 2, nil))},
		{"attribute table", dictionary(fill(nil, 6, nil))},
		{"inlined", append(first(fill(nil, 2, []byte{1 << 3, 0, 4 << 3, 1})), dictionary(append(inlined, deep...))...)},
		{"JSON", []byte(`{"dictionary": {"stackTable": [` + strings.Repeat("{},", size/3) + `{}]}}`)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := decode(tt.msg)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%-16s %4d bytes per byte of %d; %v", tt.name, used/uint64(len(tt.msg)), len(tt.msg), err)
		if used > 512*uint64(len(tt.msg))+32<<20 {
			t.Errorf("%s: %d bytes for a message of %d", tt.name, used, len(tt.msg))
		}
		runtime.KeepAlive(p)
	}
}
