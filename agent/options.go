package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"
)

// Options configure the agent. What is not set comes from the environment
// variable named beside it, then from the default.
type Options struct {
	Service  string      // name of the service; SW_AGENT_NAME; required
	Instance string      // name of this process; SW_AGENT_INSTANCE_NAME; default a random id and the host's name
	Server   string      // host:port of gRPC, several separated by commas; SW_AGENT_COLLECTOR_BACKEND_SERVICES; default 127.0.0.1:11800
	Token    string      // sent as metadata "authentication"; SW_AGENT_AUTHENTICATION
	TLS      *tls.Config // nil: no TLS, unless SW_AGENT_FORCE_TLS=true

	Logger   *slog.Logger  // nil: the agent logs nothing
	Budget   float64       // maximum share of one core for sampling; default 0.05
	Interval time.Duration // between two polls for tasks; SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL in seconds; default 20 s

	// NoProfiling turns trace profiling off: only segments are reported.
	// SW_AGENT_PROFILE_ACTIVE=false does the same.
	NoProfiling bool

	// Send replaces gRPC for segments, snapshots and instances. It returns when the
	// records are accepted; after an error the same records are sent again. Package
	// kafka has one. Tasks and their ends stay on gRPC.
	Send func(context.Context, []Record) error

	// Identify returns the ids of the trace and the span that a context is in, empty
	// if there is none. It is called where a segment starts, whose ids are then made
	// of these; the header sw8 is neither read nor written. Package otel has one.
	Identify func(context.Context) (trace, span string)
}

// Record is a message for Options.Send.
type Record struct {
	Topic string // skywalking-segments, skywalking-profilings or skywalking-managements
	Key   string
	Value []byte // a message of SkyWalking's protocol
}

const (
	defaultServer   = "127.0.0.1:11800"
	defaultInterval = 20 * time.Second
	defaultBudget   = 0.05
)

// complete fills what is not set and checks the rest.
func (o *Options) complete() error {
	fill(&o.Service, "", "SW_AGENT_NAME")
	fill(&o.Server, defaultServer, "SW_AGENT_COLLECTOR_BACKEND_SERVICES", "SW_AGENT_REPORTER_GRPC_BACKEND_SERVICE")
	fill(&o.Token, "", "SW_AGENT_AUTHENTICATION", "SW_AGENT_REPORTER_GRPC_AUTHENTICATION")
	fill(&o.Instance, "", "SW_AGENT_INSTANCE_NAME")
	if o.Instance == "" {
		name, _ := os.Hostname()
		o.Instance = randomHex() + "@" + name
	}
	o.Service, o.Instance = strings.ToValidUTF8(o.Service, "\uFFFD"), strings.ToValidUTF8(o.Instance, "\uFFFD")
	if o.Service == "" {
		return errors.New("agent: no name of the service; set Options.Service or SW_AGENT_NAME")
	}
	if strings.Trim(o.Server, ", ") == "" {
		return fmt.Errorf("agent: no server in %q; set Options.Server or SW_AGENT_COLLECTOR_BACKEND_SERVICES to host:port", o.Server)
	}
	if o.TLS == nil && strings.EqualFold(os.Getenv("SW_AGENT_FORCE_TLS"), "true") {
		o.TLS = &tls.Config{}
	}
	if o.Interval == 0 {
		o.Interval = defaultInterval
		if text := os.Getenv("SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL"); text != "" {
			seconds, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("agent: SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL: %q is no number of seconds", text)
			}
			o.Interval = time.Duration(seconds) * time.Second
		}
	}
	if o.Interval < 0 || o.Budget < 0 || o.Budget > 1 {
		return fmt.Errorf("agent: interval %v or budget %v out of range; want a positive interval and a budget of at most 1", o.Interval, o.Budget)
	}
	o.Budget = cmp.Or(o.Budget, defaultBudget)
	o.NoProfiling = o.NoProfiling || strings.EqualFold(os.Getenv("SW_AGENT_PROFILE_ACTIVE"), "false")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return nil
}

// fill sets a text that is empty to the first variable that is set, or a default.
func fill(text *string, otherwise string, variables ...string) {
	for _, v := range variables {
		if *text == "" {
			*text = os.Getenv(v)
		}
	}
	if *text == "" {
		*text = otherwise
	}
}

// randomHex returns 32 random hexadecimal digits.
func randomHex() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, see its documentation
	return hex.EncodeToString(b[:])
}
