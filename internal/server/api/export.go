package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/store"
)

// export writes the sum of a selection as a file that other tools read.
func (a *api) export(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q, name, s := p.selection(), p.text("format", "pprof"), p.sight()
	f, err := format.Lookup(name)
	var packed format.Compression
	if err == nil {
		_, packed, err = format.Target("dendro"+f.Extensions[0], name)
	}
	switch {
	case err != nil:
		p.fail("%w", err)
	case f.Encode == nil:
		p.fail("%s is read, not written", f.Title)
	}
	if s.invert || s.callers != "" {
		p.fail("a file holds stacks: not invert or callers")
	}
	if err := p.finish(); err != nil {
		return err
	}
	t, _, err := a.merged(r, q, s)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename="+strconv.Quote("dendro"+f.Extensions[0]))
	brokenOff(format.Write(w, t.Profile(), 0, f, packed))
	return nil
}

// sqlBytes bounds a user's query.
const sqlBytes = 1 << 20

// sql answers a user's own query, which is the body.
func (a *api) sql(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	most := p.whole("rows", rowsUnlessAsked, 0)
	if err := p.finish(); err != nil {
		return err
	}
	speaker, err := a.speaker()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, sqlBytes))
	if err != nil {
		return err
	}
	answer, err := speaker.SQL(r.Context(), string(text))
	if err != nil {
		return sqlMistake(err)
	}
	d := newDocument(w)
	d.member("columns", answer.Columns)
	d.member("types", answer.Types)
	d.name("rows")
	d.w.WriteByte('[')
	n, cut := 0, false
	for row, err := range answer.Rows {
		brokenOff(err)
		if cut = most > 0 && n == most; cut {
			break
		}
		if n > 0 {
			d.w.WriteByte(',')
		}
		n++
		cells := make([]any, len(row))
		for i := range row {
			cells[i] = cell(row[i])
		}
		brokenOff(d.value(cells))
	}
	d.w.WriteByte(']')
	d.member("complete", !cut)
	d.close()
	return nil
}

// cell returns a value of SQL as JSON has it.
func cell(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []byte:
		return fmt.Sprintf("%x", v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	}
	return v
}

// storeMetrics are the numbers of the store, asked when they are collected.
func (a *api) storeMetrics() prometheus.Collector { return &storeCollector{a} }

type storeCollector struct{ a *api }

var storeNumbers = []struct {
	desc *prometheus.Desc
	of   func(*store.Info) int64
}{
	{prometheus.NewDesc("dendro_store_profiles", "Profiles in the store.", nil, nil), func(i *store.Info) int64 { return i.Profiles }},
	{prometheus.NewDesc("dendro_store_runs", "Test runs in the store.", nil, nil), func(i *store.Info) int64 { return i.Runs }},
	{prometheus.NewDesc("dendro_store_functions", "Functions in the store.", nil, nil), func(i *store.Info) int64 { return i.Functions }},
	{prometheus.NewDesc("dendro_store_paths", "Call node paths in the store.", nil, nil), func(i *store.Info) int64 { return i.Paths }},
	{prometheus.NewDesc("dendro_store_bytes", "Size of the store on disk; 0 when not known.", nil, nil), func(i *store.Info) int64 { return i.Bytes }},
}

// Describe lists the numbers.
func (c *storeCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, n := range storeNumbers {
		ch <- n.desc
	}
}

// Collect asks the store.
func (c *storeCollector) Collect(ch chan<- prometheus.Metric) {
	info, err := c.a.infoNow(context.Background())
	for _, n := range storeNumbers {
		if err != nil {
			ch <- prometheus.NewInvalidMetric(n.desc, err)
			continue
		}
		ch <- prometheus.MustNewConstMetric(n.desc, prometheus.GaugeValue, float64(n.of(&info)))
	}
}
