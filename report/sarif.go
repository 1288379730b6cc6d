package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
)

// The subset of SARIF 2.1.0 (OASIS, 2020) for a list of changes.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool              sarifTool                `json:"tool"`
	AutomationDetails map[string]string        `json:"automationDetails"`
	URIBases          map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
	Results           []sarifResult            `json:"results"`
	ColumnKind        string                   `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string            `json:"id"`
	Name             string            `json:"name"`
	ShortDescription sarifText         `json:"shortDescription"`
	FullDescription  sarifText         `json:"fullDescription"`
	Help             sarifText         `json:"help"`
	HelpURI          string            `json:"helpUri"`
	Configuration    map[string]string `json:"defaultConfiguration"`
	Properties       map[string]any    `json:"properties"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifResult struct {
	RuleID        string             `json:"ruleId"`
	RuleIndex     int                `json:"ruleIndex"`
	Level         string             `json:"level"`
	Message       sarifText          `json:"message"`
	Locations     []sarifLocation    `json:"locations,omitempty"`
	Fingerprints  map[string]string  `json:"partialFingerprints"`
	BaselineState string             `json:"baselineState"`
	Suppressions  []sarifSuppression `json:"suppressions,omitempty"`
	Properties    map[string]any     `json:"properties"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region"`
}

type sarifArtifact struct {
	URI  string `json:"uri,omitempty"`
	Base string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name          string `json:"name"`
	QualifiedName string `json:"fullyQualifiedName"`
	Kind          string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification,omitempty"`
}

// sarifRules are the kinds that are costs, and metrics.
var sarifRules = []sarifRule{
	newRule(regression.Regression, "PerformanceRegression", "A function became slower than in the runs before.", "error"),
	newRule(regression.Leak, "ResourceLeak", "An amount grew over the snapshots of one process.", "error"),
	newRule(regression.Widespread, "WidespreadSlowdown", "Many functions became slower, and no single one is the cause.", "warning"),
	newRule(regression.Slowdown, "BenchmarkSlowdown", "The whole benchmark became slower.", "warning"),
	newRule(metricRule, "WorseMetric", "A metric of a benchmark became worse.", "error"),
}

func newRule(kind regression.Kind, name, text, level string) sarifRule {
	const what = "Run `dendro report` for the call paths and the evidence. Accept an intended change with its id in .dendro/acknowledged.json."
	const page = "https://github.com/dendroprof/dendro/blob/main/docs/method/regression.md"
	return sarifRule{ID: string(kind), Name: name, ShortDescription: sarifText{Text: text}, FullDescription: sarifText{Text: text + " Found by comparing sampled profiles with the history of the benchmark."},
		Help: sarifText{strings.ReplaceAll(what, "`", ""), what + " [How regressions are found](" + page + ")."}, HelpURI: page,
		Configuration: map[string]string{"level": level}, Properties: map[string]any{"tags": []string{"performance"}}}
}

// SARIF writes the costs, and the metrics that fail, as a SARIF 2.1.0 log: one result each, at the function's file
// and line if known, otherwise at the first line of Module, because GitHub shows no result
// without a file. An acknowledged change is suppressed; a past one is absent.
func (r *Report) SARIF(w io.Writer) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{"dendro", sarifVersion(r.Version), "https://github.com/dendroprof/dendro", sarifRules}},
		AutomationDetails: map[string]string{"id": "dendro/"}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Kind.Costs() {
			run.Results = append(run.Results, c.sarif(r.Module))
		}
	}
	for i := range r.Metrics.Rows {
		if row := &r.Metrics.Rows[i]; row.Fails {
			run.Results = append(run.Results, metricSARIF(row, r.Module))
		}
	}
	return encode(w, sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// sarifVersion is a version as tools compare it, which begins with a digit. Builds without
// one have none.
func sarifVersion(version string) string {
	version = strings.TrimPrefix(version, "v")
	if version == "" || version[0] < '0' || version[0] > '9' {
		return ""
	}
	return version
}

// metricRule is the rule of metrics that fail the gate.
const metricRule regression.Kind = "metric"

// metricSARIF is the result of a metric that fails. It has no function, so its place is
// that of the module.
func metricSARIF(row *metrics.Row, module string) sarifResult {
	id := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", row.Group, row.Benchmark, row.Metric, row.Unit))
	return sarifResult{RuleID: string(metricRule), RuleIndex: ruleIndex(metricRule), Level: "error",
		Message: sarifText{Text: metricSentence(row)}, BaselineState: "new",
		Fingerprints: map[string]string{"dendroMetric/v1": hex.EncodeToString(id[:8])},
		Locations:    []sarifLocation{{Physical: physical("", module, 0)}},
		Properties:   map[string]any{"change": row.Change, "p": row.P, "benchmarks": []string{metricBenchmark(row)}}}
}

func ruleIndex(kind regression.Kind) int {
	return slices.IndexFunc(sarifRules, func(r sarifRule) bool { return r.ID == string(kind) })
}

// physical is a place in a file, or in that of the module, or in the config.
func physical(file, module string, line int) *sarifPhysical {
	return &sarifPhysical{artifact(cmp.Or(file, module, ".dendro/config.json")), &sarifRegion{max(1, line)}}
}

func (c *Change) sarif(module string) sarifResult {
	s := sarifResult{RuleID: string(c.Kind), RuleIndex: ruleIndex(c.Kind), Level: "warning", Message: sarifText{Text: c.Sentence()},
		BaselineState: "new",
		Fingerprints:  map[string]string{"dendroFinding/v1": c.ID},
		Properties:    map[string]any{"share": c.Delta.Share, "score": c.Score, "status": c.Status, "benchmarks": benchmarks(&c.Change)}}
	switch {
	case c.Status == regression.Transient:
		s.BaselineState, s.Level = "absent", "note"
	case c.Fails:
		s.Level = "error"
	}
	if c.Acknowledged != nil {
		s.Suppressions = []sarifSuppression{{"external", words.Clean(c.acceptance())}}
	}
	var l sarifLocation
	if c.Function != "" {
		l.Logical = []sarifLogical{{words.Clean(c.Function[strings.LastIndexAny(c.Function, "./:")+1:]), words.Clean(c.Function), "function"}}
	}
	l.Physical = physical(c.File, module, c.Line)
	s.Locations = []sarifLocation{l}
	return s
}

// artifact formats a path: relative to the source root, or as a file URI.
func artifact(file string) sarifArtifact {
	file = strings.ReplaceAll(file, `\`, "/")
	if path.IsAbs(file) {
		return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: file}).String()}
	}
	return sarifArtifact{URI: (&url.URL{Path: file}).EscapedPath(), Base: "%SRCROOT%"}
}

// Sentence describes a change in one line, for annotations and logs.
func (c *Change) Sentence() string {
	var b strings.Builder
	where := benchmarks(&c.Change)
	fmt.Fprintf(&b, "%s of %s in %s", c.what(), Amount(&c.Finding), where[0])
	if n := len(where) - 1; n > 0 {
		fmt.Fprintf(&b, " and %s", words.Counted(n, "more benchmark"))
	}
	fmt.Fprintf(&b, ": %s", Title(&c.Finding))
	if c.Caller != "" {
		fmt.Fprintf(&b, ", called by %s", words.Clean(c.Caller))
	}
	fmt.Fprintf(&b, "; since %s", c.since())
	return b.String()
}
