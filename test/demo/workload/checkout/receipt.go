package checkout

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/dendroprof/dendro/test/demo/workload/order"
	"github.com/dendroprof/dendro/test/demo/workload/pricing"
)

var receiptTemplate = template.Must(template.New("receipt").Funcs(template.FuncMap{
	"money": money,
}).Parse(`<!doctype html>
<title>Receipt {{.Order.ID}}</title>
{{with .Order.Customer}}<address>{{.Name}} &lt;{{.Email}}&gt;{{range .Address}}<br>{{.}}{{end}}</address>{{end}}
<table>
{{range .Quote.Lines}}<tr><td>{{.Product.Category.Breadcrumb}}<td title="{{.Product.SKU}}">{{.Product.Name}}
<td>{{.Quantity}}<td>{{money .Gross}}<td>{{if .Discount}}-{{money .Discount}}{{end}}{{range .Rules}} <i>{{.}}</i>{{end}}
{{end}}</table>
<p>Tax {{money .Quote.Tax}}, total <b>{{money .Quote.Total}}</b>
`))

// renderReceipt returns the receipt of a priced order as a page.
func renderReceipt(o *order.Order, q *pricing.Quote) ([]byte, error) {
	var page bytes.Buffer
	err := receiptTemplate.Execute(&page, struct {
		Order *order.Order
		Quote *pricing.Quote
	}{o, q})
	if err != nil {
		return nil, fmt.Errorf("receipt of order %s: %w", o.ID, err)
	}
	return page.Bytes(), nil
}

// money formats an amount in cents.
func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
