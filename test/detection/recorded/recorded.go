// Package recorded has the histories of two small Go modules with known changes, as their
// benchmarks were really recorded. Billing has 24 runs of one commit and 6 of the next; Jobs,
// a pull request, 4 runs of either, in turns.
//
//   - base, head: the module, and the files that the second commit changed;
//   - runs: of each run the CPU profiles of `dendro bench`, and the results that the
//     benchmarks printed;
//   - truth.json: what changed in Billing;
//   - record: the command that made the runs.
//
// Those of Billing are in testdata, those of Jobs in testdata/rename.
package recorded

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The runs of the two commits of Billing, and of each of Jobs.
const (
	BaseRuns = 24
	HeadRuns = 6
	TurnRuns = 4
)

// Commits are the two commits of a repository.
type Commits struct{ Base, Head string }

// Module is a module with two commits.
type Module struct {
	name     string
	folder   string // in testdata
	subjects [2]string
}

// The modules.
var (
	Billing = Module{"billing", ".", [2]string{"billing: invoices, stock, search, archive",
		"billing: stock numbers of any alphabet; tokens v1.1.0"}}
	Jobs = Module{"jobs", "rename", [2]string{"jobs: a heap of jobs", "jobs: names in any case; push is pushValue"}}
)

// Repository makes a git repository of the module in dir, which must not exist: the commit
// before the changes, and the one with them. testdata is the directory of that name. The
// commits have the same hashes always.
func (m *Module) Repository(dir, testdata string) (c Commits, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return c, err
	}
	if _, err := git(dir, "", "init", "--quiet", "--initial-branch=main"); err != nil {
		return c, err
	}
	if _, err := git(dir, "", "remote", "add", "origin", "https://github.com/example/"+m.name); err != nil { // for links
		return c, err
	}
	if c.Base, err = commit(dir, filepath.Join(testdata, m.folder, "base"), "2026-11-20T09:00:00Z", m.subjects[0]); err != nil {
		return c, err
	}
	c.Head, err = commit(dir, filepath.Join(testdata, m.folder, "head"), "2026-11-23T09:00:00Z", m.subjects[1])
	return c, err
}

// commit copies files over those of a repository and commits them.
func commit(dir, files, date, message string) (string, error) {
	err := filepath.WalkDir(files, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(name, files))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return "", err
	}
	if _, err := git(dir, "", "add", "--all", "--force"); err != nil {
		return "", err
	}
	if _, err := git(dir, date, "-c", "user.name=Billing", "-c", "user.email=billing@example.com", "-c", "commit.gpgsign=false", "commit",
		"--quiet", "--no-verify", "--message="+message); err != nil {
		return "", err
	}
	return git(dir, "", "rev-parse", "HEAD")
}

func git(dir, date string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_DATE="+date)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
