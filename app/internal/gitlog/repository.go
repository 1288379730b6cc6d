package gitlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dendroprof/dendro/internal/plainfile"
)

// ErrNoGit: the git program is not installed.
var ErrNoGit = errors.New("the program git is needed to read a repository, and was not found")

// ErrNoRepository: a directory is in no repository.
var ErrNoRepository = errors.New("not a git repository")

// ErrNoCommit: nothing has been committed yet.
var ErrNoCommit = errors.New("the repository has no commit yet")

// errMissing explains why an object may be missing.
var errMissing = errors.New("it is a partial clone, and nothing is fetched that it lacks")

// Bounds of what a repository may cost.
const (
	maxConfig  = 1 << 20         // bytes of its configuration
	maxPointer = 4 << 10         // bytes of a file that names a revision or a directory
	maxFiles   = 1 << 20         // of a commit or a working tree
	patience   = 2 * time.Minute // with one command
	maxMemory  = 2 << 30         // bytes that one command allocates: a few small objects can stand for any number of files
)

// repository is a repository as the git program is shown it: a git directory of our own
// (view) with links to its objects, references and index, and a configuration that we have
// written. What its own configuration, hooks and attributes ask to run, to fetch or to read
// elsewhere is thus not known to git, whatever versions of git can be asked to run.
// The trust that this needs is in the package comment.
type repository struct {
	ctx     context.Context
	top     string // directory of the working tree; empty: bare
	git     string // directory with HEAD and the index
	common  string // directory with objects, references and configuration
	view    string
	origin  string // address of the remote
	partial bool   // some objects may be missing, by intent
	memory  uint64 // bytes that a command may allocate
}

// with opens the repository that dir is in, and does something with it. Errors of both have
// the name of the directory.
func with(ctx context.Context, dir string, do func(r *repository) error) error {
	r := &repository{ctx: ctx, memory: maxMemory}
	defer r.close()
	err := r.locate(dir)
	if err == nil {
		err = r.makeView()
	}
	if err == nil {
		err = do(r)
	}
	if err != nil {
		return fmt.Errorf("repository %s: %w", dir, err)
	}
	return nil
}

// close removes the view.
func (r *repository) close() {
	if r.view != "" {
		_ = os.RemoveAll(r.view) // of links and two files below the temporary directory
	}
}

// locate finds the directories of the repository that dir is in: those of the first directory upwards that
// has one, below GIT_CEILING_DIRECTORIES as git does. A bare repository is found only if dir is its
// directory and nothing around it is a repository.
func (r *repository) locate(dir string) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	ceilings := filepath.SplitList(os.Getenv("GIT_CEILING_DIRECTORIES"))
	for at := dir; at == dir || !slices.Contains(ceilings, at); at = filepath.Dir(at) {
		name := filepath.Join(at, ".git")
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() {
			if name, err = pointer(name, "gitdir: "); err != nil {
				return err
			}
		}
		if err == nil && r.is(name) {
			r.top = at
			return nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if r.is(dir) {
		return nil
	}
	return ErrNoRepository
}

// is sets the directories if one is a git directory.
func (r *repository) is(git string) bool {
	common := git
	if name, err := pointer(filepath.Join(git, "commondir"), ""); err == nil {
		common = name
	}
	for _, name := range []string{filepath.Join(common, "objects"), filepath.Join(common, "refs")} {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			return false
		}
	}
	if _, err := os.Stat(filepath.Join(git, "HEAD")); err != nil {
		return false
	}
	r.git, r.common = git, common
	return true
}

