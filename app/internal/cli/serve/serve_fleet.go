package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/brokers"
	"github.com/dendroprof/dendro/app/internal/server/fleet"
	"github.com/dendroprof/dendro/app/internal/server/pushes"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/secret"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/store/iceberg"
)

// fleetOptions are the flags of `dendro serve` about more than one process.
type fleetOptions struct {
	gateway string        // the log to write
	windows string        // the log to read
	workers []string      // to ask
	session time.Duration // of a worker
	lake    string        // of hours: its directory, or the URL of its catalog
}

// shortestSession is what brokers allow by default (group.min.session.timeout.ms).
const shortestSession = 6 * time.Second

func (o *fleetOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.gateway, "gateway", "", "receive profiles that programs push and write them to the `topic` kafka://HOST:PORT,…/TOPIC, which is made if it is missing; no store")
	f.StringVar(&o.windows, "windows", "", "hold partitions of the `topic` kafka://HOST:PORT,…/TOPIC that gateways write, in files beside the store")
	f.StringSliceVar(&o.workers, "windows-from", nil, "answer about pushed profiles from the workers at these `addresses` (http://HOST:PORT, comma-separated), which run with --windows and the same tokens")
	f.StringVar(&o.lake, "windows-lake", "", "with --windows, hand finished hours over to the lake with this `address` (a directory, or postgres://USER@HOST/DATABASE); with --windows-from, answer from it what workers do not have any more")
	f.DurationVar(&o.session, "windows-session", 45*time.Second, "`time` without a sign of life after which others get a worker's partitions")
	f.Lookup("windows-session").DefValue = "45s"
}

// check returns an error for flags that exclude each other.
func (o *serveOptions) checkFleet(where string) error {
	f := &o.fleet
	var roles []string
	for flag, set := range map[string]bool{"--gateway": f.gateway != "", "--windows": f.windows != "",
		"--windows-from": len(f.workers) > 0, "--continuous": o.windows.receive} {
		if set {
			roles = append(roles, flag)
		}
	}
	switch {
	case len(roles) > 1:
		return command.Usagef("--continuous, --gateway, --windows and --windows-from are roles of different processes: give one of them")
	case f.gateway != "" && o.traces.brokers != "":
		return command.Usagef("--gateway has no store for what --kafka-brokers receives: give one of them")
	case o.windows.receive && strings.HasPrefix(where, engines.LakeScheme):
		return command.Usagef("--continuous needs --store FILE: only workers write hours to a lake (--windows and --windows-lake)")
	case f.lake != "" && f.windows == "" && len(f.workers) == 0:
		return command.Usagef("--windows-lake is for workers and readers: give --windows or --windows-from too")
	case f.session < shortestSession:
		return command.Usagef("--windows-session %s: Kafka's brokers take at least %s", f.session, shortestSession)
	}
	if err := fleet.CheckWorkers(f.workers); err != nil {
		return command.Usagef("--windows-from: %w", err)
	}
	return nil
}

// log returns the topic that a flag names.
func (o *serveOptions) log(flag, text string) (fleet.Log, error) {
	place, err := brokers.ParseLog(text)
	if err != nil {
		return fleet.Log{}, command.Usagef("%s: %w", flag, err)
	}
	if err := o.traces.kafkaOptions(); err != nil {
		return fleet.Log{}, err
	}
	return fleet.Log{Log: place, Keep: o.windows.Policy.Keep[continuous.Raw], Brokers: o.traces.Kafka.Options}, nil
}

// serveGateway receives pushes without a store until the context ends.
func (o *serveOptions) serveGateway(ctx context.Context, e *command.Env) (err error) {
	o.Log = o.logger(e.Err)
	o.Version, _ = command.Version()
	l, err := o.log("--gateway", o.fleet.gateway)
	if err != nil {
		return err
	}
	names, err := command.ReadRules(o.rules)
	if err != nil {
		return err
	}
	to := fleet.NewGateway(l, o.Log)
	defer to.Close()
	received := pushes.To(to, o.pushOptions(names))
	defer func() { err = errors.Join(err, received.Close()) }()
	return o.listen(ctx, e, nil, append(received.Parts, to.Part()))
}

// partitionFile is the store of a partition.
type partitionFile struct {
	partitionWindows
	continuous.Follower
	keep   pushes.Upkeep
	policy continuous.Policy
	file   store.Store
}

type partitionWindows = continuous.HourStore

// Upkeep implements fleet.PartitionStore.
func (p *partitionFile) Upkeep(ctx context.Context, rolled func(context.Context)) error {
	return p.keep(ctx, rolled)
}

// Position implements continuous.Follower. Windows that are too old for the policy are not reported as missing: the lake
// removes them too, so a reader need not ask it for them.
func (p *partitionFile) Position(ctx context.Context) (continuous.Position, error) {
	at, err := p.Follower.Position(ctx)
	at.Kept = p.policy.Beyond(at.Kept, time.Now())
	return at, err
}

// Close implements fleet.PartitionStore.
func (p *partitionFile) Close() error { return p.file.Close() }

