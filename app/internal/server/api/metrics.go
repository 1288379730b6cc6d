package api

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/store"
)

// storeMetrics are the numbers of the store, queried when they are collected.
func (a *api) storeMetrics() prometheus.Collector {
	return server.Numbers(func() (store.Info, error) { return a.infoNow(context.Background()) }, []server.Number[store.Info]{
		server.NewNumber("dendro_store_profiles", "Profiles in the store.", func(i *store.Info) float64 { return float64(i.Profiles) }),
		server.NewNumber("dendro_store_runs", "Test runs in the store.", func(i *store.Info) float64 { return float64(i.Runs) }),
		server.NewNumber("dendro_store_functions", "Functions in the store.", func(i *store.Info) float64 { return float64(i.Functions) }),
		server.NewNumber("dendro_store_paths", "Call node paths in the store.", func(i *store.Info) float64 { return float64(i.Paths) }),
		server.NewNumber("dendro_store_bytes", "Size of the store on disk; 0 when not known.",
			func(i *store.Info) float64 { return float64(i.Bytes) }),
	})
}
