package mem_test

import (
	"testing"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/test/storetest"
)

func TestWindows(t *testing.T) {
	storetest.RunWindows(t, storetest.WindowEngine{Open: func(testing.TB) continuous.Store { return mem.New() }})
}
