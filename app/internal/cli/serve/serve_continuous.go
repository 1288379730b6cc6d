package serve

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/server/pushes"
	"github.com/dendroprof/dendro/app/internal/server/pushes/functions"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/store"
)

// continuousOptions are the flags of `dendro serve` about continuous profiles.
type continuousOptions struct {
	pushes.Options
	receive   bool
	functions []string
}

func (o *continuousOptions) addFlags(c *cobra.Command) {
	f, in := c.Flags(), &o.Intake
	f.BoolVar(&o.receive, "continuous", false, "receive profiles that programs push: Pyroscope SDKs and OpenTelemetry")
	for level, keep := range []struct {
		name, what string
		def        time.Duration
		hours      string
	}{
		{"raw", "windows as they were pushed", 48 * time.Hour, "48h"},
		{"hours", "sums of an hour", 60 * 24 * time.Hour, "1440h"},
		{"days", "sums of a day", 2 * 365 * 24 * time.Hour, "17520h"},
	} {
		name := "continuous-keep-" + keep.name
		f.DurationVar(&o.Policy.Keep[continuous.Level(level)], name, keep.def, "`time` to keep "+keep.what+" (0: forever)")
		f.Lookup(name).DefValue = keep.hours
		f.Int64Var(&o.Policy.Bytes[continuous.Level(level)], "continuous-max-"+keep.name, 0,
			"maximum `bytes` of "+keep.what+"; the oldest are removed first (default: no limit)")
	}
	f.StringVar(&o.OTLP.Service, "continuous-service", "", "`name` of the service of OpenTelemetry profiles that name none (default unknown_service)")
	f.StringSliceVar(&in.Facts, "continuous-facts", nil, "`labels` that describe a series and do not make one, name or prefix*, comma-separated (default process ids, threads, scopes: see the documentation)")
	f.StringSliceVar(&o.Policy.Instance, "continuous-instance-labels", continuous.InstanceLabels, "`labels` of instances, comma-separated: windows have them as they were pushed, sums of hours and days have not")
	f.IntVar(&in.MaxSeries, "continuous-max-series", 0, "at most `n` series pushed within an hour; further samples are added to a series without labels (default 50000)")
	f.IntVar(&in.MaxLabels, "continuous-max-labels", 0, "at most `n` labels of a series (default 64)")
	f.IntVar(&in.MaxLabelBytes, "continuous-max-label-bytes", 0, "maximum `bytes` of the name and of the value of a label (default 4096)")
	f.Int64Var(&in.MaxSeriesBytes, "continuous-max-series-bytes", 0, "maximum `bytes` of all labels of a series (default 16 KiB)")
	f.IntVar(&in.MaxShare, "continuous-max-share", 0, "maximum share of one service, in `percent` of series, call paths, texts, lines, windows that wait for a commit, and of the bytes of each level if they have a limit (default 20)")
	f.Int64Var(&o.Room.Paths, "continuous-max-paths", 0, "at most `n` call paths in the store; further stacks are added to (other) (default 5000000)")
	f.Int64Var(&o.Room.Text, "continuous-max-text", 0, "maximum `bytes` of the names and places of functions, and of labels of series, in the store; further stacks are added to (other), further samples to a series without labels (default 256 MiB)")
	f.Int64Var(&o.Lines, "continuous-max-lines", 1<<30, "maximum `bytes` of the profiles with lines in the store, one per service, type, version and day; the oldest are removed first (0: keep no lines)")
	f.Lookup("continuous-max-lines").DefValue = "1 GiB"
	f.StringSliceVar(&o.functions, "continuous-metrics", nil, "serve the CPU cores of `functions` at /metrics/functions: a number, as many of each service, and names, comma-separated (default none)")
	f.DurationVar(&in.MaxAge, "continuous-max-age", 0, "refuse windows that ended more than this `time` ago (default --continuous-keep-raw); raise it to push old profiles")
	f.IntVar(&in.MaxDepth, "continuous-max-depth", 0, "keep the innermost `n` frames of a pushed stack (default 2048)")
	f.Int64Var(&in.MaxRate, "continuous-max-rate", 0, "maximum `bytes` per second that one service may push, over ten seconds (default 8 MiB)")
	f.Int64Var(&in.Limits.Message, "continuous-max-profile", 0, "maximum `bytes` of a pushed profile after decompression (default 32 MiB)")
	f.Int64Var(&in.MaxBytes, "continuous-max-pending", 0, "maximum `bytes` of windows that wait for a commit, pushes beyond get 503; the windows of one push, with labels, have a quarter (default 64 MiB)")
}

// continuous starts the reception of pushed profiles; nil: it is not wanted.
func (o *serveOptions) continuous(st store.Store, names *normalize.Normalizer) (*pushes.Pushes, error) {
	if !o.windows.receive {
		return nil, nil
	}
	options := o.pushOptions(names)
	var err error
	if options.Functions, err = functions.Parse(o.windows.functions); err != nil {
		return nil, command.Usagef("--continuous-metrics: %v", err)
	}
	return pushes.New(st, options)
}

// pushOptions returns the options of what receives pushes, and keeps them.
func (o *serveOptions) pushOptions(names *normalize.Normalizer) pushes.Options {
	p := o.windows.Options
	p.Log, p.Intake.Normalizer = o.Log, names
	if p.Intake.MaxAge == 0 {
		p.Intake.MaxAge = p.Policy.Keep[continuous.Raw]
	}
	return p
}
