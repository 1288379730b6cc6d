package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/brokers"
	"github.com/dendroprof/dendro/store/engines"
)

func newFleet(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Try pushed profiles with more than one process",
		Long: `A fleet receives, keeps and answers about pushed profiles with several processes and
Kafka between them, where one "dendro serve --continuous" is not enough. Its parts are
"dendro serve --gateway", "--windows" and "--windows-from".`,
		Example: `  dendro fleet demo`,
		Args:    cobra.NoArgs,
		RunE:    command.Help,
	}
	c.AddCommand(newFleetDemo(e))
	return c
}

// demo are the flags of `dendro fleet demo`.
type demo struct {
	log      string
	lake     string
	dir      string
	port     int
	workers  int
	services int
}

func newFleetDemo(e *command.Env) *cobra.Command {
	o := demo{log: "kafka://localhost:9092/windows", lake: "lake", dir: "fleet-demo", port: 12800, workers: 3, services: 20}
	c := &cobra.Command{
		Use:   "demo [kafka://HOST:PORT/TOPIC] [flags]",
		Short: "Run two gateways, workers, a lake and a reader on this machine",
		Long: `Start two gateways, workers and a reader, each a process of its own that only this
machine can reach, and push profiles of simulated services until a signal ends it: at
first those of the last three hours, which workers hand over to a lake within two
minutes. The topic (default kafka://localhost:9092/windows) and the lake are made if they
are missing. Kill a part to see what happens: the page says what is missing, and the part
is started again after a few seconds.`,
		Example: `  dendro fleet demo
  dendro fleet demo --workers 5 --services 200 kafka://kafka-1:9092/windows`,
		Args: command.Takes(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.log = args[0]
			}
			log, err := brokers.ParseLog(o.log)
			if err != nil {
				return command.Misuse(err)
			}
			if o.workers < 1 || o.services < 0 || o.port < 1 || o.port+o.workers+2 > 65535 {
				return command.Usagef("--workers %d, --services %d, --port %d: give at least one worker, and ports up to 65535",
					o.workers, o.services, o.port)
			}
			if err := log.Ping(c.Context()); err != nil {
				return fmt.Errorf("no Kafka answers at %s: start one (docker run -p 9092:9092 apache/kafka:4.1.2), or give the address of another: %w",
					strings.Join(log.Addresses, ","), err)
			}
			return o.run(c.Context(), e)
		},
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", o.dir, "`folder` for the files of workers")
	f.StringVar(&o.lake, "windows-lake", o.lake, "`address` of the lake: a directory (relative to --dir), or postgres://USER@HOST/DATABASE")
	f.IntVar(&o.port, "port", o.port, "`port` of the reader; the others have the ports behind it")
	f.IntVar(&o.workers, "workers", o.workers, "start `n` workers")
	f.IntVar(&o.services, "services", o.services, "push profiles of `n` services each second (0: none)")
	return c
}

// part is a process of a demo.
type part struct {
	name, address string
	args          []string
	log           *os.File
}

// parts lists the processes: the gateways last.
func (o *demo) parts() []*part {
	address := func(n int) string { return fmt.Sprintf("127.0.0.1:%d", o.port+n) }
	var workers []string
	list := []*part{{name: "reader", address: address(0)}}
	for n := 1; n <= o.workers; n++ {
		workers = append(workers, "http://"+address(n))
		list = append(list, &part{name: fmt.Sprint("worker-", n), address: address(n),
			args: []string{"--windows", o.log, "--windows-session", "6s", "--windows-lake", o.lake}})
	}
	list[0].args = []string{"--windows-from", strings.Join(workers, ","), "--windows-lake", o.lake}
	for n := 1; n <= 2; n++ {
		list = append(list, &part{name: fmt.Sprint("gateway-", n), address: address(o.workers + n),
			args: []string{"--gateway", o.log, "--kafka-partitions", fmt.Sprint(4 * o.workers)}})
	}
	for _, p := range list {
		p.args = append([]string{"serve", "--store", p.name + ".duckdb", "--http-listen", p.address, "--grpc-listen", ""}, p.args...)
	}
	return list
}

// lakeStore returns the lake as commands name it.
func (o *demo) lakeStore() string {
	if strings.Contains(o.lake, "://") {
		return engines.LakeScheme + o.lake
	}
	dir := o.lake
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.dir, dir)
	}
	return engines.LakeScheme + dir
}

