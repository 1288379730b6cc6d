package neo4j

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// checkMemory returns an error for a profile that is too large for the server's
// memory, before the server runs out of it.
func (s *Store) checkMemory(t *bolt.Tx, c *content, file string) error {
	need := s.model.memory(c.cut.Len())
	if need < smallTransaction {
		return nil
	}
	limit, err := memoryLimit(t)
	if err != nil || limit == 0 || need <= limit {
		return err
	}
	return &bolt.OutOfMemory{
		What: fmt.Sprintf("%q", file),
		Detail: fmt.Sprintf("%d nodes in the model %s need about %d MB, and transactions may use %d MB; a heap of %d MB is enough",
			c.cut.Len(), s.model.name(), need>>20, limit>>20, heapFor(need)>>20),
	}
}

// smallTransaction is the size for which every server has memory.
const smallTransaction = 64 << 20

// serverShare is the part of the heap that the server needs itself. It lets
// transactions use 70 % of any heap, but of a small heap the rest is too little: then
// the server does not reject a transaction, but collects garbage and stops answering.
const serverShare = 256 << 20

// heapFor returns the heap that a transaction of so many bytes needs.
func heapFor(need int64) int64 { return max(need*10/7, need+serverShare) }

// heapLimit returns the bytes that transactions can really use, for a server whose
// limit is 70 % of its heap.
func heapLimit(limit int64) int64 {
	return max(min(limit, limit*10/7-serverShare), smallTransaction)
}

// memoryLimit returns the maximum bytes of one transaction, 0 if unknown.
func memoryLimit(t *bolt.Tx) (limit int64, err error) {
	err = t.Each(`SHOW SETTINGS 'dbms.memory.transaction.total.max', 'db.memory.transaction.total.max', 'db.memory.transaction.max'
		YIELD name, value, isExplicitlySet
		RETURN value, name STARTS WITH 'dbms.' AND NOT isExplicitlySet`, nil, func(r bolt.Row) error {
		n := parseBytes(r.Text(0))
		if ofHeap, _ := r[1].(bool); ofHeap && n > 0 {
			n = heapLimit(n)
		}
		if n > 0 && (limit == 0 || n < limit) {
			limit = n
		}
		return nil
	})
	return limit, err
}

// parseBytes parses a size as the server writes it ("716.80MiB", "0B"); it returns 0
// for anything else.
func parseBytes(text string) int64 {
	number := strings.TrimRight(text, "KMGTiBkmgtb")
	factor := 1.0
	switch unit := strings.ToLower(text[len(number):]); {
	case strings.HasPrefix(unit, "k"):
		factor = 1 << 10
	case strings.HasPrefix(unit, "m"):
		factor = 1 << 20
	case strings.HasPrefix(unit, "g"):
		factor = 1 << 30
	case strings.HasPrefix(unit, "t"):
		factor = 1 << 40
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 {
		return 0
	}
	return int64(n * factor)
}
