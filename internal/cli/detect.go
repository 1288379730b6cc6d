package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
)

// detectOptions are the flags of `dendro detect`.
type detectOptions struct {
	output outputFormat
	limits profile.Limits
}

func newDetect(e *env) *cobra.Command {
	var o detectOptions
	c := &cobra.Command{
		Use:   "detect [flags] FILE|DIRECTORY|GLOB|ARCHIVE|-...",
		Short: "Say what files are and what is in them",
		Long: `Detect reads files as every other command does and says what they are: format
and compression, who recorded them and when, value types with their totals, how
many functions, stacks, threads and markers they hold, the states and labels of
their samples, and as warnings what was not understood.

Files that are no profile, or a broken one, say so, and the status is then 1.`,
		Example: `  dendro detect cpu.pb.gz
  dendro detect profiles/ -o json
  curl -s localhost:6060/debug/pprof/heap | dendro detect -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(e, args) },
	}
	o.output.addFlag(c, "text", "json")
	addLimits(c, &o.limits)
	return c
}

// detected is one profile, or a file that is none, as JSON shows it.
type detected struct {
	Name      string         `json:"name"`
	Error     string         `json:"error,omitempty"`
	Format    string         `json:"format,omitempty"`
	Title     string         `json:"title,omitempty"`
	Packing   []string       `json:"packing,omitempty"`
	Profiler  string         `json:"profiler,omitempty"`
	Version   string         `json:"version,omitempty"`
	Start     string         `json:"start,omitempty"`    // RFC 3339
	Duration  int64          `json:"duration,omitempty"` // nanoseconds, as is interval
	Interval  int64          `json:"interval,omitempty"`
	Types     []detectedType `json:"valueTypes,omitempty"`
	Functions int            `json:"functions"`
	Stacks    int            `json:"stacks"`
	Depth     int            `json:"depth"`
	Threads   int            `json:"threads"`
	Markers   int            `json:"markers"`
	States    []string       `json:"states,omitempty"`
	Labels    []string       `json:"labels,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
}

// detectedType is one value type of a profile.
type detectedType struct {
	Name       string `json:"name"`
	Unit       string `json:"unit"`
	Original   string `json:"original,omitempty"`
	Period     int64  `json:"period,omitempty"`
	PeriodUnit string `json:"periodUnit,omitempty"`
	Default    bool   `json:"default"`
	Samples    int    `json:"samples"`
	NoStack    int    `json:"noStack,omitempty"`
	Total      any    `json:"total"`

	amount string // the total for people
}

func (o *detectOptions) run(e *env, args []string) error {
	sources, err := ingest.Expand(args, e.in)
	if err != nil {
		fmt.Fprintln(e.err, "dendro: "+escapeLines(err.Error()))
	}
	failed := err != nil
	var rows []detected
	for i := range sources {
		err := o.detect(&sources[i], func(d detected, err error) error {
			failed = failed || err != nil && (sources[i].Named || !errors.Is(err, profile.ErrUnrecognized))
			if o.output == "json" {
				rows = append(rows, d)
				return nil
			}
			return d.print(e)
		})
		if err != nil {
			return err
		}
	}
	if o.output == "json" {
		if err := e.writeJSON(map[string]any{"rows": append([]detected{}, rows...)}); err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// detect calls show for every profile in a source. Each source is read into
// Symbols of its own: nothing is compared.
func (o *detectOptions) detect(source *ingest.Source, show func(detected, error) error) error {
	in, err := source.Open()
	if err != nil {
		return show(detected{Name: source.Name, Error: err.Error()}, err)
	}
	defer in.Close()
	for d, err := range format.NewReader(o.limits).Read(source.Name, in) {
		if err := show(describe(d, err), err); err != nil {
			return err
		}
	}
	return nil
}

func describe(d format.Decoded, err error) detected {
	row := detected{Name: d.Name, Packing: d.Packing}
	if d.Format != nil {
		row.Format, row.Title = d.Format.Name, d.Format.Title
	}
	if err != nil {
		row.Error = err.Error()
		if placed := (*profile.ParseError)(nil); errors.As(err, &placed) {
			here := *placed
			here.Source = "" // the row has the name
			row.Error = here.Error()
		}
		return row
	}
	p := d.Profile
	c := format.Describe(p)
	row.Profiler, row.Version = p.Profiler, p.ProfilerVersion
	if !c.Start.IsZero() {
		row.Start = c.Start.UTC().Format(time.RFC3339Nano)
	}
	row.Duration, row.Interval = int64(c.Duration), int64(p.Interval)
	row.Functions, row.Stacks, row.Depth, row.Threads, row.Markers = c.Functions, c.Stacks, c.Depth, c.Threads, c.Markers
	row.States, row.Labels = c.States, c.LabelKeys
	for _, t := range c.Types {
		row.Types = append(row.Types, detectedType{
			Name: t.Type.Name, Unit: t.Type.Unit, Original: t.Type.Original, Period: t.Type.Period, PeriodUnit: t.Type.PeriodUnit,
			Default: t.Default, Samples: t.Samples, NoStack: t.NoStack, Total: scaled(t.Total, t.Type.Scale),
			amount: strings.TrimSuffix(amount(t.Total, t.Type.Unit, t.Type.Scale), " samples"),
		})
	}
	for _, w := range p.Warnings {
		row.Warnings = append(row.Warnings, w.String())
	}
	return row
}

// print prints a row for people: a line that says what it is, and indented below
// what is in it.
func (d *detected) print(e *env) error {
	var b strings.Builder
	title := d.Title
	if title != "" && len(d.Packing) > 0 {
		title += ", " + strings.Join(d.Packing, ", ")
	}
	if d.Error != "" {
		if title != "" {
			title += ": "
		}
		fmt.Fprintf(&b, "%s: %s%s\n", words.Clean(d.Name), title, words.Clean(d.Error))
		_, err := e.out.Write([]byte(b.String()))
		return err
	}
	fmt.Fprintf(&b, "%s: %s\n", words.Clean(d.Name), title)
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", name, words.Clean(text))
		}
	}
	field("recorded by", strings.TrimSpace(d.Profiler+" "+d.Version))
	field("recorded", d.when())
	d.printTypes(field)
	field("content", d.content())
	field("states", strings.Join(d.States, ", "))
	field("labels", strings.Join(d.Labels, ", "))
	for _, w := range d.Warnings {
		field("warning", w)
	}
	_, err := e.out.Write([]byte(b.String()))
	return err
}

// when says when and for how long was recorded, as far as the file does.
func (d *detected) when() string {
	var parts []string
	if t, err := time.Parse(time.RFC3339Nano, d.Start); err == nil {
		parts = append(parts, t.Format(time.RFC3339))
	}
	if d.Duration > 0 {
		parts = append(parts, amount(d.Duration, "nanoseconds", 0))
	}
	if d.Interval > 0 {
		parts = append(parts, "a sample every "+amount(d.Interval, "nanoseconds", 0))
	}
	return strings.Join(parts, ", ")
}

// printTypes prints the value types below each other, aligned.
func (d *detected) printTypes(field func(name, text string)) {
	width := 0
	for _, t := range d.Types {
		width = max(width, len(t.Name))
	}
	name := words.Plural(len(d.Types), "value type")
	for _, t := range d.Types {
		text := fmt.Sprintf("%-*s  %s in %s %s", width, t.Name, t.amount, grouped(int64(t.Samples)), words.Plural(t.Samples, "row"))
		if t.NoStack > 0 {
			text += fmt.Sprintf(", %s without a stack", grouped(int64(t.NoStack)))
		}
		if t.Period > 0 {
			text += ", period " + strings.TrimSuffix(amount(t.Period, t.PeriodUnit, 0), " samples")
		}
		if t.Default && len(d.Types) > 1 {
			text += " (default)"
		}
		field(name, text)
		name = ""
	}
}

func (d *detected) content() string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{d.Functions, "function"}, {d.Stacks, "stack"}, {d.Threads, "thread"}, {d.Markers, "marker"}} {
		if c.n > 0 {
			parts = append(parts, grouped(int64(c.n))+" "+words.Plural(c.n, c.word))
		}
	}
	if d.Depth > 0 {
		parts = append(parts, fmt.Sprintf("at most %s deep", grouped(int64(d.Depth))))
	}
	return strings.Join(parts, ", ")
}
