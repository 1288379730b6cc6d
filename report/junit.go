package report

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dendroprof/dendro/analysis/metrics"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
)

// The elements of JUnit's XML that all readers support.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Failure *junitText   `xml:"failure,omitempty"`
	Skipped *junitReason `xml:"skipped,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
}

// JUnit writes the benchmarks as test cases, one suite per group. A test case fails if
// a change or a metric fails the gate (without a gate: if it has a confirmed regression) and is
// skipped if it has no verdict. Suspects and other changes are in system-out.
func (r *Report) JUnit(w io.Writer) error {
	doc := junitSuites{Name: "dendro"}
	at := map[string]int{}
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		group := b.Benchmark.Benchmark.Group
		n, ok := at[group]
		if !ok {
			n = len(doc.Suites)
			at[group] = n
			doc.Suites = append(doc.Suites, junitSuite{Name: xmlText(group)})
		}
		s := &doc.Suites[n]
		c := r.junit(b)
		s.Cases = append(s.Cases, c)
		s.Tests++
		doc.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
			doc.Failures++
		case c.Skipped != nil:
			s.Skipped++
			doc.Skipped++
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) junit(b *Benchmark) junitCase {
	c := junitCase{Class: xmlText(b.Benchmark.Benchmark.Group), Name: xmlText(b.Benchmark.Benchmark.Name + " " + b.Type.Name)}
	var failures, rest []string
	for i := range r.Changes {
		ch := &r.Changes[i]
		if !ch.shown() || !ch.in(b) {
			continue
		}
		if ch.Fails || r.Verdict == nil && ch.Stands(false) {
			failures = append(failures, xmlText(ch.Sentence()))
		} else {
			rest = append(rest, xmlText(ch.Sentence()))
		}
	}
	few := false
	for i := range r.Metrics.Rows {
		row := &r.Metrics.Rows[i]
		if row.Of() != b.Benchmark.Benchmark {
			continue
		}
		if few = few || row.Reason == metrics.TooFew; row.Fails {
			failures = append(failures, xmlText(metricSentence(row)))
		}
	}
	if r.Verdict != nil && few && r.Verdict.FewValues != "" {
		rest = append(rest, xmlText(r.Verdict.FewValues))
	}
	switch {
	case failures == nil && b.Reason != "":
		c.Skipped = &junitReason{xmlText(b.Reason)}
	case failures == nil && silent(b.Benchmark) && uncounted(b.Benchmark) != "":
		c.Skipped = &junitReason{xmlText(uncounted(b.Benchmark))}
	case failures != nil:
		c.Failure = &junitText{failures[0], "regression", strings.Join(failures, "\n")}
	}
	c.Out = strings.Join(rest, "\n")
	return c
}

// in reports whether a benchmark shows a change.
func (c *Change) in(b *Benchmark) bool {
	return slices.ContainsFunc(c.All(), func(f regression.Finding) bool { return f.Key() == b.Key() })
}

// xmlText escapes characters that XML cannot represent.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError {
			return '?'
		}
		return r
	}, words.Clean(s))
}
