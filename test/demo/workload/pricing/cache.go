package pricing

import (
	"regexp"
	"sync"
)

// patternCache keeps the compiled patterns of rules.
type patternCache struct {
	mu       sync.RWMutex
	compiled map[string]*regexp.Regexp
	// bypass makes the cache forget everything: the planted change.
	bypass bool
}

// lookup returns the compiled pattern, or nil if the cache does not have it.
func (c *patternCache) lookup(pattern string) *regexp.Regexp {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.compiled[pattern]
}

// store keeps the compiled pattern for later lookups.
func (c *patternCache) store(pattern string, re *regexp.Regexp) {
	if c.bypass {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compiled[pattern] = re
}
