package app

import (
	"fmt"

	"github.com/shopspring/decimal"
)

func Amounts() []string {
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf("%d.%02d", i*37, i))
	}
	return list
}

// Bill adds amounts with tax and returns each as text.
func Bill(amounts []string) ([]string, error) {
	sum, tax := decimal.Zero, decimal.NewFromFloat(1.19)
	var lines []string
	for _, a := range amounts {
		d, err := decimal.NewFromString(a)
		if err != nil {
			return nil, err
		}
		d = d.Mul(tax).Round(2)
		sum = sum.Add(d)
		lines = append(lines, d.StringFixed(2))
	}
	return append(lines, sum.String()), nil
}
