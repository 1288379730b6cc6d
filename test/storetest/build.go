package storetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/proftest"
	"github.com/dendroprof/dendro/testrun"
)

// File returns a file with one profile of a benchmark in a run, drawn as in
// package proftest, over a new Forest:
//
//	storetest.File("json", "parse", "r3", profile.CPUSamples, `
//		×3    ×1
//		main  main
//		parse`)
//
// Callers add other fields: commit, metrics, source. TypeOf and RunOf return the type and
// the run.
func File(group, benchmark, run, typ, drawing string) *store.File {
	return NewImporter().File(group, benchmark, run, typ, drawing)
}

// MetricsFile returns a file without profiles.
func MetricsFile(group, benchmark, run string, metrics ...testrun.Metric) *store.File {
	f := newFile(group, benchmark, run)
	f.Metrics = metrics
	return f
}

// Judged returns files of several value types and metrics, to be put one after the other: in
// each run another metric judges the profiles. Engines that show the metric to users' queries
// compare it with that of store.Profile.Metric.
func Judged() (files []*store.File) {
	im, operations := NewImporter(), testrun.NewOperations(4, false)
	metric := func(name, unit string, primary bool) testrun.Metric {
		return testrun.Metric{Name: name, Mean: float64(len(name)), Unit: unit, Better: testrun.Lower, Primary: primary}
	}
	for run, metrics := range [][]testrun.Metric{
		nil,
		{metric("wall", "ms", true), metric("b", "ms", false)},
		{metric("time", "ms", false), metric("bytes", "B/op", false), metric("n", "allocs/op", false)},
		{metric("time", "ms", true), operations},
		{operations},
		{metric(testrun.CPUTimeMetric, "ns/op", false), metric("time", "ms", true), operations},
		{metric(testrun.CPUMetric, "ns/op", false), metric("time", "ms", true)},
	} {
		f := im.File("g", "b", fmt.Sprint("r", run), profile.CPU, "A")
		for _, typ := range []string{profile.CPUSamples, profile.Wall, profile.Alloc, profile.AllocSamples} {
			im.Add(f, typ, "B")
		}
		f.Metrics = metrics
		files = append(files, f)
	}
	return append(files, MetricsFile("g", "b", "r1", operations))
}

func newFile(group, benchmark, run string) *store.File {
	return &store.File{
		Name:      group + "/" + benchmark + "." + run,
		Benchmark: testrun.Benchmark{Group: group, Name: benchmark},
		Run:       RunOf(run),
	}
}

// RunOf returns the run of a key: its date is as many days after 2024-01-01 as
// the digits in the key ("r12": 2024-01-13).
func RunOf(key string) testrun.Run {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, key)
	day, _ := strconv.Atoi(digits)
	return testrun.Run{Key: key, Date: time.Date(2024, 1, 1+day, 12, 0, 0, 0, time.UTC)}
}

// TypeOf returns the value type of a name, with the unit that it usually has.
func TypeOf(name string) profile.ValueType {
	t := profile.ValueType{Name: name, Unit: "count"}
	switch name {
	case profile.CPU, profile.Wall, profile.Lock:
		t.Unit = "nanoseconds"
	case profile.Alloc, profile.Live, profile.Malloc:
		t.Unit = "bytes"
	case profile.Trace:
		t.Unit = "milliseconds"
	}
	return t
}

// Metric returns a metric in nanoseconds.
func Metric(name string, mean float64) testrun.Metric {
	return testrun.Metric{Name: name, Mean: mean, Unit: "ns/op", Better: testrun.Lower, N: 5,
		Samples: testrun.NewSamples([]float64{mean - 1, mean + 1}), Error: 0.5}
}

// Importer makes files whose records share one Forest, which grows from file to
// file as that of a real importer does. Each record gets a snapshot of it.
type Importer struct {
	Forest *calltree.Forest

	// Rename returns a function as it is stored, under a normalised name and
	// with attributes. Where it changes the name, the record has the old one as
	// raw name. Nil keeps functions as they are.
	Rename func(profile.Function) profile.Function
}

// NewImporter returns an importer with an empty forest.
func NewImporter() *Importer { return &Importer{Forest: new(calltree.Forest)} }

// File is File over the importer's forest.
func (im *Importer) File(group, benchmark, run, typ, drawing string) *store.File {
	f := newFile(group, benchmark, run)
	im.Add(f, typ, drawing)
	return f
}

// Add adds another profile to a file.
func (im *Importer) Add(f *store.File, typ, drawing string) *store.Record {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: TypeOf(typ)}}
	if strings.TrimSpace(drawing) != "" {
		proftest.AddColumns(p, 0, drawing)
	}
	return im.AddProfile(f, p)
}

// Sample is one stack, outermost frame first, and its value.
type Sample struct {
	Stack []string
	Value int64
}

// AddSamples adds another profile to a file, given as stacks.
func (im *Importer) AddSamples(f *store.File, typ string, samples ...Sample) *store.Record {
	p := profile.New(nil)
	p.Tables = []profile.Samples{{Type: TypeOf(typ)}}
	for _, s := range samples {
		p.Tables[0].Add(proftest.Stack(p.Symbols, s.Stack...), s.Value)
	}
	return im.AddProfile(f, p)
}

// AddProfile adds the first table of p to a file.
func (im *Importer) AddProfile(f *store.File, p *profile.Profile) *store.Record {
	if err := p.Check(); err != nil {
		panic(err)
	}
	raw := map[int32]string{}
	intern := func(fn profile.Function) int32 {
		if im.Rename == nil {
			return im.Forest.Function(fn)
		}
		renamed := im.Rename(fn)
		id := im.Forest.Function(renamed)
		if renamed.Name != fn.Name {
			raw[id] = fn.Name
		}
		return id
	}
	pr := calltree.NewProjection(p.Symbols, im.Forest, calltree.NoNode, intern)
	table := &p.Tables[0]
	rec := &store.Record{
		Type:            table.Type,
		Default:         len(f.Records) == 0,
		Profiler:        "storetest",
		ProfilerVersion: "1.2",
		Duration:        1500 * time.Millisecond,
		Samples:         int64(table.Len()),
		Hash:            p.Hash(0),
		Self:            pr.Vector(table, nil),
		RawNames:        raw,
	}
	rec.Forest = im.Forest.Snapshot()
	f.Records = append(f.Records, rec)
	return rec
}

// AddMode adds to a record the part of its values that ran in a compile mode.
// The drawing shows stacks that the record has.
func (im *Importer) AddMode(rec *store.Record, mode profile.FrameType, drawing string) {
	var part store.File
	v := im.Add(&part, rec.Type.Name, drawing).Self
	rec.Modes = append(rec.Modes, store.ModeVector{Mode: mode, Vector: v})
	rec.Forest = im.Forest.Snapshot()
}
