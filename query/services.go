package query

import (
	"context"
	"time"

	"github.com/dendroprof/dendro/traceprof"
)

// List is a result that is a list.
type List[Row any] struct {
	Omitted Omitted `json:"omitted,omitzero"`
	Rows    []Row   `json:"rows"`
}

// ServicesRequest asks for the services that reported.
type ServicesRequest struct {
	Since time.Time `param:"since" group:"Selection" arg:"date" help:"instances seen on or after this date"`
	Rows  int       `param:"rows" group:"Limit" arg:"n" min:"0" help:"maximum number of rows (0: all)"`
}

// Service is a service with its instances.
type Service struct {
	Service   string `json:"service"`
	Instances int    `json:"instances"`
	LastSeen  int64  `json:"lastSeen"` // ms since 1970
}

// Services lists services by name.
func Services(ctx context.Context, st traceprof.Store, r *ServicesRequest) (*List[Service], error) {
	list, err := st.Instances(ctx, "", Milli(r.Since))
	if err != nil {
		return nil, err
	}
	var rows []Service
	for _, i := range list { // by service
		if n := len(rows); n == 0 || rows[n-1].Service != i.Service {
			rows = append(rows, Service{Service: i.Service})
		}
		s := &rows[len(rows)-1]
		s.Instances++
		s.LastSeen = max(s.LastSeen, i.LastSeen)
	}
	rows, omitted := First(rows, r.Rows)
	return &List[Service]{omitted, rows}, nil
}
