package profiles

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
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
