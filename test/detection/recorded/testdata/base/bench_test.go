package billing

import (
	"fmt"
	"math/rand"
	"strings"
	"syscall"
	"testing"
)

var (
	adjectives = strings.Fields("large small brown round heavy light folding outdoor kitchen garden solid painted")
	nouns      = strings.Fields("table chair lamp shelf bench drawer cabinet mirror carpet basket bottle ladder")
	customers  = strings.Fields("Abel Baker Carter Doyle Evans Fischer Grant Hughes Irving Jensen Keller Larsen")
)

// text returns records of sales.
func text(lines int) string {
	r := rand.New(rand.NewSource(1))
	var b strings.Builder
	for range lines {
		name := adjectives[r.Intn(len(adjectives))] + " " + adjectives[r.Intn(len(adjectives))] + " " + nouns[r.Intn(len(nouns))]
		fmt.Fprintf(&b, "%s & Sons %d, \"%s-%s.%05d-%c%c\" ,%s,%d,%d.%02d\n", customers[r.Intn(len(customers))], r.Intn(20),
			name[:4], strings.ReplaceAll(name, " ", "."), r.Intn(900), 'a'+r.Intn(26), 'a'+r.Intn(26), name, 1+r.Intn(9), 1+r.Intn(300), r.Intn(100))
	}
	return b.String()
}

func sales(b *testing.B, n int) []Sale {
	list, err := ReadSales(text(n))
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func items(n int) []Item {
	r := rand.New(rand.NewSource(2))
	list := make([]Item, n)
	for i := range list {
		list[i] = Item{SKU: fmt.Sprintf("x-%d/%d", r.Intn(2000), i), Count: r.Intn(100),
			Name: adjectives[r.Intn(len(adjectives))] + " " + adjectives[r.Intn(len(adjectives))] + " " + nouns[r.Intn(len(nouns))]}
	}
	return list
}

// processor makes the processor time of a benchmark its result: other programs on the
// machine do not count.
func processor(b *testing.B) (end func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "ns/op") }
}

var rates = Rates{"LA": 70, "SM": 190, "KI": 70}

func BenchmarkInvoice(b *testing.B) {
	list := sales(b, 2000)
	defer processor(b)()
	for b.Loop() {
		var w strings.Builder
		Write(&w, Invoices(list, rates))
	}
}

func BenchmarkStock(b *testing.B) {
	list, delivered := sales(b, 2000), items(1000)
	defer processor(b)()
	for b.Loop() {
		Stock(list, delivered)
	}
}

func BenchmarkSearch(b *testing.B) {
	list := items(5000)
	defer processor(b)()
	for b.Loop() {
		Search(list, "Brown garden bench")
	}
}

func BenchmarkArchive(b *testing.B) {
	list := sales(b, 6000)
	defer processor(b)()
	for b.Loop() {
		Archive(list)
	}
}

func BenchmarkImport(b *testing.B) {
	records := text(5000)
	defer processor(b)()
	for b.Loop() {
		if _, err := ReadSales(records); err != nil {
			b.Fatal(err)
		}
	}
}
