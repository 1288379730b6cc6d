// Package pyroscope receives profiles as Pyroscope's SDKs push them: `POST /ingest`, and
// push.v1.PusherService over Connect and gRPC.
//
// Names of series and types are those that Pyroscope gives them, so that queries and
// dashboards for it work. A push is answered after its commit, with status 200 and an empty
// body: some SDKs take any other status for a failure. docs/continuous.md says what
// is received and where Dendro differs.
//
// The package translates; package continuous/intake checks limits and stores.
package pyroscope

import (
	"time"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/connect"
	"github.com/dendroprof/dendro/app/internal/server/receiver"
	"github.com/dendroprof/dendro/continuous/intake"
)

// Pyroscope receives profiles. It is safe for concurrent use.
type Pyroscope struct {
	in  *intake.Intake
	now func() time.Time
}

// New returns a receiver that stores with in.
func New(in *intake.Intake) *Pyroscope { return &Pyroscope{in: in, now: time.Now} }

// Part returns the routes and services.
func (p *Pyroscope) Part() server.Part {
	push := p.pusher()
	part := server.Part{Name: "pyroscope", Routes: push.Routes(), GRPC: push.Register}
	for _, path := range []string{"/ingest", "/pyroscope/ingest"} {
		part.Routes = append(part.Routes, server.Route{Pattern: "POST " + path, Handler: p.ingest(), Agents: true, Problem: connect.WriteProblem})
	}
	receiver.CountRefused(p.in, part.Routes)
	return part
}

// unknownService is the service of profiles without one.
const unknownService = "unknown_service"

// Names of labels that Pyroscope defines.
const (
	nameLabel = "__name__"
	spyLabel  = "pyroscope_spy"
)
