package checkout

import (
	"fmt"
	"sync"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
	"github.com/dendroprof/dendro/test/demo/workload/order"
)

// restock is how many pieces a product has after a delivery.
const restock = 500

// stock counts the pieces of every product.
type stock struct {
	mu     sync.Mutex
	pieces map[string]int
}

func newStock(c *catalog.Catalog) *stock {
	s := &stock{pieces: make(map[string]int, len(c.Products))}
	for _, p := range c.Products {
		s.pieces[p.SKU] = restock
	}
	return s
}

// reserve takes the pieces an order asks for. A product that runs out is
// delivered anew.
func (s *stock) reserve(o *order.Order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range o.Lines {
		have, ok := s.pieces[l.SKU]
		if !ok {
			return fmt.Errorf("order %s: no stock of %q", o.ID, l.SKU)
		}
		if have < l.Quantity {
			have += restock
		}
		s.pieces[l.SKU] = have - l.Quantity
	}
	return nil
}
