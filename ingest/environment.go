package ingest

import (
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Environment says which run a process belongs to: what the variables of a CI and the git
// repository around it know. It labels profiles whose run nothing else describes, and
// which were recorded after the commit was made.
type Environment struct {
	From string      // "git", "GitHub", …; empty: nothing is known
	Run  testrun.Run // Key is empty outside of a CI
	Made time.Time   // when the commit was made; zero: unknown
}

// FromCI reads the variables of GitHub Actions, GitLab CI and Jenkins.
func FromCI(getenv func(string) string) Environment {
	first := func(names ...string) string {
		for _, name := range names {
			if v := getenv(name); v != "" {
				return v
			}
		}
		return ""
	}
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		run := testrun.Run{Key: getenv("GITHUB_RUN_ID"), Commit: getenv("GITHUB_SHA"), Branch: first("GITHUB_HEAD_REF", "GITHUB_REF_NAME")}
		if attempt := getenv("GITHUB_RUN_ATTEMPT"); attempt != "" && attempt != "1" && run.Key != "" {
			run.Key += "-" + attempt
		}
		if server, name := getenv("GITHUB_SERVER_URL"), getenv("GITHUB_REPOSITORY"); server != "" && name != "" {
			run.Repository = server + "/" + name
		}
		return Environment{From: "GitHub", Run: run}
	case getenv("GITLAB_CI") != "":
		return Environment{From: "GitLab", Run: testrun.Run{Key: getenv("CI_PIPELINE_ID"), Commit: getenv("CI_COMMIT_SHA"),
			Branch: first("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"), Repository: getenv("CI_PROJECT_URL")}}
	case getenv("JENKINS_URL") != "":
		return Environment{From: "Jenkins", Run: testrun.Run{Key: getenv("BUILD_TAG"), Commit: getenv("GIT_COMMIT"),
			Branch: strings.TrimPrefix(first("CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"), "origin/"), Repository: getenv("GIT_URL")}}
	}
	return Environment{}
}

// Key returns the key of a run on a machine, which may be empty. Jobs of a matrix belong to one build, and nothing in
// their variables tells them apart; a run is of one machine.
func (e *Environment) Key(machine string) string {
	if e.Run.Key == "" || machine == "" {
		return e.Run.Key
	}
	return e.Run.Key + "-" + machine
}

// label adds what the environment knows to the label of a profile, and returns the facts
// that it added.
func (e *Environment) label(l Label, keyFromFlags bool, p *profile.Profile, mtime time.Time) (Label, testrun.Run, []Guess) {
	recorded := p.Start
	if recorded.IsZero() {
		recorded = mtime
	}
	described := l.Run.Key != "" && !keyFromFlags || l.Run.Commit != "" && l.Run.Commit != e.Run.Commit ||
		!l.Run.Date.IsZero() && l.Run.Date.Before(e.Made)
	if e.From == "" || described || recorded.Before(e.Made) {
		return l, testrun.Run{}, nil
	}
	run := e.Run
	run.Key = e.Key(l.Run.Machine)
	with := l.Or(Label{Run: run})
	var guesses []Guess
	added := testrun.Run{Attributes: map[string]string{}}
	for _, f := range []struct {
		what       string
		have, with string
		to         *string
	}{
		{"run", l.Run.Key, with.Run.Key, &added.Key}, {"commit", l.Run.Commit, with.Run.Commit, &added.Commit},
		{"branch", l.Run.Branch, with.Run.Branch, &added.Branch}, {"repository", l.Run.Repository, with.Run.Repository, &added.Repository},
	} {
		if f.have != f.with {
			*f.to = f.with
			guesses = append(guesses, Guess{f.what, e.From})
		}
	}
	for k, v := range with.Run.Attributes {
		if _, has := l.Run.Attributes[k]; !has {
			added.Attributes[k] = v
		}
	}
	return with, added, guesses
}
