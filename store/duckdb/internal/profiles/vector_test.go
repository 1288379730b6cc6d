package profiles

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/duckdb/internal/encoding"
)

// TestVector encodes and packs vectors and decodes them again; the first is the example of
// store/duckdb/FORMAT.md.
func TestVector(t *testing.T) {
	type vector struct {
		paths []int32
		self  []int64
		want  string
	}
	list := []vector{
		{[]int32{0, 2, 7}, []int64{20, 30, -10}, "031500a280015780"},
		{[]int32{}, []int64{}, "00"},
		{[]int32{0}, []int64{1}, ""},
		{[]int32{math.MaxInt32}, []int64{math.MaxInt64}, ""},
		{[]int32{5}, []int64{math.MinInt64}, ""},
		{[]int32{5, 6}, []int64{math.MinInt64, math.MaxInt64}, ""},
		{[]int32{1, 2, 3}, []int64{math.MinInt64 / 2, math.MinInt64, 1 << 62}, ""},
		{[]int32{1, 2}, []int64{-1, 1}, ""},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v, path := vector{}, int64(-1)
		gap, value, sign := r.IntN(31), r.IntN(63), r.IntN(2)
		scale := int64(1) + r.Int64N(1<<r.IntN(20))
		for range 1 + r.IntN(50) {
			path += 1 + r.Int64N(1<<r.IntN(gap+1))
			if path > math.MaxInt32 {
				break
			}
			n := (1 + r.Int64N(1<<r.IntN(value+1))) * scale
			if n <= 0 {
				n = math.MaxInt64
			}
			if sign > 0 && r.IntN(2) > 0 {
				n = -n
			}
			v.paths, v.self = append(v.paths, int32(path)), append(v.self, n)
		}
		list = append(list, v)
	}
	var enc encoding.Encoder
	var buf, kept calltree.Vector
	for _, v := range list {
		blob := enc.Encode(v.paths, v.self)
		if v.want != "" && hex.EncodeToString(blob) != v.want {
			t.Errorf("%v %v is encoded as %x, want %s", v.paths, v.self, blob, v.want)
		}
		limit := 0
		if len(v.paths) > 0 {
			limit = int(v.paths[len(v.paths)-1]) + 1
		}
		var err error
		if buf, err = encoding.Decode(blob, limit, buf); err != nil || !slices.Equal(buf.Nodes, v.paths) || !slices.Equal(buf.Self, v.self) {
			t.Fatalf("%v %v\nis decoded as\n%v %v, %v", v.paths, v.self, buf.Nodes, buf.Self, err)
		}
		p := packed(buf)
		if got := p.vector(&kept); !slices.Equal(got.Nodes, v.paths) || !slices.Equal(got.Self, v.self) {
			t.Fatalf("%v %v\nis kept as\n%v %v", v.paths, v.self, got.Nodes, got.Self)
		}
		if limit > 0 {
			if _, err := encoding.Decode(blob, limit-1, calltree.Vector{}); err == nil {
				t.Errorf("%v: a path beyond the forest passes", v.paths)
			}
		}
		for cut := range blob {
			if _, err := encoding.Decode(blob[:cut], limit, calltree.Vector{}); err == nil {
				t.Fatalf("%x: the first %d of %d bytes pass", blob, cut, len(blob))
			}
		}
		if _, err := encoding.Decode(append(blob, 0), limit, calltree.Vector{}); err == nil {
			t.Errorf("%x: a byte too many passes", blob)
		}
	}
}

// TestPackedRows packs rows in any order, and reads and picks them again.
func TestPackedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const functions = 3000
	var got columns
	for round := range 300 {
		var want, rows columns
		for fn := range int32(functions) {
			if r.IntN(1+round) == 0 {
				self := r.Int64N(1<<r.IntN(40)) * int64(1+round%3)
				want.profile, want.fn = append(want.profile, 7), append(want.fn, fn)
				want.self, want.total = append(want.self, self-int64(round%2)*r.Int64N(3)), append(want.total, self+r.Int64N(1+1<<r.IntN(20)))
			}
		}
		for _, i := range r.Perm(len(want.fn)) {
			rows.fn, rows.self, rows.total = append(rows.fn, want.fn[i]), append(rows.self, want.self[i]), append(rows.total, want.total[i])
		}
		p := packRows(&rows)
		got.reset()
		if p.unpack(&got, 7, nil); !reflect.DeepEqual(got.clone(), want.clone()) {
			t.Fatalf("%v\nare kept as\n%v", want, got)
		}
		fns := []int32{}
		some := want.clone() // and more
		for i, fn := range want.fn {
			if r.IntN(10) == 0 {
				fns = append(fns, fn)
				some.profile, some.fn = append(some.profile, 7), append(some.fn, fn)
				some.self, some.total = append(some.self, want.self[i]), append(some.total, want.total[i])
			} else if r.IntN(10) == 0 && !slices.Contains(want.fn, fn+1) {
				fns = append(fns, fn+1)
			}
		}
		if p.unpack(&got, 7, fns); !reflect.DeepEqual(got.clone(), some) {
			t.Fatalf("functions %v of\n%v\nare\n%v", fns, want, got)
		}
	}
}
