package demo

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const manifestFile = "manifest.json"

// recording is an entry of the manifest.
type recording struct {
	File       string    `json:"file"`
	Run        string    `json:"run"`
	Group      string    `json:"group"`
	Benchmark  string    `json:"benchmark"`
	Date       time.Time `json:"date"`
	Commit     string    `json:"commit"`
	Branch     string    `json:"branch"`
	Machine    string    `json:"machine"`
	Operations float64   `json:"operations"`
	Metric     struct {
		Name   string  `json:"name"`
		Mean   float64 `json:"mean"`
		Unit   string  `json:"unit"`
		Better string  `json:"better"`
	} `json:"metric"`
	Attributes struct {
		Variant string `json:"variant"`
	} `json:"attributes"`
}

// profiles returns the embedded directory and what its manifest lists.
func profiles(t *testing.T) (fs.FS, []recording) {
	t.Helper()
	dir, err := fs.Sub(Profiles, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(dir, manifestFile)
	if err != nil {
		t.Fatal(err)
	}
	var list []recording
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		t.Fatal(err)
	}
	return dir, list
}

func TestManifestListsExactlyTheFiles(t *testing.T) {
	dir, list := profiles(t)
	want := []string{manifestFile}
	for _, r := range list {
		want = append(want, r.File)
	}
	var got []string
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("files\n%s\nmanifest\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEntries(t *testing.T) {
	_, list := profiles(t)
	commit := regexp.MustCompile(`^[0-9a-f]{40}$`)
	commits := make(map[string]string) // by variant
	for i, r := range list {
		if r.File != r.Run+"/"+r.Benchmark+".pb.gz" {
			t.Errorf("%s: run %q, benchmark %q", r.File, r.Run, r.Benchmark)
		}
		if r.Group != "shop" || r.Branch != "main" || r.Machine != "demo" {
			t.Errorf("%s: group %q, branch %q, machine %q", r.File, r.Group, r.Branch, r.Machine)
		}
		if r.Metric.Mean <= 0 || r.Metric.Name != "time/op" || r.Metric.Unit != "ns/op" || r.Metric.Better != "lower" {
			t.Errorf("%s: metric %+v", r.File, r.Metric)
		}
		if used := r.Operations * r.Metric.Mean; used < 3e9-r.Operations || used > 3e9+r.Metric.Mean {
			t.Errorf("%s: %v operations of %v ns are not the first past 3 s", r.File, r.Operations, r.Metric.Mean)
		}
		if i > 0 && r.Date.Before(list[i-1].Date) || r.Date.Location() != time.UTC {
			t.Errorf("%s: date %v", r.File, r.Date)
		}
		v := r.Attributes.Variant
		if commits[v] == "" {
			commits[v] = r.Commit
		}
		if !commit.MatchString(r.Commit) || r.Commit != commits[v] {
			t.Errorf("%s: commit %q, variant %q has %q", r.File, r.Commit, v, commits[v])
		}
	}
	if len(commits) != 2 || commits["history"] == commits["changed"] {
		t.Errorf("commits %v", commits)
	}
}

// TestPlantedChange checks what README.md says about the metric.
func TestPlantedChange(t *testing.T) {
	_, list := profiles(t)
	means := make(map[string]map[string][]float64) // by benchmark and variant
	for _, r := range list {
		if means[r.Benchmark] == nil {
			means[r.Benchmark] = make(map[string][]float64)
		}
		of := means[r.Benchmark]
		of[r.Attributes.Variant] = append(of[r.Attributes.Variant], r.Metric.Mean)
	}
	if len(means) != 3 {
		t.Errorf("%d benchmarks, want 3", len(means))
	}
	for benchmark, of := range means {
		history, changed := of["history"], of["changed"]
		if len(history) < 15 || len(changed) < 2 {
			t.Errorf("%s: %d runs before the change and %d after", benchmark, len(history), len(changed))
			continue
		}
		ratio := median(changed) / median(history)
		slower := slices.Min(changed) > slices.Max(history)
		within := slices.Min(changed) >= slices.Min(history) && slices.Max(changed) <= slices.Max(history)
		switch {
		case benchmark == "checkout" && (ratio < 1.2 || !slower):
			t.Errorf("checkout: median after the change %.3f times that before, every run slower: %t", ratio, slower)
		case benchmark != "checkout" && (ratio < 0.9 || ratio > 1.1 || !within):
			t.Errorf("%s: median after the change %.3f times that before, within the range before: %t", benchmark, ratio, within)
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
