package judge

import (
	"cmp"
	"context"
	"math"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/releases"
)

// Releases compares releases of a service in place of runs.
type Releases struct {
	Service string `param:"service" group:"Side" arg:"name" help:"compare releases of a service that pushes profiles; default: the newest, and those beside it or the one before; --base and --head name others" json:"service,omitempty"`
	By      string `param:"by" group:"Side" arg:"label" help:"with --service: label whose values are releases (default: service_version, version or service_git_ref)" json:"by,omitempty"`
}

// open returns the store to judge, and its sides: that of the runs, or one with the runs of
// releases, all of which are compared.
func (s Sides) open(ctx context.Context, st store.Store, req *regression.Request) (store.Store, Sides, []string, error) {
	if s.Service == "" {
		if s.By != "" {
			return nil, s, nil, param.Errorf("--by needs --service")
		}
		return st, s, nil, nil
	}
	req.Service, req.Window = true, cmp.Or(req.Window, math.MaxInt32)
	windows, err := query.WindowsOf(st)
	if err != nil {
		return nil, s, nil, err
	}
	c, err := releases.Open(ctx, windows, releases.Options{Service: s.Service, Label: s.By, Base: s.Base, Head: s.Head})
	if err != nil {
		return nil, s, nil, err
	}
	const side = "attr." + releases.SideAttribute + "="
	s.Base, s.Head = side+releases.Base, side+releases.Head
	return c, s, []string{c.String()}, nil
}