// run runs the parts until the context ends.
func (o *demo) run(ctx context.Context, e *command.Env) (err error) {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	parts := o.parts()
	for _, p := range parts {
		free, err := net.Listen("tcp", p.address)
		if err != nil {
			return fmt.Errorf("%s: %w: choose other ports with --port", p.name, err)
		}
		free.Close()
		if p.log, err = os.Create(filepath.Join(o.dir, p.name+".log")); err != nil {
			return err
		}
		defer p.log.Close()
	}
	var said sync.Mutex
	say := func(format string, args ...any) {
		said.Lock()
		defer said.Unlock()
		fmt.Fprintf(e.Out, format+"\n", args...)
	}
	// The gateways make the topic, so they begin.
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		running.Go(func() { p.keep(ctx, program, o.dir, say) })
		if err := p.ready(ctx); err != nil {
			text, _ := os.ReadFile(p.log.Name())
			text = bytes.TrimSpace(text)
			return fmt.Errorf("%s: %w\n%s", p.name, err, text[bytes.LastIndexByte(text, '\n')+1:])
		}
		say("%-9s  http://%s", p.name, p.address)
	}
	say("page       http://%s/#/services", parts[0].address)
	say("lake       dendro top --store %s --service demo-0", o.lakeStore())
	say("Logs and files are in %s. Ctrl-C ends all parts.", o.dir)
	o.push(ctx, parts[len(parts)-2:])
	return nil
}

// restartAfter is how long a part that ended is left alone.
const restartAfter = 5 * time.Second

// keep runs a part, again when it ends, until the context ends.
func (p *part) keep(ctx context.Context, program, dir string, say func(string, ...any)) {
	for {
		c := exec.CommandContext(ctx, program, p.args...)
		c.Dir, c.Stdout, c.Stderr = dir, p.log, p.log
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = 10 * time.Second
		err := c.Run()
		if ctx.Err() != nil {
			return
		}
		say("%s ended (%v); it is started again in %s", p.name, err, restartAfter)
		select {
		case <-time.After(restartAfter):
		case <-ctx.Done():
			return
		}
	}
}

// ready waits until a part answers.
func (p *part) ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/healthz", nil)
		if err != nil {
			return err
		}
		if reply, err := http.DefaultClient.Do(r); err == nil {
			reply.Body.Close()
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", context.Cause(ctx))
		}
	}
}

// history is how far back the first profiles are, of which each is pastWindow long.
const (
	history    = 3 * time.Hour
	pastWindow = 5 * time.Minute
)

// push pushes profiles of services until the context ends: those of the past, then one each second.
// Whoever repeats it pushes the same for the same time.
func (o *demo) push(ctx context.Context, gateways []*part) {
	now := time.Now()
	for from := now.Truncate(time.Hour).Add(-history); from.Add(pastWindow).Before(now); from = from.Add(pastWindow) {
		o.window(ctx, gateways, from, pastWindow)
	}
	server.Every(ctx, time.Second, func(now time.Time) {
		o.window(ctx, gateways, now.Truncate(time.Second).Add(-time.Second), time.Second)
	})
}

// window pushes a profile of each service, to a gateway that takes it.
func (o *demo) window(ctx context.Context, gateways []*part, from time.Time, length time.Duration) {
	var all sync.WaitGroup
	seconds := int(length.Seconds())
	n := int(from.Unix()) / seconds
	for s := range o.services {
		all.Go(func() {
			body := fmt.Sprintf("main;handle;query %d\nmain;handle;render %d\nmain;idle %d\n", (10+s%7+n%5)*seconds, (20+s%3)*seconds, 20*seconds)
			path := fmt.Sprintf("/ingest?name=%s&from=%d&until=%d&format=folded", url.QueryEscape(fmt.Sprintf("demo-%d{pod=%d}", s, n%3)),
				from.Unix(), from.Add(length).Unix())
			for try := 0; try < 2*len(gateways); try++ {
				if sent(ctx, "http://"+gateways[(s+try)%len(gateways)].address+path, body) {
					break
				}
			}
		})
	}
	all.Wait()
}

// sent posts a profile and reports whether it was acknowledged.
func sent(ctx context.Context, address, body string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return false
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, reply.Body) // the status says enough
	return reply.StatusCode == http.StatusOK
}
