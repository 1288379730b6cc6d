package api

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/store"
)

// storeMetrics are the numbers of the store, queried when they are collected.
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
	{prometheus.NewDesc("dendro_store_bytes", "Size of the store on disk; 0 when not known.", nil, nil),
		func(i *store.Info) int64 { return i.Bytes }},
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
