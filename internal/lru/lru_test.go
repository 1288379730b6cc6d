package lru

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCache compares a cache with a list in the order of use.
func TestCache(t *testing.T) {
	type item struct{ key, value, bytes int }
	r := rand.New(rand.NewPCG(1, 2))
	var c Cache[int, int]
	c.Put(1, 1, 1)
	if _, ok := c.Get(1); ok || c.Len() != 0 {
		t.Error("a cache without a limit keeps something")
	}
	const pinned = 3
	c.Evict = func(key, _ int) bool { return key != pinned }
	var list []item // oldest first
	c.Reset(100)
	for step := range 20_000 {
		key := r.IntN(12)
		at := slices.IndexFunc(list, func(i item) bool { return i.key == key })
		var have item
		if at >= 0 {
			have = list[at]
			list = slices.Delete(list, at, at+1)
		}
		switch r.IntN(8) {
		case 0:
			c.Remove(key)
		case 1, 2, 3:
			value, ok := c.Get(key)
			if ok != (at >= 0) || value != have.value {
				t.Fatalf("step %d: key %d: %d, %v, want %+v", step, key, value, ok, have)
			}
			if ok {
				list = append(list, have)
			}
		default:
			i := item{key, step, r.IntN(60)}
			c.Put(i.key, i.value, int64(i.bytes))
			list = append(list, i)
			sum := 0
			for _, i := range list {
				sum += i.bytes
			}
			for k := 0; sum > 100 && k < len(list)-1; {
				if list[k].key == pinned {
					k++
					continue
				}
				sum -= list[k].bytes
				list = slices.Delete(list, k, k+1)
			}
			if c.Bytes() != int64(sum) {
				t.Fatalf("step %d: %d bytes, want %d", step, c.Bytes(), sum)
			}
		}
		if c.Len() != len(list) {
			t.Fatalf("step %d: %d entries, want %d", step, c.Len(), len(list))
		}
	}
	if c.Reset(5); c.Len() != 0 || c.Bytes() != 0 || c.Limit() != 5 {
		t.Error("Reset leaves something")
	}
}
