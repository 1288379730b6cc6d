package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/coderepo"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/app/internal/mcp"
	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/app/internal/server/pages"
	"github.com/dendroprof/dendro/app/internal/server/pyroscope/querier"
	"github.com/dendroprof/dendro/app/internal/server/tracing"
	"github.com/dendroprof/dendro/app/internal/server/upkeep"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/web"
)

// serveOptions are the flags of `dendro serve`.
type serveOptions struct {
	server.Options
	tokenFiles [3]string // of the agents', the HTTP and the reading token
	proxies    []string
	sql        bool
	links      int
	code       string // directory of the repository
	rules      string
	workers    int
	limits     profile.Limits
	traces     traceOptions
	windows    continuousOptions
	fleet      fleetOptions
	logFormat  string
	logLevel   string
}

func newServe(e *command.Env) *cobra.Command {
	o := serveOptions{logFormat: "text", logLevel: "info"}
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve a store over HTTP and gRPC, with web pages",
		Long: `Serve a store until SIGTERM or SIGINT: web pages, /api/v1 and SkyWalking's GraphQL over
HTTP, agents and health checks over gRPC, metrics for Prometheus. The address printed
as "page" opens in a browser: benchmarks, profiles, diffs, regressions and tasks. Every
command works with a server as with a file:

  dendro top --store http://localhost:12800

With --continuous, the server also receives profiles that programs push by themselves:
from SDKs of Pyroscope (set its address to http://HOST:12800) and by OpenTelemetry
(HTTP /v1development/profiles, gRPC). It keeps them as windows, sums of hours and of days.

While the server runs, other processes cannot open its store file.

By default only this machine can connect. Set tokens before you listen on other
addresses. Pass them as files or environment variables, because other users of the
machine can see the arguments of a process. Every flag has an environment variable:
DENDRO_HTTP_LISTEN sets --http-listen.

The first signal lets running requests finish, for up to --drain; the second stops the
server at once. No acknowledged data is lost in either case.`,
		Example: `  dendro serve --store profiles.duckdb
  dendro serve --http-listen 0.0.0.0:12800 --http-token-file /etc/dendro/token --tls-cert cert.pem --tls-key key.pem
  dendro serve --continuous --http-listen 0.0.0.0:4040 --agent-token-file /etc/dendro/agents --http-token-file /etc/dendro/token
  DENDRO_AGENT_TOKEN=$(openssl rand -hex 16) dendro serve --grpc-listen :11800 --log-format json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := fromEnvironment(c.LocalNonPersistentFlags(), os.LookupEnv); err != nil {
				return err
			}
			return o.run(c.Context(), e)
		},
	}
	f := c.Flags()
	f.StringVar(&o.GRPCListen, "grpc-listen", "127.0.0.1:11800", "`address` for agents (gRPC); empty: no listener")
	f.StringVar(&o.HTTPListen, "http-listen", "127.0.0.1:12800", "`address` for HTTP; empty: no listener")
	f.StringVar(&o.TLSCert, "tls-cert", "", "`file` with the certificate (PEM) for both listeners; loaded again when it changes")
	f.StringVar(&o.TLSKey, "tls-key", "", "`file` with the private key (PEM)")
	for i, t := range o.tokenFlags() {
		f.StringVar(t.to, t.name, "", "`token` "+t.of)
		f.StringVar(&o.tokenFiles[i], t.name+"-file", "", "`file` with the token "+t.of)
	}
	f.BoolVar(&o.RequireTokens, "require-tokens", false, "refuse to listen on addresses of other machines without tokens")
	f.BoolVar(&o.OpenMetrics, "open-metrics", false, "serve /metrics without a token")
	f.StringArrayVar(&o.Hosts, "allow-host", nil, "without a token: additional host `name` that clients may use for the server; repeatable")
	f.StringSliceVar(&o.proxies, "trusted-proxies", nil, "`addresses` (10.0.0.0/8, comma-separated) of load balancers whose X-Forwarded-For names the client, for limits per client")
	f.BoolVar(&o.sql, "sql", true, "allow read-only SQL queries of clients")
	f.StringVar(&o.code, "code", "", "git `repository` of the profiled code: clients that may change the store see its commits and source lines (default: nobody sees code)")
	f.StringVar(&o.rules, "rules", "", "`file` of additional rules that normalise names, for uploads")
	f.IntVar(&o.workers, "workers", 0, "decode an upload with `n` goroutines (0: one per core)")
	o.addLimits(c)
	o.traces.addFlags(c)
	o.windows.addFlags(c)
	o.fleet.addFlags(c)
	f.Var(command.Choice(&o.logFormat, "text", "json"), "log-format", "`format` of the log on stderr: text, json")
	f.Var(command.Choice(&o.logLevel, "info", "debug", "warn", "error"), "log-level", "minimum `level` to log: debug, info, warn, error")
	return c
}

func (o *serveOptions) addLimits(c *cobra.Command) {
	f, l := c.Flags(), &o.Options.Limits
	f.Int64Var(&l.Body, "max-body", 0, "maximum `bytes` of a request body (default 16 MiB)")
	f.Int64Var(&l.Upload, "max-upload", 0, "maximum `bytes` of an upload of profiles (default 4 GiB)")
	f.Int64Var(&l.Inflated, "max-inflated", 0, "maximum `bytes` of a request body or gRPC message after decompression (default 8 times --max-body or --max-grpc-message; uploads 16 GiB)")
	f.Int64Var(&l.View, "max-view", 0, "maximum `bytes` after decompression of a file that is shown and not stored (default 1 GiB)")
	f.Int64Var(&l.Work, "max-work", 0, "maximum `bytes` in memory of HTTP requests being computed: views, trees, graphs (default 2 GiB)")
	f.Int64Var(&l.Steps, "max-steps", 0, "maximum `steps` of the patterns of a request: size of the pattern times bytes of the texts (default 1073741824)")
	f.IntVar(&o.links, "max-links", 0, "at most `n` short links to pages in the store (default 10000)")
	f.IntVar(&l.Requests, "max-requests", 0, "at most `n` HTTP requests of a kind being received, and n being answered (default 256)")
	f.Int64Var(&l.Answers, "max-answers", 0, "maximum `bytes` of answers in memory that wait for slow clients (default 256 MiB)")
	f.Int64Var(&l.Messages, "max-messages", 0, "maximum `bytes` of request bodies and gRPC messages in memory (default 256 MiB)")
	f.IntVar(&l.Connections, "max-connections", 0, "at most `n` connections of each listener (default 4096)")
	f.Int64Var(&l.Rate, "min-rate", 0, "minimum `bytes` per second of a request body or an answer, after --stall-timeout (default 8 KiB)")
	f.Uint32Var(&l.Streams, "max-streams", 0, "at most `n` concurrent gRPC calls per connection (default 1000)")
	f.IntVar(&l.Calls, "max-calls", 0, "at most `n` concurrent gRPC calls of all connections (default 8192)")
	f.IntVar(&l.Message, "max-grpc-message", 0, "maximum `bytes` of a gRPC message (default 8 MiB)")
	f.DurationVar(&l.Headers, "header-timeout", 0, "maximum `time` to receive the headers of a request (default 10s)")
	f.DurationVar(&l.Stall, "stall-timeout", 0, "maximum `time` without progress of a request body or an answer (default 1m)")
	f.DurationVar(&l.Drain, "drain", 0, "maximum `time` for running requests after the first signal (default 30s)")
	command.AddLimits(c, &o.limits)
}

// fromEnvironment sets the flags that were not given from the environment.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "DENDRO_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := lookup(name)
		if f.Changed || !ok || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			errs = append(errs, command.Usagef("%s: %w", name, err))
		}
	})
	return errors.Join(errs...)
}

// tokenFlag is a token as it is given: by itself, or in a file (tokenFiles).
type tokenFlag struct {
	name, of string
	to       *string
}

func (o *serveOptions) tokenFlags() [3]tokenFlag {
	return [3]tokenFlag{
		{"agent-token", "that agents must send (SkyWalking's authentication)", &o.AgentToken},
		{"http-token", "that HTTP clients must send (Authorization: Bearer)", &o.HTTPToken},
		{"read-token", "that allows HTTP clients to read only", &o.ReadToken},
	}
}

// tokens reads the tokens that are given as files.
func (o *serveOptions) tokens() error {
	for i, t := range o.tokenFlags() {
		file := o.tokenFiles[i]
		if file == "" {
			continue
		}
		if *t.to != "" {
			return command.Usagef("--%s and --%s-file: give one of them, as a flag or in the environment", t.name, t.name)
		}
		var err error
		if *t.to, err = command.ReadSecret("token", file); err != nil {
			return err
		}
	}
	return nil
}

// logger makes the server's log.
func (o *serveOptions) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel)) // the flag takes nothing else
	opts := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

func (o *serveOptions) run(ctx context.Context, e *command.Env) error {
	where, err := e.Location()
	switch {
	case err != nil:
		return err
	case engines.IsServer(where):
		return command.Usagef("--store %s is a server itself: name the file or database to serve", where)
	case o.GRPCListen == "" && o.HTTPListen == "":
		return command.Usagef("--grpc-listen and --http-listen are both empty: nothing to serve")
	}
	if o.code != "" {
		if o.code, err = gitlog.Root(o.code); err != nil {
			return command.Usagef("--code: %w", err)
		}
	}
	if err := o.tokens(); err != nil {
		return err
	}
	for _, text := range o.proxies {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var ip netip.Addr
			if ip, err = netip.ParseAddr(text); err != nil {
				return command.Usagef("--trusted-proxies: %q is no address such as 10.0.0.0/8 or 10.0.0.1", text)
			}
			prefix = netip.PrefixFrom(ip, ip.BitLen())
		}
		o.Proxies = append(o.Proxies, prefix.Masked())
	}
	if err := o.CheckTokens(); err != nil {
		return command.Misuse(err)
	}
	if err := o.checkFleet(where); err != nil {
		return err
	}
	if o.fleet.gateway != "" {
		return o.serveGateway(ctx, e)
	}
	st, err := e.Open(ctx, engines.Write)
	if err != nil {
		return err
	}
	err = o.serve(ctx, e, where, st)
	return errors.Join(err, st.Close())
}

// serve answers from an open store until the context ends.
func (o *serveOptions) serve(ctx context.Context, e *command.Env, where string, st store.Store) (err error) {
	o.Log = o.logger(e.Err)
	o.Version, _ = command.Version()
	names, err := command.ReadRules(o.rules)
	if err != nil {
		return err
	}
	if err := o.traces.kafkaOptions(); err != nil {
		return err
	}
	st, more, leave, err := o.joinFleet(ctx, where, st)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	o.traces.Version, o.traces.Log = o.Version, o.Log
	o.traces.Ingest = ingest.Options{Limits: o.limits, Normalizer: names}
	traces, err := tracing.New(ctx, st, o.traces.Options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, traces.Close()) }()
	received, err := o.continuous(st, names)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, received.Close()) }()
	app, err := pages.New(web.App())
	if err != nil {
		return err
	}
	o.Pages = app.Serve
	if dir, err := filepath.EvalSymlinks(strings.TrimPrefix(where, engines.LakeScheme)); err == nil {
		if dir, err = filepath.Abs(dir); err == nil {
			o.StoreDir = filepath.Dir(dir)
		}
	}
	var s *server.Server
	panicked := func(tool string, p any, stack []byte) { s.Panicked("mcp "+tool, p, stack) }
	parts := append(o.parts(st, names, traces, panicked), more...)
	if received != nil {
		parts = append(parts, received.Parts...)
	}
	return o.listen(ctx, e, func(made *server.Server) (release func()) {
		s = made
		return command.ClaimStore(where, address(s))
	}, parts)
}

// listen serves parts until the context ends. Listening, if not nil, is called when the server
// listens, and what it returns in the end.
func (o *serveOptions) listen(ctx context.Context, e *command.Env, listening func(*server.Server) (release func()),
	parts []server.Part) error {
	s, err := server.New(o.Options, parts...)
	if err != nil {
		return err
	}
	if err := s.Listen(); err != nil {
		return err
	}
	if listening != nil {
		defer listening(s)()
	}
	if a := s.HTTPAddr(); a != "" {
		fmt.Fprintf(e.Out, "http  %s\n", address(s))
	}
	if a := s.GRPCAddr(); a != "" {
		fmt.Fprintf(e.Out, "grpc  %s\n", a)
	}
	if a := address(s); a != "" && o.Pages != nil {
		fmt.Fprintf(e.Out, "page  %s/\n", a)
	}
	// A second signal ends the process: by default, signals do.
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	return s.Serve(ctx)
}

// parts lists what the server answers.
func (o *serveOptions) parts(st store.Store, names *normalize.Normalizer, traces *tracing.Tracing,
	panicked func(string, any, []byte)) []server.Part {
	questions := api.Options{Store: st, Version: o.Version, SQL: o.sql, Links: o.links, Limits: o.limits,
		Workers: o.workers, Normalizer: names}
	if o.code != "" {
		questions.Code = coderepo.Repository{Dir: o.code}
	}
	answers := command.Local(st, o.limits)
	if traces != nil {
		answers.Traces = traces.Dispatcher.Store()
	}
	about := mcp.Options{Version: o.Version, Traces: answers.Traces != nil, Panicked: panicked,
		Shown: func(text string) string { return server.WithoutDir(text, o.StoreDir) }}
	if o.sql {
		about.SQL = mcp.Of(st)
	}
	tools := mcp.Handler(answers, about)
	assistants := server.Part{Name: "mcp", Routes: []server.Route{{Pattern: "POST /mcp", Handler: tools, Needs: server.Reading}}}
	parts := []server.Part{assistants}
	if answers.Windows != nil {
		parts = append(parts, querier.Part(answers.Windows))
	}
	if changes, ok := upkeep.Part(st, o.Log, upkeep.Quiet,
		func(ctx context.Context) error { return judge.Follow(ctx, st, nil, nil) }); ok {
		parts = append(parts, changes)
	}
	if traces != nil {
		questions.Dispatcher = traces.Dispatcher
		parts = append(parts, traces.Parts...)
	}
	return append([]server.Part{api.Part(questions)}, parts...)
}

// address returns what to give as --store on this machine.
func address(s *server.Server) string {
	a := s.HTTPAddr()
	if a == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(a)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		a = net.JoinHostPort("localhost", port)
	}
	if s.TLS() {
		return "https://" + a
	}
	return "http://" + a
}