// pointer returns the path in a file, behind a prefix; it may be relative to the file.
func pointer(file, prefix string) (string, error) {
	data, err := plainfile.Read(file, maxPointer)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !ok || path == "" {
		return "", fmt.Errorf("%s does not name a directory", file)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return path, nil
}

// makeView makes the directory that git is shown.
func (r *repository) makeView() (err error) {
	head, err := plainfile.Read(filepath.Join(r.git, "HEAD"), maxPointer)
	if err != nil {
		return err
	}
	if r.view, err = os.MkdirTemp("", "dendro-git-"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.view, "HEAD"), head, 0o600); err != nil {
		return err
	}
	for _, link := range []struct {
		dir   string
		names []string
	}{{r.common, []string{"objects", "refs", "packed-refs", "shallow", "logs", "reftable"}},
		{r.git, []string{"index", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD"}}} {
		for _, name := range link.names {
			if err := r.link(link.dir, name); err != nil {
				return err
			}
		}
	}
	shared, _ := filepath.Glob(filepath.Join(r.git, "sharedindex.*")) // of a split index
	for _, name := range shared[:min(len(shared), 100)] {
		if err := r.link(r.git, filepath.Base(name)); err != nil {
			return err
		}
	}
	return r.configure()
}

// link shows git a directory or a regular file, if it is there.
func (r *repository) link(dir, name string) error {
	target := filepath.Join(dir, name)
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", target, plainfile.ErrNotPlain)
	}
	if err != nil {
		return err
	}
	return os.Symlink(target, filepath.Join(r.view, name))
}

// harmless are the settings that are taken over from a repository's configuration: how its
// files are encoded and compared, and what its branches follow. None of them names a
// command, an address or a path.
var harmless = regexp.MustCompile(`^(?:core\.(?:repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat|autocrlf|eol|sparsecheckout|sparsecheckoutcone)` +
	`|extensions\.(?:objectformat|refstorage)|(?s:branch\..*\.(?:remote|merge)|remote\..*\.fetch))$`)

// configure writes the configuration of the view.
func (r *repository) configure() error {
	file := filepath.Join(r.view, "config")
	if err := os.WriteFile(file, []byte("[core]\n\trepositoryformatversion = 0\n"), 0o600); err != nil {
		return err
	}
	data, err := plainfile.Read(filepath.Join(r.common, "config"), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	// The program is the only complete reader of its format. It reads the text, and
	// nothing that the text includes.
	c := r.command("config", "--file", "-", "--no-includes", "--list", "-z")
	c.Stdin = bytes.NewReader(data)
	err = r.run(c, fields(func(field string) error {
		key, value, _ := strings.Cut(field, "\n")
		switch {
		case key == "remote.origin.url":
			r.origin = value
		case key == "extensions.partialclone", strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".promisor"):
			r.partial = true
		case harmless.MatchString(key):
			writeSetting(&b, key, value)
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("its configuration: %w", err)
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// writeSetting writes section.name or section.subsection.name as a file of git has it.
func writeSetting(b *strings.Builder, key, value string) {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if at := strings.LastIndexByte(rest, '.'); at >= 0 {
		// A line break cannot be in a subsection, and git has read it from a line.
		section, name = section+` "`+quote(rest[:at])+`"`, rest[at+1:]
	}
	fmt.Fprintf(b, "[%s]\n\t%s = \"%s\"\n", section, name, quote(value))
}

// command returns a git command about what is committed and in the index. Git has no
// working tree, so that it reads no attributes there.
func (r *repository) command(args ...string) *exec.Cmd {
	fixed := []string{"--no-pager", "-c", "core.bare=true", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c",
		"core.hooksPath=" + os.DevNull, "-c", "log.mailmap=false"}
	c := exec.CommandContext(r.ctx, "git", append(fixed, args...)...)
	c.Dir = r.view
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GIT_") {
			c.Env = append(c.Env, variable)
		}
	}
	// The user's configuration does not matter for the answers, and a repository's attributes
	// could make its commands run.
	c.Env = append(c.Env, "GIT_DIR="+r.view, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return c
}

// inTree returns a git command about the working tree, in a directory of it.
func (r *repository) inTree(dir string, args ...string) *exec.Cmd {
	c := r.command(append([]string{"-c", "core.bare=false"}, args...)...)
	c.Dir = dir
	c.Env = append(c.Env, "GIT_WORK_TREE="+r.top)
	return c
}

// stream hands the output of a command to read.
func (r *repository) stream(read func(out *bufio.Reader) error, args ...string) error {
	return r.run(r.command(args...), read)
}

// run runs a command and hands its output to read. It ends with the context, and after
// patience.
func (r *repository) run(c *exec.Cmd, read func(out *bufio.Reader) error) error {
	var stderr bytes.Buffer
	c.Stderr = &limited{&stderr}
	c.WaitDelay = time.Second
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return ErrNoGit
	}
	if err != nil {
		return err
	}
	slow := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	limitMemory(c.Process.Pid, r.memory)
	readErr := read(bufio.NewReaderSize(out, 1<<16))
	if readErr != nil {
		_ = c.Process.Kill() // or git waits for a reader
	}
	err = c.Wait()
	ended := !slow.Stop()
	switch {
	case readErr != nil:
		return readErr
	case r.ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", subcommand(c), context.Cause(r.ctx))
	case ended:
		return fmt.Errorf("git %s: no answer within %s", subcommand(c), patience)
	case err == nil:
		return nil
	}
	if text := strings.TrimSpace(stderr.String()); text != "" {
		err = gitError{strings.TrimPrefix(text, "fatal: "), err}
	}
	err = fmt.Errorf("git %s: %w", subcommand(c), err)
	if r.partial {
		err = fmt.Errorf("%w (%w)", err, errMissing)
	}
	return err
}

// gitError is what git complains, with its exit status.
type gitError struct {
	text string
	error
}

func (e gitError) Error() string { return e.text }
func (e gitError) Unwrap() error { return e.error }

// subcommand returns what git was asked for: its first argument that is no option.
func subcommand(c *exec.Cmd) string {
	for i := 1; i < len(c.Args); i++ {
		switch {
		case c.Args[i] == "-c":
			i++
		case !strings.HasPrefix(c.Args[i], "-"):
			return c.Args[i]
		}
	}
	return ""
}

// limited keeps the beginning of what a command complains.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 4096 - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// text returns the output of a command that prints one line.
func (r *repository) text(args ...string) (string, error) {
	var text string
	err := r.stream(func(out *bufio.Reader) error {
		all, err := io.ReadAll(io.LimitReader(out, 1<<16))
		text = strings.TrimSpace(string(all))
		return err
	}, args...)
	return text, err
}

// differs runs a command that compares: its exit status is 1 if there is a difference.
func (r *repository) differs(args ...string) (bool, error) {
	_, err := r.text(args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return true, nil
	}
	return false, err
}

// date returns the date of a commit.
func (r *repository) date(commit string) (time.Time, error) {
	text, err := r.text("log", "-1", "--format=%ct", commit, "--")
	if err != nil {
		return time.Time{}, err
	}
	unix, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: %w", err)
	}
	return time.Unix(unix, 0).UTC(), nil
}

// isShallow reports whether the clone lacks the beginning of the history.
func (r *repository) isShallow() (bool, error) {
	text, err := r.text("rev-parse", "--is-shallow-repository")
	return text == "true", err
}

// commit returns the full hash of a revision; noCommitError if there is none. A branch may be one that was only
// fetched: the clone of a CI has no other.
func (r *repository) commit(revision string) (string, error) {
	for _, name := range []string{revision, "origin/" + revision} {
		hash, err := r.text("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if !errors.As(err, new(*exec.ExitError)) || errors.As(err, new(gitError)) {
			return hash, err
		}
		if revision == "HEAD" {
			break
		}
	}
	return "", noCommitError(revision)
}

// commits makes two revisions the full hashes of their commits.
func (r *repository) commits(a, b *string) (err error) {
	if *a, err = r.commit(*a); err == nil {
		*b, err = r.commit(*b)
	}
	return err
}

// noCommitError is a revision that a repository does not have.
type noCommitError string

func (e noCommitError) Error() string { return fmt.Sprintf("there is no commit %q", string(e)) }

// maxField bounds a path or a line of git's.
const maxField = 1 << 16

// fields returns a reader of fields that end in NUL.
func fields(use func(field string) error) func(out *bufio.Reader) error {
	return func(out *bufio.Reader) error {
		s := bufio.NewScanner(out)
		s.Buffer(make([]byte, 0, 4096), maxField)
		s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, 0); i >= 0 {
				return i + 1, data[:i], nil
			}
			if atEOF && len(data) > 0 {
				return len(data), data, nil
			}
			return 0, nil, nil
		})
		for s.Scan() {
			if err := use(s.Text()); err != nil {
				return err
			}
		}
		return s.Err()
	}
}

// files lists the files of a commit.
func (r *repository) files(commit string, use func(path string)) error {
	return r.stream(paths(use), "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
}

// paths returns a reader of paths, of which there may be maxFiles.
func paths(use func(path string)) func(out *bufio.Reader) error {
	n := 0
	return fields(func(path string) error {
		if n++; n > maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		use(path)
		return nil
	})
}
