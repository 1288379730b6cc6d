// Package lru is a cache of bounded size with one policy: when its values take more
// bytes than the limit, it evicts the least recently used.
//
// The caller says how many bytes a value takes and locks the cache. A value may be
// protected from eviction. Entries do not expire, and the cache never loads a
// value by itself.
package lru

// Cache holds values by key. When their bytes exceed the limit, it evicts the least
// recently used. The zero value holds nothing; Reset gives it a limit. A Cache is
// not safe for concurrent use.
type Cache[K comparable, V any] struct {
	// Evict, which may be nil, is called before an entry is evicted, but not for
	// Remove and Reset. The cache keeps the entry if it returns false.
	Evict func(K, V) bool

	limit, bytes int64
	entries      map[K]*entry[K, V]
	newest       entry[K, V] // the ring's anchor: next is the newest entry, prev the oldest
}

type entry[K comparable, V any] struct {
	key        K
	value      V
	bytes      int64
	next, prev *entry[K, V]
}

// Reset removes everything and sets the limit in bytes.
func (c *Cache[K, V]) Reset(limit int64) {
	c.limit, c.bytes, c.entries = limit, 0, map[K]*entry[K, V]{}
	c.newest.next, c.newest.prev = &c.newest, &c.newest
}

// Limit returns the limit in bytes.
func (c *Cache[K, V]) Limit() int64 { return c.limit }

// Bytes returns the bytes of all values.
func (c *Cache[K, V]) Bytes() int64 { return c.bytes }

// Len returns the number of values.
func (c *Cache[K, V]) Len() int { return len(c.entries) }

// Get returns a value, which counts as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.entries[key]
	if e == nil {
		return value, false
	}
	if c.newest.next != e {
		e.unlink()
		c.insert(e)
	}
	return e.value, true
}

// Put adds or replaces a value that takes so many bytes, and counts it as used.
// Other values are evicted until all fit in the limit.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	if c.entries == nil {
		return
	}
	e := c.entries[key]
	if e == nil {
		e = &entry[K, V]{key: key}
		c.entries[key] = e
	} else {
		e.unlink()
	}
	c.bytes += bytes - e.bytes
	e.value, e.bytes = value, bytes
	c.insert(e)
	for old := c.newest.prev; c.bytes > c.limit && old != e; {
		next := old.prev
		if c.Evict == nil || c.Evict(old.key, old.value) {
			c.remove(old)
		}
		old = next
	}
}

// Remove removes a value, if it is there.
func (c *Cache[K, V]) Remove(key K) {
	if e := c.entries[key]; e != nil {
		c.remove(e)
	}
}

func (c *Cache[K, V]) remove(e *entry[K, V]) {
	e.unlink()
	delete(c.entries, e.key)
	c.bytes -= e.bytes
}

func (c *Cache[K, V]) insert(e *entry[K, V]) {
	e.prev, e.next = &c.newest, c.newest.next
	e.prev.next, e.next.prev = e, e
}

func (e *entry[K, V]) unlink() { e.prev.next, e.next.prev = e.next, e.prev }
