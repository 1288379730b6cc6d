package neo4j

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// affordable reports that a profile is too large for the server's memory, before
// the server is brought to its limits.
func (s *Store) affordable(t *bolt.Tx, c *content, file string) error {
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
		Detail: fmt.Sprintf("%d nodes in the model %s take about %d MB, and transactions may take %d MB; a heap of %d MB would do",
			c.cut.Len(), s.model.name(), need>>20, limit>>20, heapFor(need)>>20),
	}
}

// smallTransaction is what every server has memory for.
const smallTransaction = 64 << 20

// serverShare is what of the heap the server needs for itself. It lets transactions
// take 70 % of any heap, but of a small one the rest is too little: then it does
// not refuse a transaction, it collects garbage and answers nobody.
const serverShare = 256 << 20

// heapFor returns the heap in which a transaction may take so many bytes.
func heapFor(need int64) int64 { return max(need*10/7, need+serverShare) }

// heapLimit is the reverse for a server whose limit is 70 % of its heap; at least
// what every server has memory for.
func heapLimit(limit int64) int64 {
	return max(min(limit, limit*10/7-serverShare), smallTransaction)
}

// memoryLimit returns how many bytes one transaction may take, 0 when that is
// not known.
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

// parseBytes reads a size as the server writes it ("716.80MiB", "0B"), 0 for
// what it does not understand.
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
