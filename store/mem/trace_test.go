package mem_test

import (
	"testing"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
	"github.com/dendroprof/dendro/traceprof"
)

var traceEngine = storetest.TraceEngine{Open: func(testing.TB) traceprof.Store { return mem.New() }}

func TestTraces(t *testing.T) { storetest.RunTraces(t, traceEngine) }
