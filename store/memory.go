package store

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/internal/lru"
	"github.com/dendroprof/dendro/profile"
)

// memoryBytes is the maximum of all results that a Memory keeps.
const memoryBytes = 128 << 20

// Remembering is implemented by engines that keep results for the analyses. Only their own
// writers change what such an engine holds, and a profile whose content changed has another
// Hash or Seq.
type Remembering interface {
	// Memory returns the memory of this opening of the store.
	Memory() *Memory
}

// MemoryOf returns the memory of a store; nil if it has none.
func MemoryOf(s Reader) *Memory {
	if r, ok := s.(Remembering); ok {
		return r.Memory()
	}
	return nil
}

// Memory keeps results by all that they depend on, up to a number of bytes, so that nothing
// in it becomes wrong: what changed has another key. The zero value is empty; a nil one
// keeps nothing. It is safe for concurrent use.
type Memory struct {
	generation atomic.Int64
	mu         sync.Mutex
	kept       lru.Cache[MemoryKey, any]
}

// Generation is a part of the keys of results that depend on what the store knows of
// functions: their kinds and files, which decide whose code they are. A caller reads it before
// it reads trees.
func (m *Memory) Generation() int64 { return m.generation.Load() }

// Merged begins another generation if a stored function, to which a new profile added what it
// knows, may now be other code. Lines move with every commit and decide nothing. An engine
// calls it no earlier than queries see the function, or while they wait.
func (m *Memory) Merged(before, after profile.Function) {
	if m != nil && OtherCode(before, after) {
		m.generation.Add(1)
	}
}

// MemoryKey identifies a result.
type MemoryKey [16]byte

// KeyOf returns the key of a result that depends on what was appended to b.
func KeyOf(b []byte) MemoryKey { return xxh3.Hash128(b).Bytes() }

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
	for _, text := range []string{string(p.ID), p.Hash, p.Benchmark.Group, p.Benchmark.Name, r.Key, r.Commit, r.Branch, r.Repository, r.Machine,
		t.Name, t.Unit, t.PeriodUnit, t.PeriodName, t.Original, p.Profiler, p.ProfilerVersion} {
		b = AppendText(b, text)
	}
	b = AppendNumbers(b, p.Seq, r.Date.Unix(), int64(r.Date.Nanosecond()), int64(t.Scale), t.Period, int64(p.Duration), p.Samples, p.Sum, int64(p.Nodes), int64(len(p.Metrics)), int64(len(r.Attributes)))
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

// Get returns a result, which nobody may change.
func (m *Memory) Get(key MemoryKey) (any, bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.Get(key)
}

// Put keeps a result of so many bytes, in place of those that were not used for longest.
func (m *Memory) Put(key MemoryKey, result any, bytes int64) {
	if m == nil || bytes > memoryBytes/4 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept.Limit() == 0 {
		m.kept.Reset(memoryBytes)
	}
	m.kept.Put(key, result, bytes)
}

// Forget removes all results.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept.Reset(memoryBytes)
}

// Bytes returns the bytes of all results.
func (m *Memory) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.Bytes()
}