// worker returns a worker whose partitions are files in a folder beside the store.
func (o *serveOptions) worker(where string, hours *fleet.Late[fleet.Hours]) (*fleet.Worker, error) {
	l, err := o.log("--windows", o.fleet.windows)
	if err != nil {
		return nil, err
	}
	if engines.IsDatabase(where) || where == "mem" || strings.HasSuffix(where, ":") {
		return nil, command.Usagef("--windows keeps its partitions in files beside the store: give --store FILE")
	}
	dir := where + ".partitions"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	instance, err := instanceOf(filepath.Join(dir, "instance"))
	if err != nil {
		return nil, err
	}
	options := o.pushOptions(nil)
	open := func(ctx context.Context, partition int32) (fleet.PartitionStore, error) {
		st, err := engines.Open(ctx, filepath.Join(dir, fmt.Sprintf("%s-%d.duckdb", l.Topic, partition)), engines.Write)
		if err != nil {
			return nil, err
		}
		p := &partitionFile{file: st, policy: options.Policy}
		p.partitionWindows, _ = store.As[continuous.HourStore](st)
		p.Follower, _ = store.As[continuous.Follower](st)
		if p.keep, err = options.Keep(st); err != nil {
			return nil, errors.Join(err, st.Close())
		}
		return p, nil
	}
	return fleet.NewWorker(fleet.WorkerOptions{Log: l, Group: o.traces.Kafka.Group + "-" + l.Topic, Instance: instance,
		Session: o.fleet.session, Open: open, Hours: hours, Logger: o.Log}), nil
}

// instanceOf returns the name of a worker, which it chooses at its first start and keeps in a file.
func instanceOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte("dendro-" + rand.Text())
		err = os.WriteFile(file, text, 0o600)
	}
	return string(text), err
}

// reader returns a reader of the workers.
func (o *serveOptions) reader(hours *fleet.Late[fleet.Lake]) (*fleet.Reader, error) {
	token := cmp.Or(o.ReadToken, o.HTTPToken)
	for _, address := range o.fleet.workers {
		u, err := url.Parse(address)
		if err == nil && token != "" && u.Scheme == "http" {
			err = secret.InClear("the token", u.Hostname(), "https://")
		}
		if err != nil {
			return nil, command.Usagef("--windows-from: %w", err)
		}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for the worker alone
	return fleet.NewReader(fleet.ReaderOptions{Workers: o.fleet.workers, Token: token, Lake: hours, Logger: o.Log,
		Client: &http.Client{CheckRedirect: stay}}), nil
}

// joinFleet makes a worker or a reader of the server of a store, if it is to be one: it returns the
// store with the windows of the fleet, and what the server does for it until leave is called.
func (o *serveOptions) joinFleet(ctx context.Context, where string, st store.Store) (with store.Store, parts []server.Part,
	leave func() error, err error) {
	leave = func() error { return nil }
	switch {
	case o.fleet.windows != "":
		var to *fleet.Late[fleet.Hours]
		if o.fleet.lake != "" {
			to, err = fleet.OpenLate(ctx, iceberg.IsDown, func(ctx context.Context) (fleet.Hours, error) {
				hours, err := iceberg.OpenHours(ctx, o.fleet.lake, fleet.Latest)
				return &handover{hours, o.fleet.lake, o.windows.Policy}, err
			})
			if err != nil {
				return nil, nil, nil, err
			}
			leave = to.Close
		}
		worker, err := o.worker(where, to)
		if err != nil {
			return nil, nil, nil, errors.Join(err, leave())
		}
		return withWindows{st, worker.Windows()}, []server.Part{worker.Part()}, leave, nil
	case len(o.fleet.workers) > 0:
		var from *fleet.Late[fleet.Lake]
		if o.fleet.lake != "" {
			from, err = fleet.OpenLate(ctx, iceberg.IsDown, func(ctx context.Context) (fleet.Lake, error) { return openLake(ctx, o.fleet.lake) })
			if err != nil {
				return nil, nil, nil, err
			}
			leave = from.Close
		}
		reader, err := o.reader(from)
		if err != nil {
			return nil, nil, nil, errors.Join(err, leave())
		}
		return withWindows{st, reader.Windows()}, []server.Part{reader.Part()}, leave, nil
	}
	return st, nil, leave, nil
}

// handover hands hours over to the lake at an address.
type handover struct {
	*iceberg.Hours
	address string
	policy  continuous.Policy
}

// Compact implements fleet.Hours. The lake is read, by a DuckDB of its own, only while there is something to do.
func (h *handover) Compact(ctx context.Context) (done continuous.Compaction, err error) {
	if due, err := h.Due(ctx, time.Now(), &h.policy); err != nil || !due {
		return done, err
	}
	l, err := openLake(ctx, h.address)
	if err != nil {
		return done, err
	}
	defer l.Close()
	return l.Upkeep(ctx, time.Now(), fleet.Latest, &h.policy)
}

// lakeOfHours is the lake of a fleet as a store.
type lakeOfHours interface {
	fleet.Lake
	Upkeep(ctx context.Context, at time.Time, late time.Duration, policy *continuous.Policy) (continuous.Compaction, error)
}

func openLake(ctx context.Context, address string) (lakeOfHours, error) {
	st, err := engines.Open(ctx, engines.LakeScheme+address, engines.Read)
	l, _ := st.(lakeOfHours)
	return l, err
}

// withWindows is a store whose windows are elsewhere.
type withWindows struct {
	store.Store
	windows
}

type windows = continuous.Store

// Unwrap implements store.Wrapper.
func (w withWindows) Unwrap() store.Reader { return w.Store }
