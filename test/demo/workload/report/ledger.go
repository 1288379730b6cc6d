// Package report sums up the sales of the demo shop: it reads a ledger, rolls it
// up the category tree and writes pages and tables.
package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
)

// sale is one entry of the ledger.
type sale struct {
	day     time.Time
	product *catalog.Product
	pieces  int
	cents   int64
}

// GenerateLedger returns a ledger of n sales as CSV. The same seed gives the
// same ledger.
func GenerateLedger(seed uint64, n int, c *catalog.Catalog) ([]byte, error) {
	rnd := rand.New(rand.NewPCG(seed, 3))
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	for range n {
		p := c.Products[rnd.IntN(len(c.Products))]
		pieces := 1 + rnd.IntN(9)
		day := time.Date(2024, 1, 1+rnd.IntN(90), 0, 0, 0, 0, time.UTC)
		record := []string{day.Format(time.DateOnly), p.SKU, strconv.Itoa(pieces), fmt.Sprint(int64(pieces) * p.Cents)}
		if err := w.Write(record); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	w.Flush()
	return buf.Bytes(), w.Error()
}

// readLedger reads a ledger.
func readLedger(ledger []byte, c *catalog.Catalog) ([]sale, error) {
	r := csv.NewReader(bytes.NewReader(ledger))
	r.FieldsPerRecord = 4
	r.ReuseRecord = true
	var sales []sale
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return sales, nil
		}
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		s, err := parseSale(record, c)
		if err != nil {
			return nil, fmt.Errorf("ledger: sale %d: %w", len(sales)+1, err)
		}
		sales = append(sales, s)
	}
}

func parseSale(record []string, c *catalog.Catalog) (s sale, err error) {
	if s.day, err = time.Parse(time.DateOnly, record[0]); err != nil {
		return s, err
	}
	if s.product = c.Lookup(record[1]); s.product == nil {
		return s, fmt.Errorf("no product %q", record[1])
	}
	if s.pieces, err = strconv.Atoi(record[2]); err != nil {
		return s, err
	}
	s.cents, err = strconv.ParseInt(record[3], 10, 64)
	return s, err
}
