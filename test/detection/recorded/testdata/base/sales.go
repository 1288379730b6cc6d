package billing

import (
	"errors"
	"strconv"
	"strings"

	"example.com/tokens"
)

// Sale is a record of a sale.
type Sale struct {
	Customer, SKU, Name string
	Quantity, Cents     int
}

var errRecord = errors.New("not a record of a sale")

// ReadSales reads one sale per line: customer,sku,name,quantity,price.
func ReadSales(text string) ([]Sale, error) {
	var sales []Sale
	var fields []string
	for len(text) > 0 {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		fields = splitRecord(fields[:0], line)
		s, err := parseSale(fields)
		if err != nil {
			return nil, err
		}
		sales = append(sales, s)
	}
	return sales, nil
}

// splitRecord splits a line into fields without white space around them.
func splitRecord(list []string, line string) []string {
	list = tokens.Fields(list, line)
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func parseSale(fields []string) (Sale, error) {
	if len(fields) != 5 {
		return Sale{}, errRecord
	}
	quantity, err := strconv.Atoi(fields[3])
	if err != nil {
		return Sale{}, err
	}
	cents, err := parseCents(fields[4])
	return Sale{intern(fields[0]), intern(fields[1]), intern(fields[2]), quantity, cents}, err
}

func parseCents(s string) (int, error) {
	f, err := strconv.ParseFloat(s, 64)
	return int(f*100 + 0.5), err
}

var known = map[string]string{}

// intern returns one string for equal ones, which does not keep the whole file in memory.
func intern(s string) string {
	if k, ok := known[s]; ok {
		return k
	}
	k := strings.Clone(s)
	known[k] = k
	return k
}
