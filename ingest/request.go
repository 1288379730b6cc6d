package ingest

import (
	"time"

	"github.com/dendroprof/dendro/testrun"
)

// Request is what holds for all files of an import, as a command and an upload take it:
// package query/param reads the tags.
type Request struct {
	RunRequest
	Group      string   `param:"group" arg:"group" help:"benchmark group"`
	Benchmark  string   `param:"benchmark" help:"benchmark name"`
	Metrics    []string `param:"metric" arg:"name=12.3ms" help:"metric of the benchmark, name=12.3ms; repeatable, the first is the primary metric"`
	Operations float64  `param:"operations" arg:"number" min:"0" help:"number of operations (iterations, requests) that the profile covers, for amounts per operation"`
	Layout     *Layout  `param:"layout" arg:"pattern" help:"pattern of paths: {run} {group} {benchmark} {date} {commit} {branch} {type} {ext} {*}"`
	Types      []string `param:"type" arg:"type" help:"value type to import; names the type of folded text; repeatable (default: all)"`
	ByThread   bool     `param:"by-thread" help:"make the normalised thread name the outermost function"`
	KeepSource bool     `param:"keep-source" help:"also store the original file, compressed"`
	DryRun     bool     `param:"dry-run" help:"print the labels of every file, and store nothing"`
}

// RunRequest describes the test run of an import.
type RunRequest struct {
	Run        string            `param:"run" arg:"key" help:"key of the test run"`
	Date       time.Time         `param:"date" arg:"date" help:"date of the run (RFC 3339 or 2026-11-21)"`
	Commit     string            `param:"commit" arg:"commit" help:"commit under test"`
	Branch     string            `param:"branch" arg:"branch" help:"branch under test"`
	Repository string            `param:"repository" arg:"repository" help:"repository under test"`
	Machine    string            `param:"machine" arg:"machine" help:"machine of the run"`
	Attributes map[string]string `param:"attr" arg:"key=value" help:"attribute of the run, key=value; repeatable"`
}

// Options returns the options that a request has. Errors are about its metrics.
func (r *Request) Options() (Options, error) {
	l := Label{Group: r.Group, Benchmark: r.Benchmark, Run: testrun.Run{Key: r.Run, Date: r.Date, Commit: r.Commit,
		Branch: r.Branch, Repository: r.Repository, Machine: r.Machine, Attributes: r.Attributes}}
	for i, text := range r.Metrics {
		m, err := ParseMetric(text)
		if err != nil {
			return Options{}, err
		}
		m.Primary = i == 0
		l.Metrics = append(l.Metrics, m)
	}
	return Options{Defaults: l.WithOperations(r.Operations), Layout: r.Layout, Types: r.Types, ByThread: r.ByThread,
		KeepSource: r.KeepSource, DryRun: r.DryRun}, nil
}
