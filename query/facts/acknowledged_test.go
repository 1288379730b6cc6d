package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
)

// TestAcknowledgementMistakes: a mistake is an error with its line, and does not accept less or
// more than was meant.
func TestAcknowledgementMistakes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "acknowledged.json")
	for text, want := range map[string]string{
		"[{\"id\": \"1\"},\n {\"funtion\": \"f\"}]":                        ":2: unknown key \"funtion\"; did you mean function? (keys: id, also, function,",
		"[\n {\"id\": \"1\",\n  \"upto\": 0.1,\n  \"untill\": \"x\"}]":     ":4: unknown key \"untill\"; did you mean until?",
		"[{\"id\": \"1\"},\n {\"id\": \"2\"\n  \"reason\": \"no comma\"}]": ":3: invalid character",
		"[{\"id\": \"1\"},\n {\"reason\": \"nothing\"}]":                   ":2: it accepts nothing: give the id of a finding, or a function",
		"[{\"function\": \"f\", \"also\": [\"2\"]}]":                       ":1: also lists further findings: give the id of the first",
		"[{\"function\": \"f\", \"upTo\": 30}]":                            ":1: upTo is 30: give a share of the program between 0 and 1",
		"[\n\n{\"function\": \"f\", \"upTo\": \"30%\"}]":                   ":3: upTo: a string is not what it takes",
		"[{\"function\": \"f\", \"until\": \"soon\"}]":                     ":1: \"soon\" is not a date",
		"{\"function\": \"f\"}":                                            ":1: want a list",
		"":                                                                 ":1: EOF",
		"[{\"id\": \"1\"}\n":                                               ":2: the list does not end",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := ReadAcknowledgements(name); err == nil || !strings.Contains(err.Error(), name+want) {
			t.Errorf("%s\n%v, %v\nwant %s", text, list, err, want)
		}
	}
}

// TestLapsed: a finding that an entry accepted once says why it counts again.
func TestLapsed(t *testing.T) {
	now := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	list := Acknowledgements{
		{Function: "parse", Until: now.AddDate(0, 0, -1)},
		{Function: "load", UpTo: 0.1},
		{Function: "load", UpTo: 0.3},
		{Function: "other", Until: now.AddDate(0, 0, -1)},
	}
	findings := []regression.Finding{
		{Benchmark: "b", Function: "parse", Kind: regression.Regression, Delta: regression.Delta{Share: 0.2}},
		{Benchmark: "b", Function: "load", Kind: regression.Regression, Delta: regression.Delta{Share: 0.2}},
		{Benchmark: "b", Function: "other", Kind: regression.Improvement, Delta: regression.Delta{Share: -0.2}},
	}
	regression.Acknowledge(findings, list[:2], now)
	want := []string{
		"parse in b was acknowledged until 2026-11-24: the acknowledgement has expired, and the change counts again",
		"load in b was acknowledged up to 10.0%: at +20.0% it is more than 1.5 times as large, and counts again",
	}
	if got := list[:2].Lapsed(findings, now); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
	regression.Acknowledge(findings, list, now)
	if got := list.Lapsed(findings, now); len(got) != 1 {
		t.Errorf("accepted by another entry: %q", got)
	}
}
