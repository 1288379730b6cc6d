package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
	"github.com/dendroprof/dendro/app/internal/server/brokers"
)

func newFleet(e *command.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Try pushed profiles with more than one process",
		Long: `A fleet receives, keeps and answers about pushed profiles with several processes and
Kafka between them, where one "dendro serve --continuous" is not enough. Its parts are
"dendro serve --gateway", "--windows" and "--windows-from".`,
		Example: `  dendro fleet demo kafka://localhost:9092/windows`,
		Args:    cobra.NoArgs,
		RunE:    command.Help,
	}
	c.AddCommand(newFleetDemo(e))
	return c
}

// demo are the flags of `dendro fleet demo`.
type demo struct {
	log      string
	dir      string
	port     int
	workers  int
	services int
}

func newFleetDemo(e *command.Env) *cobra.Command {
	o := demo{dir: "fleet-demo", port: 12800, workers: 3, services: 20}
	c := &cobra.Command{
		Use:   "demo kafka://HOST:PORT/TOPIC [flags]",
		Short: "Run two gateways, workers and a reader on this machine",
		Long: `Start two gateways, workers and a reader, each a process of its own that only this
machine can reach, and push profiles of simulated services until a signal ends it. The
topic is made if it is missing. Kill a part to see what happens: the page says what is
missing, and the part is started again after a few seconds.`,
		Example: `  dendro fleet demo kafka://localhost:9092/windows
  dendro fleet demo --workers 5 --services 200 kafka://localhost:9092/windows`,
		Args: command.Takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			o.log = args[0]
			if _, err := brokers.ParseLog(o.log); err != nil {
				return command.Misuse(err)
			}
			if o.workers < 1 || o.services < 0 || o.port < 1 || o.port+o.workers+2 > 65535 {
				return command.Usagef("--workers %d, --services %d, --port %d: give at least one worker, and ports up to 65535",
					o.workers, o.services, o.port)
			}
			return o.run(c.Context(), e)
		},
	}
	f := c.Flags()
	f.StringVar(&o.dir, "dir", o.dir, "`folder` for the files of workers")
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
			args: []string{"--windows", o.log, "--windows-session", "6s"}})
	}
	list[0].args = []string{"--windows-from", strings.Join(workers, ",")}
	for n := 1; n <= 2; n++ {
		list = append(list, &part{name: fmt.Sprint("gateway-", n), address: address(o.workers + n),
			args: []string{"--gateway", o.log, "--kafka-partitions", fmt.Sprint(4 * o.workers)}})
	}
	for _, p := range list {
		p.args = append([]string{"serve", "--store", p.name + ".duckdb", "--http-listen", p.address, "--grpc-listen", ""}, p.args...)
	}
	return list
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
			return fmt.Errorf("%s: %w\n%s", p.name, err, lastOf(p.log.Name()))
		}
		say("%-9s  http://%s", p.name, p.address)
	}
	say("page       http://%s/#/services", parts[0].address)
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

// lastOf returns the last line of a log.
func lastOf(file string) (line string) {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line = lines.Text()
	}
	return line
}

// push pushes profiles of services until the context ends, each to a gateway that takes it.
func (o *demo) push(ctx context.Context, gateways []*part) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		until := time.Now().Truncate(time.Second)
		for s := range o.services {
			body := fmt.Sprintf("main;handle;query %d\nmain;handle;render %d\nmain;idle 20\n", 10+s%7+n%5, 20+s%3)
			path := fmt.Sprintf("/ingest?name=%s&from=%d&until=%d&format=folded", url.QueryEscape(fmt.Sprintf("demo-%d{pod=%d}", s, n%3)),
				until.Add(-time.Second).Unix(), until.Unix())
			for try := 0; try < 2*len(gateways); try++ {
				if sent(ctx, "http://"+gateways[(s+try)%len(gateways)].address+path, body) {
					break
				}
			}
		}
	}
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
