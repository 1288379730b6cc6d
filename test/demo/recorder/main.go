// Command recorder records the profiles of the demo: it runs the workload once
// for every run and benchmark and writes the profiles with a manifest.
//
// Every recording is the fastest of some tries, so that other work on the
// machine disturbs it less. The tries of a run's benchmarks take turns.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// entry describes one recorded profile in the manifest.
type entry struct {
	File       string            `json:"file"`
	Run        string            `json:"run"`
	Group      string            `json:"group"`
	Benchmark  string            `json:"benchmark"`
	Date       time.Time         `json:"date"`
	Commit     string            `json:"commit"`
	Branch     string            `json:"branch"`
	Machine    string            `json:"machine"`
	Operations int               `json:"operations"`
	Metric     metric            `json:"metric"`
	Attributes map[string]string `json:"attributes"`
}

// metric is what the workload measured while its profile was taken.
type metric struct {
	Name   string  `json:"name"`
	Mean   float64 `json:"mean"`
	Unit   string  `json:"unit"`
	Better string  `json:"better"`
}

// variant is a state of the workload and how many runs to record of it.
type variant struct {
	name string
	runs int
	args []string
}

// Every run has these benchmarks.
var benchmarks = []string{"checkout", "search", "report"}

func main() {
	var r recorder
	flag.StringVar(&r.workload, "workload", "", "`program` to record")
	flag.StringVar(&r.out, "out", "", "`directory` to write to")
	flag.IntVar(&r.tries, "tries", 2, "tries for each profile, of which the fastest is kept")
	flag.Float64Var(&r.seconds, "seconds", 3, "length of a profile")
	sources := flag.String("sources", "", "`directory` with the program's sources")
	history := flag.Int("history", 16, "runs before the change")
	changed := flag.Int("changed", 2, "runs after the change")
	flag.Parse()
	err := r.recordAll(os.DirFS(*sources), []variant{
		{name: "history", runs: *history},
		{name: "changed", runs: *changed, args: []string{"-slow"}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		os.Exit(1)
	}
}

// writeManifest writes the entries to a file.
func writeManifest(file string, entries []entry) error {
	data, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
