package ingest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

func TestFromCI(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		want testrun.Run
		from string
	}{
		{"none", map[string]string{"GITHUB_SHA": "a"}, testrun.Run{}, ""},
		{"a push on GitHub", map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_SHA": "abc",
			"GITHUB_REF_NAME":   "main",
			"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/n"},
			testrun.Run{Key: "7", Commit: "abc", Branch: "main", Repository: "https://github.com/o/n"}, "GitHub"},
		{"a pull request, again", map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "2",
			"GITHUB_HEAD_REF": "fix", "GITHUB_REF_NAME": "7/merge"},
			testrun.Run{Key: "7-2", Branch: "fix"}, "GitHub"},
		{"GitLab", map[string]string{"GITLAB_CI": "true", "CI_PIPELINE_ID": "9", "CI_COMMIT_SHA": "abc", "CI_COMMIT_REF_NAME": "main",
			"CI_PROJECT_URL": "https://gitlab.com/o/n"},
			testrun.Run{Key: "9", Commit: "abc", Branch: "main", Repository: "https://gitlab.com/o/n"}, "GitLab"},
		{"Jenkins", map[string]string{"JENKINS_URL": "http://j", "BUILD_TAG": "jenkins-shop-3", "GIT_COMMIT": "abc", "GIT_BRANCH": "origin/main"},
			testrun.Run{Key: "jenkins-shop-3", Commit: "abc", Branch: "main"}, "Jenkins"},
	} {
		got := FromCI(func(name string) string { return test.env[name] })
		if diff := cmp.Diff(test.want, got.Run); diff != "" || got.From != test.from {
			t.Errorf("%s: from %q\n%s", test.name, got.From, diff)
		}
	}
}

func TestEnvironment(t *testing.T) {
	made := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	e := Environment{From: "git", Made: made, Run: testrun.Run{Commit: "abc", Branch: "main", Attributes: map[string]string{"dirty": "true"}}}
	after := &profile.Profile{Start: made.Add(time.Minute)}
	for _, test := range []struct {
		name    string
		label   Label
		flags   bool
		p       *profile.Profile
		mtime   time.Time
		commit  string
		branch  string
		guessed int
	}{
		{"nothing is known", Label{}, false, after, time.Time{}, "abc", "main", 2},
		{"recorded before the commit", Label{}, false, &profile.Profile{Start: made.Add(-time.Minute)}, made.Add(time.Hour), "", "", 0},
		{"no recording time", Label{}, false, &profile.Profile{}, made.Add(time.Hour), "abc", "main", 2},
		{"a run of a flag", Label{Run: testrun.Run{Key: "r"}}, true, after, time.Time{}, "abc", "main", 2},
		{"a run of a manifest", Label{Run: testrun.Run{Key: "r"}}, false, after, time.Time{}, "", "", 0},
		{"another commit", Label{Run: testrun.Run{Commit: "other"}}, false, after, time.Time{}, "other", "", 0},
		{"the same commit", Label{Run: testrun.Run{Commit: "abc"}}, false, after, time.Time{}, "abc", "main", 1},
		{"another branch", Label{Run: testrun.Run{Branch: "fix"}}, false, after, time.Time{}, "abc", "fix", 1},
		{"an older date", Label{Run: testrun.Run{Date: made.Add(-time.Hour)}}, false, after, time.Time{}, "", "", 0},
	} {
		l, added, guesses := e.label(test.label, test.flags, test.p, test.mtime)
		if l.Run.Commit != test.commit || l.Run.Branch != test.branch || len(guesses) != test.guessed {
			t.Errorf("%s: commit %q, branch %q, guesses %v", test.name, l.Run.Commit, l.Run.Branch, guesses)
		}
		if dirty := added.Attributes["dirty"] != ""; dirty != (test.guessed > 0) {
			t.Errorf("%s: added %+v", test.name, added)
		}
	}
	// The jobs of a matrix have one build: a machine makes them runs of their own.
	build := Environment{From: "GitHub", Made: made, Run: testrun.Run{Key: "7"}}
	for machine, want := range map[string]string{"": "7", "linux-go1.26": "7-linux-go1.26"} {
		if l, _, _ := build.label(Label{Run: testrun.Run{Machine: machine}}, false, after, time.Time{}); l.Run.Key != want {
			t.Errorf("machine %q: run %q, want %q", machine, l.Run.Key, want)
		}
	}
	if _, _, guesses := new(Environment).label(Label{}, false, after, time.Time{}); guesses != nil {
		t.Errorf("an unknown environment: %v", guesses)
	}
}

