package store

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"
)

// Key identifies a result by what it depends on.
type Key [16]byte

// KeyOf returns the key of a result that depends on what was appended to b.
func KeyOf(b []byte) Key { return xxh3.Hash128(b).Bytes() }

// AppendText appends a text so that two texts differ from others whose bytes follow one
// another in the same way.
func AppendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// AppendNumbers appends numbers.
func AppendNumbers(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// AppendBools appends facts.
func AppendBools(b []byte, facts ...bool) []byte {
	for _, is := range facts {
		if is {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// AppendKey appends all that an analysis may read of a profile, the values of its tree by
// their hash.
func (p *Profile) AppendKey(b []byte) []byte {
	r, t := &p.Run, &p.Type
	for _, text := range []string{string(p.ID), p.Hash, p.Benchmark.Group, p.Benchmark.Name, r.Key, r.Commit, r.Branch, r.Repository,
		r.Machine,
		t.Name, t.Unit, t.PeriodUnit, t.PeriodName, t.Original, p.Profiler, p.ProfilerVersion} {
		b = AppendText(b, text)
	}
	b = AppendNumbers(b, p.Seq, r.Date.Unix(), int64(r.Date.Nanosecond()), int64(t.Scale), t.Period, int64(p.Duration), p.Samples, p.Sum,
		int64(p.Nodes), int64(len(p.Metrics)), int64(len(r.Attributes)))
	b = AppendBools(b, p.Default)
	for i := range p.Metrics {
		m := &p.Metrics[i]
		for _, text := range []string{m.Name, m.Unit, string(m.Better), string(m.Samples)} {
			b = AppendText(b, text)
		}
		b = AppendNumbers(b, int64(math.Float64bits(m.Mean)), int64(math.Float64bits(m.Error)), int64(m.N))
		b = AppendBools(b, m.Primary)
	}
	if len(r.Attributes) > 0 {
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			b = AppendText(AppendText(b, name), r.Attributes[name])
		}
	}
	return b
}
