package api

import "github.com/dendroprof/dendro/traceprof"

// traces returns the part of the store that keeps trace profiling.
func (a *api) traces() (traceprof.Store, error) {
	if a.Dispatcher == nil {
		return nil, notHere("this store keeps no trace profiling")
	}
	return a.Dispatcher.Store(), nil
}