// TestRuns: guesses give way to what is known of a run.
func TestRuns(t *testing.T) {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var runs Runs
	runs.add(testrun.Run{Key: "r1", Date: day, Commit: "abc", Attributes: map[string]string{"jdk": "21"}})
	guessed := testrun.Run{Commit: "def", Branch: "main", Attributes: map[string]string{"dirty": "true"}}
	got := runs.resolve(testrun.Run{Key: "r1", Date: day.Add(1), Commit: "def", Branch: "main",
		Attributes: map[string]string{"dirty": "true", "os": "linux"}}, true, guessed)
	if want := (testrun.Run{Key: "r1", Attributes: map[string]string{"os": "linux"}}); !got.Same(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, key := range []string{"r2", "r2"} { // the second file of a new run
		got = runs.resolve(testrun.Run{Key: key, Date: day, Commit: "def", Branch: "main"}, false, guessed)
		if got.Commit != "def" || got.Branch != "main" {
			t.Errorf("%+v", got)
		}
	}
	if got := runs.resolve(testrun.Run{Key: "r1", Commit: "def"}, false, testrun.Run{}); got.Commit != "def" {
		t.Errorf("what a flag says stays, for the store to refuse: %+v", got)
	}
}

func TestGoBenchmarks(t *testing.T) {
	of := func(stacks ...[]string) *profile.Profile {
		p := profile.New(nil)
		p.Format = "pprof"
		table := profile.Samples{Type: profile.NamedType(profile.CPU)}
		for _, names := range stacks {
			at := profile.NoStack
			for _, name := range names {
				at = p.Symbols.Stack(at, p.Symbols.Frame(profile.Frame{Function: p.Symbols.Function(profile.Function{Name: name})}))
			}
			table.Stack, table.Value = append(table.Stack, at), append(table.Value, 1)
		}
		p.Tables = []profile.Samples{table}
		return p
	}
	const launch = "testing.(*B).launch"
	sort := []string{launch, runN, "example.com/a.b/shop_test.BenchmarkSort", "sort.Ints"}
	sub := []string{launch, runN, "example.com/a.b/shop.BenchmarkSort.func1", "sort.Ints"}
	other := []string{launch, runN, "example.com/a.b/shop.BenchmarkPrices", "sort.Ints"}
	parallel := []string{runParallel, "example.com/a.b/shop.BenchmarkSort.func1", "sort.Ints"}
	for name, test := range map[string]struct {
		p    *profile.Profile
		want []string
	}{
		"parallel":          {of(parallel), []string{"Sort"}},
		"one":               {of(sort, sort, []string{"runtime.mcall"}), []string{"Sort"}},
		"a sub-benchmark":   {of(sub), []string{"Sort"}},
		"two":               {of(sort, other), []string{"Prices", "Sort"}},
		"none":              {of([]string{"main.main", "shop.BenchmarkSort"}), nil},
		"the harness's own": {of([]string{launch, runN, "runtime.GC"}), nil},
	} {
		pkg, names := newWorker(Options{}).goBenchmarks(test.p)
		if !slices.Equal(names, test.want) || len(names) > 0 && pkg != "example.com/a.b/shop" {
			t.Errorf("%s: %q in %q, want %q", name, names, pkg, test.want)
		}
	}
}
