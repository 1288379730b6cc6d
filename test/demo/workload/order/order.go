// Package order reads and checks the orders that customers of the demo shop
// send as JSON.
package order

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Line asks for a quantity of one product.
type Line struct {
	SKU      string            `json:"sku"`
	Quantity int               `json:"quantity"`
	Options  map[string]string `json:"options,omitempty"`
}

// Customer is who placed an order.
type Customer struct {
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Address []string `json:"address"`
	Tier    string   `json:"tier"`
}

// Order is one customer's order.
type Order struct {
	ID       string    `json:"id"`
	Placed   time.Time `json:"placed"`
	Customer Customer  `json:"customer"`
	Coupons  []string  `json:"coupons,omitempty"`
	Lines    []Line    `json:"lines"`
}

var (
	emailPattern  = regexp.MustCompile(`^[a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$`)
	couponPattern = regexp.MustCompile(`^(SAVE|GIFT|HELLO)-[0-9]{2,3}$`)
)

// Decode reads an order and refuses one that does not hold together.
func Decode(data []byte) (*Order, error) {
	var o Order
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	o.normalise()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("order %s: %w", o.ID, err)
	}
	return &o, nil
}

// normalise brings what customers type into one form.
func (o *Order) normalise() {
	o.Customer.Email = strings.ToLower(strings.TrimSpace(o.Customer.Email))
	for i, c := range o.Coupons {
		o.Coupons[i] = strings.ToUpper(strings.TrimSpace(c))
	}
	o.Lines = mergeLines(o.Lines)
}

// mergeLines adds up lines that ask for the same product with the same options.
func mergeLines(lines []Line) []Line {
	seen := make(map[string]int, len(lines))
	merged := lines[:0]
	for _, l := range lines {
		key := l.SKU + "?" + optionKey(l.Options)
		if at, ok := seen[key]; ok {
			merged[at].Quantity += l.Quantity
			continue
		}
		seen[key] = len(merged)
		merged = append(merged, l)
	}
	return merged
}

func (o *Order) validate() error {
	var problems []error
	if !emailPattern.MatchString(o.Customer.Email) {
		problems = append(problems, fmt.Errorf("bad address %q", o.Customer.Email))
	}
	for _, c := range o.Coupons {
		if !couponPattern.MatchString(c) {
			problems = append(problems, fmt.Errorf("bad coupon %q", c))
		}
	}
	for _, l := range o.Lines {
		if l.Quantity <= 0 {
			problems = append(problems, fmt.Errorf("%s: quantity %d", l.SKU, l.Quantity))
		}
	}
	if len(o.Lines) == 0 {
		problems = append(problems, errors.New("no lines"))
	}
	return errors.Join(problems...)
}
