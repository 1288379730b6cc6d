package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	texttemplate "text/template"

	"github.com/dendroprof/dendro/test/demo/workload/catalog"
	"github.com/dendroprof/dendro/test/demo/workload/wire"
)

// The page nests a list for every level of the category tree.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"money": money,
}).Parse(`{{define "node"}}<li><b>{{.Name}}</b> {{.Pieces}} pieces, {{money .Cents}}, median {{money .Median}}
{{with .Top}}<ol>{{range .}}<li title="{{.SKU}}">{{money .Cents}}</li>{{end}}</ol>{{end}}
{{with .Children}}<ul>{{range .}}{{template "node" .}}{{end}}</ul>{{end}}</li>
{{end}}<!doctype html>
<title>Sales</title>
<ul>{{template "node" .}}</ul>
`))

var mailTemplate = texttemplate.Must(texttemplate.New("mail").Funcs(texttemplate.FuncMap{
	"money": money,
	"upper": strings.ToUpper,
}).Parse(`Sales of {{upper .Name}}: {{.Pieces}} pieces, {{money .Cents}}
{{range .Children}}{{printf "%-12s" .Name}} {{printf "%12s" (money .Cents)}}
{{range .Top}}   {{.SKU}} {{money .Cents}}
{{end}}{{end}}`))

// Build reads a ledger and returns the report on it as a page, a mail and a
// table, all packed.
func Build(ledger []byte, c *catalog.Catalog) ([]*wire.Response, error) {
	sales, err := readLedger(ledger, c)
	if err != nil {
		return nil, err
	}
	summary := sumUp(sales, c.Root)
	var packed []*wire.Response
	for _, render := range []func(*Summary) ([]byte, error){renderPage, renderMail, renderTable} {
		body, err := render(summary)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		response, err := wire.Pack(body)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		packed = append(packed, response)
	}
	return packed, nil
}

func renderPage(s *Summary) ([]byte, error) {
	var buf bytes.Buffer
	err := pageTemplate.Execute(&buf, s)
	return buf.Bytes(), err
}

func renderMail(s *Summary) ([]byte, error) {
	var buf bytes.Buffer
	err := mailTemplate.Execute(&buf, s)
	return buf.Bytes(), err
}

func renderTable(s *Summary) ([]byte, error) {
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	if err := writeRows(w, s, nil); err != nil {
		return nil, err
	}
	w.Flush()
	return buf.Bytes(), w.Error()
}

// writeRows writes the row of a category and those of the categories below it.
func writeRows(w *csv.Writer, s *Summary, above []string) error {
	path := append(above, s.Name)
	row := []string{strings.Join(path, "/"), strconv.Itoa(s.Pieces), money(s.Cents), money(s.Median)}
	if err := w.Write(row); err != nil {
		return err
	}
	for _, child := range s.Children {
		if err := writeRows(w, child, path); err != nil {
			return err
		}
	}
	return nil
}

// money formats an amount in cents.
func money(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
