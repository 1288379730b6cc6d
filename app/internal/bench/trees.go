package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/dendroprof/dendro/app/internal/gitlog"
)

// Tree is the work tree of one side of a comparison. While something is done in it, it has
// the same path as the tree of the other side: paths of files are then equal in the
// profiles of both.
type Tree struct {
	Commit, Branch, Repository string
	Session                    *Session
	Dirty                      bool // the work tree of its commit has changes that are not in it

	parked, work string // its directory when the other side has the path, and the path
	below        string // the directory of the command, in the tree
	origin       string // the work tree of the repository
}

// Trees checks out the commits to compare, base and head, of the repository that the working
// directory is in, below an empty directory. The base is the commit at which the head
// left it: what it has received since is no difference that the head has made.
func Trees(ctx context.Context, base, head, dir string) (trees []*Tree, err error) {
	root, err := gitlog.Root(".")
	if err != nil {
		return nil, err
	}
	here, err := filepath.Abs(".")
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(root, here)
	if err != nil {
		return nil, err
	}
	from, err := gitlog.MergeBase(ctx, root, base, head)
	if err != nil {
		return nil, err
	}
	checkedOut, _ := gitlog.ReadHead(ctx, root) // its branch names HEAD, if it has one
	for _, side := range []struct{ name, revision, branch string }{{"base", from, base}, {"head", head, head}} {
		t := &Tree{parked: filepath.Join(dir, side.name), work: filepath.Join(dir, "tree"), below: below, origin: root}
		if err := os.MkdirAll(t.parked, 0o755); err != nil {
			return nil, err
		}
		at, err := gitlog.Checkout(ctx, root, side.revision, t.parked)
		if err != nil {
			return nil, err
		}
		t.Commit, t.Repository = at.Commit, at.Origin
		switch {
		case side.branch == "HEAD":
			t.Branch, t.Dirty = checkedOut.Branch, checkedOut.Dirty
		case gitlog.IsBranch(ctx, root, side.branch):
			t.Branch = side.branch
		}
		trees = append(trees, t)
	}
	if trees[0].Commit == trees[1].Commit {
		return nil, UsageError(fmt.Sprintf("--base %s: it has the commit of %s, %.12s: commit the change first, or name the commits with --base and --head", base, head, trees[0].Commit))
	}
	return trees, nil
}

// In does something in the tree.
func (t *Tree) In(do func() error) error {
	if err := os.Rename(t.parked, t.work); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, os.Rename(t.work, t.parked))
}

// Place is where the command runs while something is done In the tree.
func (t *Tree) Place(scratch string, like *Session) Place {
	return Place{Dir: filepath.Join(t.work, t.below), Root: t.work, Origin: t.origin, Env: t.env(), Scratch: scratch, Like: like}
}

// env returns the variables of the tree. Cargo would take the files of the other side,
// which has the same path, for those that it has built, if both sides built into one directory.
func (t *Tree) env() (env []string) {
	for _, dir := range t.projects() {
		if exists(filepath.Join(dir, "Cargo.toml")) {
			env = append(env, "CARGO_TARGET_DIR="+filepath.Join(dir, "target"))
		}
		if bin := filepath.Join(dir, environment, "bin"); exists(filepath.Join(bin, "python")) {
			env = append(env, "VIRTUAL_ENV="+filepath.Dir(bin), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
		}
		if env != nil {
			break
		}
	}
	return env
}

// projects lists the directories that say how the tree is built: its top, and that of the command.
func (t *Tree) projects() []string { return []string{t.work, filepath.Join(t.work, t.below)} }

// environment is the directory of a tree's own Python packages.
const environment = ".dendro-venv"

// builds are the commands that build a tree, by a file of its projects. A table of its own, for
// languages are built in the same way whatever runs them.
var builds = []struct {
	file     string
	commands [][]string
}{
	{"Cargo.toml", [][]string{{"cargo", "build", "--release"}}},
	{"pom.xml", [][]string{{"mvn", "-q", "-DskipTests", "package"}}},
	{"package-lock.json", [][]string{{"npm", "ci", "--no-audit", "--no-fund"}}},
	{"go.mod", [][]string{{"go", "build", "./..."}}},
	{"pyproject.toml", pipInstall},
	{"setup.py", pipInstall},
}

// pipInstall installs a tree into an environment of its own, behind which the packages of
// the Python that makes it can be imported too: the frameworks of benchmarks.
var pipInstall = [][]string{
	{"python3", "-m", "venv", environment},
	{"python3", "-c", `import glob, sysconfig
for site in glob.glob("` + environment + `/lib/python*/site-packages"):
    with open(site + "/dendro.pth", "w") as f:
        f.write(sysconfig.get_path("purelib") + "\n" + sysconfig.get_path("platlib") + "\n")`},
	{environment + "/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-e", "."},
}

// Build builds the tree with a command of the shell; without one, by the files that it has.
// What runs go test builds what it needs itself. What a command installs for Python is the tree's own too.
func (t *Tree) Build(ctx context.Context, command string, args []string, talk io.Writer) error {
	env := t.env() // before there is an environment in the tree, so that python3 is the user's
	build := func(dir string, env []string, commands ...[]string) error {
		for _, c := range commands {
			if text := strings.Join(c, " "); !strings.Contains(text, "\n") {
				fmt.Fprintf(talk, "building %.12s: %s …\n", t.Commit, text)
			}
			if _, err := run(ctx, process{dir: dir, args: c, out: io.Discard}, env); err != nil {
				return fmt.Errorf("building %.12s: %w", t.Commit, err)
			}
		}
		return nil
	}
	switch {
	case command != "":
		if isPython(args) || pytest.detect(args) {
			if err := build(t.work, env, pipInstall[:2]...); err != nil { // makes the environment
				return err
			}
		}
		return build(filepath.Join(t.work, t.below), t.env(), []string{"sh", "-c", command})
	case goTest.detect(args), criterion.detect(args):
		return nil
	}
	for _, dir := range t.projects() {
		for _, b := range builds {
			if exists(filepath.Join(dir, b.file)) {
				return build(dir, env, b.commands...)
			}
		}
	}
	return nil
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }
