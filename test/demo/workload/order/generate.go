package order

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
)

var (
	firstNames = strings.Fields("Ada Bea Carl Dora Emil Fay Gus Hanna Ines Jon Kai Lena")
	lastNames  = strings.Fields("Archer Baker Cooper Draper Fisher Glover Hunter Mason Porter Turner")
	tiers      = strings.Fields("basic basic basic silver gold")
	wraps      = strings.Fields("none card ribbon")
)

// Generate returns n orders for products of the catalog, as customers send
// them. The same seed gives the same orders.
func Generate(seed uint64, n int, c *catalog.Catalog) ([][]byte, error) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	orders := make([][]byte, n)
	for i := range orders {
		data, err := json.Marshal(random(rnd, i, c))
		if err != nil {
			return nil, fmt.Errorf("order %d: %w", i, err)
		}
		orders[i] = data
	}
	return orders, nil
}

func random(rnd *rand.Rand, i int, c *catalog.Catalog) *Order {
	first, last := firstNames[rnd.IntN(len(firstNames))], lastNames[rnd.IntN(len(lastNames))]
	o := &Order{
		ID:     fmt.Sprintf("A%07d", i),
		Placed: time.Date(2024, 1, 1, 0, rnd.IntN(500000), 0, 0, time.UTC),
		Customer: Customer{
			Name:    first + " " + last,
			Email:   fmt.Sprintf("%s.%s@mail.example", first, last),
			Address: []string{fmt.Sprintf("%d Mill & Bridge Lane", 1+rnd.IntN(200)), "Springfield"},
			Tier:    tiers[rnd.IntN(len(tiers))],
		},
	}
	if rnd.IntN(3) == 0 {
		o.Coupons = append(o.Coupons, fmt.Sprintf("save-%d", 10+rnd.IntN(20)))
	}
	for range 3 + rnd.IntN(8) {
		p := c.Products[rnd.IntN(len(c.Products))]
		o.Lines = append(o.Lines, Line{
			SKU:      p.SKU,
			Quantity: 1 + rnd.IntN(15),
			Options:  map[string]string{"wrap": wraps[rnd.IntN(len(wraps))], "note": "for <" + first + ">"},
		})
	}
	return o
}
