// Package contents says what a file of profiles holds: the answer of "dendro detect", and the labels
// that a profile's page offers.
//
// A File is a decoded profile, or the reason why it is none: its format and packing, who recorded it and
// when, its value types with their totals, its functions, stacks and threads. It reads no file, and
// selects nothing of a profile.
package contents

import (
	"errors"
	"time"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/document"
)

// File describes a profile, or a file that is not one. Times are in nanoseconds.
type File struct {
	Name      string        `json:"name"`
	Error     string        `json:"error,omitempty"`
	Format    string        `json:"format,omitempty"`
	Title     string        `json:"title,omitempty"`
	Packing   []string      `json:"packing,omitempty"`
	Profiler  string        `json:"profiler,omitempty"`
	Version   string        `json:"version,omitempty"`
	Start     string        `json:"start,omitempty"`    // RFC 3339
	Duration  int64         `json:"duration,omitempty"` // nanoseconds, as is interval
	Interval  int64         `json:"interval,omitempty"`
	Types     []Type        `json:"valueTypes,omitempty"`
	Functions int           `json:"functions"`
	Stacks    int           `json:"stacks"`
	Depth     int           `json:"depth"`
	Threads   int           `json:"threads"`
	Markers   int           `json:"markers"`
	States    []string      `json:"states,omitempty"`
	Labels    []string      `json:"labels,omitempty"`
	Values    []LabelValues `json:"labelValues,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
}

// LabelValues are the values of a label, by the totals of their samples.
type LabelValues struct {
	Key    string          `json:"key"`
	Values []LabelValue    `json:"values"` // the largest first
	None   document.Number `json:"none"`   // of samples without the label
	More   int             `json:"more,omitempty"`
}

// LabelValue is one value of a label.
type LabelValue struct {
	Value string          `json:"value"`
	Total document.Number `json:"total"`
}

// Labels returns the values of a label in the unit of a type of this scale.
func Labels(l *format.LabelDescription, scale int) LabelValues {
	v := LabelValues{Key: l.Key, Values: []LabelValue{}, None: document.Whole(l.None, scale), More: l.More}
	for _, one := range l.Values {
		v.Values = append(v.Values, LabelValue{one.Value, document.Whole(one.Total, scale)})
	}
	return v
}

// Type is one value type of a profile.
type Type struct {
	Name       string          `json:"name"`
	Unit       string          `json:"unit"`
	Original   string          `json:"original,omitempty"`
	Period     int64           `json:"period,omitempty"`
	PeriodUnit string          `json:"periodUnit,omitempty"`
	Default    bool            `json:"default"`
	Samples    int             `json:"samples"`
	NoStack    int             `json:"noStack,omitempty"`
	Total      document.Number `json:"total"`
}

// Describe describes what was decoded, or the error of a file that was not.
func Describe(d format.Decoded, err error) File {
	row := File{Name: d.Name, Packing: d.Packing}
	if d.Format != nil {
		row.Format, row.Title = d.Format.Name, d.Format.Title
	}
	if err != nil {
		row.Error = err.Error()
		if placed, ok := errors.AsType[*profile.ParseError](err); ok {
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
	row.States = c.States
	for _, l := range c.Labels {
		row.Labels = append(row.Labels, l.Key)
		row.Values = append(row.Values, Labels(&l, p.Tables[p.Default].Type.Scale))
	}
	for _, t := range c.Types {
		row.Types = append(row.Types, Type{
			Name: t.Type.Name, Unit: t.Type.Unit, Original: t.Type.Original, Period: t.Type.Period, PeriodUnit: t.Type.PeriodUnit,
			Default: t.Default, Samples: t.Samples, NoStack: t.NoStack, Total: document.Whole(t.Total, t.Type.Scale),
		})
	}
	for _, w := range p.Warnings {
		row.Warnings = append(row.Warnings, w.String())
	}
	return row
}
