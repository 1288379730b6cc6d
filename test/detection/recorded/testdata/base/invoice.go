// Package billing writes invoices from records of sales.
package billing

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Line is a line of an invoice.
type Line struct {
	SKU      string
	Name     string
	Quantity int
	Cents    int
}

// Invoice is the sales of a customer.
type Invoice struct {
	Customer string
	Lines    []Line
	Net, Tax int
}

// Invoices makes an invoice per customer, in the order of their names.
func Invoices(sales []Sale, rates Rates) []Invoice {
	byCustomer := map[string]*Invoice{}
	for i := range sales {
		s := &sales[i]
		inv := byCustomer[s.Customer]
		if inv == nil {
			inv = &Invoice{Customer: s.Customer}
			byCustomer[s.Customer] = inv
		}
		inv.add(s)
	}
	list := make([]Invoice, 0, len(byCustomer))
	for _, inv := range byCustomer {
		inv.total(rates)
		list = append(list, *inv)
	}
	sort.Slice(list, func(a, b int) bool { return list[a].Customer < list[b].Customer })
	return list
}

func (inv *Invoice) add(s *Sale) {
	sku := cleanSKU(s.SKU)
	for i := range inv.Lines {
		if l := &inv.Lines[i]; l.SKU == sku && l.Cents == s.Cents {
			l.Quantity += s.Quantity
			return
		}
	}
	inv.Lines = append(inv.Lines, Line{sku, titleCase(s.Name), s.Quantity, s.Cents})
}

// cleanSKU returns a stock number with capital letters and digits only.
func cleanSKU(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z':
			out = append(out, c-'a'+'A')
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			out = append(out, c)
		}
	}
	return string(out)
}

// titleCase writes the first letter of each word as a capital.
func titleCase(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + strings.ToLower(w[1:])
	}
	return strings.Join(words, " ")
}

// total computes the sums of an invoice.
func (inv *Invoice) total(rates Rates) {
	for i := range inv.Lines {
		l := &inv.Lines[i]
		cents := l.Quantity * l.Cents
		inv.Net += cents
		inv.Tax += rates.tax(l.SKU, cents)
	}
}

// Rates are taxes in per mille by the first two characters of a stock number.
type Rates map[string]int

func (r Rates) tax(sku string, cents int) int {
	rate, ok := r[sku[:min(2, len(sku))]]
	if !ok {
		rate = 190
	}
	return (cents*rate + 500) / 1000
}

// Write writes invoices as text.
func Write(w *strings.Builder, list []Invoice) {
	for i := range list {
		inv := &list[i]
		fmt.Fprintf(w, "Invoice for %s\n", inv.Customer)
		for j := range inv.Lines {
			l := &inv.Lines[j]
			fmt.Fprintf(w, "%6d %-24s %-30s %s\n", l.Quantity, l.SKU, l.Name, money(l.Cents))
		}
		fmt.Fprintf(w, "net %s tax %s\n\n", money(inv.Net), money(inv.Tax))
	}
}

func money(cents int) string {
	s := strconv.Itoa(cents/100) + "."
	if cents%100 < 10 {
		s += "0"
	}
	return s + strconv.Itoa(cents%100)
}
