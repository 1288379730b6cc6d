package app

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

func Orders() string {
	var b strings.Builder
	b.WriteString(`{"orders": [`)
	for i := range 200 {
		fmt.Fprintf(&b, `{"id": %d, "name": "order %d", "price": %d.5, "open": %v},`, i, i, i, i%3 == 0)
	}
	return b.String() + `{"id": -1}]}`
}

// Open adds up the prices of open orders.
func Open(orders string) float64 {
	sum := 0.0
	for _, p := range gjson.Get(orders, "orders.#(open==true)#.price").Array() {
		sum += p.Float()
	}
	return sum + float64(gjson.Get(orders, "orders.#").Int())
}
