package gitlog

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// trap is a repository whose author wants to run a command on the machine of whoever asks
// about it, to open a connection from it, or to read a file outside.
type trap struct {
	t        *testing.T
	dir      string // the repository: two commits, a file in the index that looks changed
	mark     string // the command's: exists if it ran
	command  string // what is to be run
	outside  string // a directory with a file that the repository does not have
	server   string // host:port
	requests atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	x := &trap{t: t, outside: t.TempDir()}
	x.dir = repositoryOf(t, commit{1e9, []string{"a.go=1\n", "go.mod=module example.com/m\n"}}, commit{2e9, []string{"a.go=2\n"}})
	x.git(x.dir, "checkout", "-q", "main")
	x.mark = filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(filepath.Dir(x.mark), "run.sh")
	x.write(script, "#!/bin/sh\n: >>"+x.mark+"\nexit 1\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	x.command = script
	x.write(filepath.Join(x.outside, "secret.go"), "secret\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	x.server = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			x.requests.Add(1)
			c.Close()
		}
	}()
	return x
}

// git runs git as its author would, without the configuration of the machine.
func (x *trap) git(dir string, args ...string) string {
	x.t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a", "-c", "protocol.file.allow=always"},
		args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.CombinedOutput()
	if err != nil {
		x.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (x *trap) write(name, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

// touch changes a file and its time, so that git must look at its content.
func (x *trap) touch(name string) {
	x.write(name, "3\n")
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, then, then); err != nil {
		x.t.Fatal(err)
	}
}

// ask asks everything about the repository around a directory.
func (x *trap) ask(ctx context.Context, dir string) (answers string) {
	x.t.Helper()
	var b strings.Builder
	head, err := ReadHead(ctx, dir)
	fmt.Fprintln(&b, head, err)
	log, err := Read(ctx, dir, "", "")
	if err == nil {
		fmt.Fprintln(&b, log.Commit, log.kept)
	}
	a, err := ReadAncestors(ctx, dir, "HEAD")
	fmt.Fprintln(&b, a, err)
	c, err := ReadChanges(ctx, dir, "HEAD~1", "HEAD", []string{"a.go", "sub", "go.mod", "lib"}, nil)
	fmt.Fprintln(&b, c, err)
	base, err := MergeBase(ctx, dir, "HEAD~1", "HEAD")
	fmt.Fprintln(&b, base, err)
	to := x.t.TempDir()
	out, err := Checkout(ctx, dir, "HEAD", to)
	fmt.Fprintln(&b, out, err)
	if root, err := Root(dir); err == nil {
		fmt.Fprintln(&b, root)
		if s, err := OpenSources(ctx, root); err == nil {
			for _, name := range []string{"a.go", "secret.go", "link.go"} {
				fmt.Fprintln(&b, s.Lines(&profile.Function{Name: "f", File: name}))
			}
			s.Close()
		}
	}
	return b.String()
}

// filters makes a file of the working tree pass through a filter that runs the command.
func (x *trap) filters(config string) {
	x.write(filepath.Join(x.dir, ".gitattributes"), "*.go filter=x diff=x merge=x\n")
	x.append(config, "[filter \"x\"]\n\tclean = "+x.command+"\n\tsmudge = "+x.command+"\n\trequired\n")
	x.touch(filepath.Join(x.dir, "a.go"))
}

func (x *trap) append(name, text string) {
	x.t.Helper()
	old, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		x.t.Fatal(err)
	}
	x.write(name, string(old)+text)
}

// traps are the ways in which a repository could act: each prepares it and returns the
// directory from which it is asked.
var traps = map[string]func(x *trap, config string) string{
	"clean filter": func(x *trap, config string) string { x.filters(config); return x.dir },
	"process filter": func(x *trap, config string) string {
		x.filters(config)
		x.append(config, "[filter \"x\"]\n\tprocess = "+x.command+"\n")
		return x.dir
	},
	"included configuration": func(x *trap, config string) string {
		other := filepath.Join(x.dir, ".git", "more")
		x.filters(other)
		x.append(config, "[include]\n\tpath = "+other+"\n[includeIf \"gitdir:/\"]\n\tpath = "+other+"\n")
		return x.dir
	},
	"configuration of a worktree": func(x *trap, config string) string {
		x.append(config, "[extensions]\n\tworktreeConfig = true\n")
		x.filters(filepath.Join(x.dir, ".git", "config.worktree"))
		return x.dir
	},
	"bare repository in a folder": func(x *trap, _ string) string {
		sub := filepath.Join(x.dir, "testdata", "repository")
		x.git(x.dir, "clone", "-q", "--bare", x.dir, sub)
		x.filters(filepath.Join(sub, "config"))
		index, err := os.ReadFile(filepath.Join(x.dir, ".git", "index"))
		if err != nil {
			x.t.Fatal(err)
		}
		x.write(filepath.Join(sub, "index"), string(index))
		x.append(filepath.Join(sub, "config"), "[core]\n\tbare = false\n\tworktree = "+x.dir+"\n\tfsmonitor = "+x.command+"\n")
		return sub
	},
	"partial clone with a command": func(x *trap, config string) string {
		x.lose("a.go")
		x.append(config, "[remote \"origin\"]\n\turl = "+x.dir+"\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\tuploadpack = "+x.command+"\n[extensions]\n\tpartialClone = origin\n")
		return x.dir
	},
	"partial clone over ssh": func(x *trap, config string) string {
		x.lose("a.go")
		x.append(config, "[core]\n\tsshCommand = "+x.command+"\n[remote \"origin\"]\n\turl = ssh://git@example.invalid/x\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n")
		return x.dir
	},
	"partial clone over http": func(x *trap, config string) string {
		x.lose("a.go")
		x.append(config, "[remote \"origin\"]\n\turl = http://"+x.server+"/x\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n")
		return x.dir
	},
	"partial clone with a helper": func(x *trap, config string) string {
		x.lose("a.go")
		x.append(config, "[protocol]\n\tallow = always\n[remote \"origin\"]\n\turl = ext::"+x.command+"\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n")
		return x.dir
	},
	"working tree outside": func(x *trap, config string) string {
		x.append(config, "[core]\n\tworktree = "+x.outside+"\n")
		return x.dir
	},
	"link out of the working tree": func(x *trap, _ string) string {
		if err := os.Symlink(filepath.Join(x.outside, "secret.go"), filepath.Join(x.dir, "link.go")); err != nil {
			x.t.Fatal(err)
		}
		x.git(x.dir, "add", "link.go")
		return x.dir
	},
	"file system monitor": func(x *trap, config string) string {
		x.append(config, "[core]\n\tfsmonitor = "+x.command+"\n\tuntrackedCache = true\n")
		return x.dir
	},
	"hooks": func(x *trap, config string) string {
		for _, name := range []string{"post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"} {
			hook := filepath.Join(x.dir, ".git", "hooks", name)
			x.write(hook, "#!/bin/sh\nexec "+x.command+" </dev/null\n")
			if err := os.Chmod(hook, 0o755); err != nil {
				x.t.Fatal(err)
			}
		}
		x.append(config, "[core]\n\thooksPath = "+filepath.Join(x.dir, ".git", "hooks")+"\n")
		x.touch(filepath.Join(x.dir, "a.go"))
		return x.dir
	},
	"pagers and editors": func(x *trap, config string) string {
		x.append(config, "[core]\n\tpager = "+x.command+"\n\teditor = "+x.command+"\n\taskPass = "+x.command+"\n\talternateRefsCommand = "+
			x.command+"\n\tgitProxy = "+x.command+
			"\n[pager]\n\tlog = "+x.command+"\n\tdiff = "+x.command+"\n\tstatus = true\n[credential]\n\thelper = "+x.command+"\n[alias]\n\tlog = !"+
			x.command+"\n\tstatus = !"+x.command+"\n")
		return x.dir
	},
	"signatures": func(x *trap, config string) string {
		x.append(config, "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = "+x.command+"\n\tformat = ssh\n[gpg \"ssh\"]\n\tprogram = "+
			x.command+"\n\tallowedSignersFile = "+x.mark+"\n")
		return x.dir
	},
	"external diff": func(x *trap, config string) string {
		x.append(config, "[diff]\n\texternal = "+x.command+"\n[diff \"x\"]\n\tcommand = "+x.command+"\n\ttextconv = "+x.command+
			"\n\tcachetextconv = true\n")
		x.write(filepath.Join(x.dir, ".gitattributes"), "* diff=x\n")
		x.touch(filepath.Join(x.dir, "a.go"))
		return x.dir
	},
	"submodule": func(x *trap, config string) string {
		other := repositoryOf(x.t, commit{1e9, []string{"s.go=1\n"}}, commit{2e9, []string{"s.go=2\n"}})
		x.git(other, "checkout", "-q", "main")
		x.git(x.dir, "submodule", "--quiet", "add", other, "sub")
		sub := filepath.Join(x.dir, "sub")
		x.git(sub, "checkout", "-q", "main~1")
		x.git(x.dir, "commit", "-qam", "s1")
		x.git(sub, "checkout", "-q", "main")
		x.git(x.dir, "commit", "-qam", "s2")
		x.append(filepath.Join(x.dir, ".git", "modules", "sub", "config"),
			"[core]\n\tfsmonitor = "+x.command+"\n[diff]\n\texternal = "+x.command+"\n[filter \"x\"]\n\tclean = "+x.command+"\n")
		x.write(filepath.Join(sub, ".gitattributes"), "* filter=x\n")
		x.touch(filepath.Join(sub, "s.go"))
		x.append(config, "[diff]\n\tsubmodule = diff\n\tignoreSubmodules = none\n[status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true\n")
		return x.dir
	},
	"inside a submodule": func(x *trap, _ string) string {
		other := repositoryOf(x.t, commit{1e9, []string{"s.go=1\n"}})
		x.git(other, "checkout", "-q", "main")
		x.git(x.dir, "submodule", "--quiet", "add", other, "sub")
		sub := filepath.Join(x.dir, "sub")
		x.append(filepath.Join(x.dir, ".git", "modules", "sub", "config"), "[filter \"x\"]\n\tclean = "+x.command+"\n")
		x.write(filepath.Join(sub, ".gitattributes"), "* filter=x\n")
		x.touch(filepath.Join(sub, "s.go"))
		return sub
	},
	"file that names a git directory": func(x *trap, config string) string {
		x.filters(config)
		moved := filepath.Join(x.outside, "git")
		if err := os.Rename(filepath.Join(x.dir, ".git"), moved); err != nil {
			x.t.Fatal(err)
		}
		x.write(filepath.Join(x.dir, ".git"), "gitdir: "+moved+"\n")
		return x.dir
	},
	"linked worktree": func(x *trap, config string) string {
		linked := filepath.Join(x.outside, "linked")
		x.git(x.dir, "worktree", "add", "-q", "--detach", linked)
		// The common directory is another, with a configuration of its own.
		evil := filepath.Join(x.outside, "evil")
		x.git(x.dir, "clone", "-q", "--bare", x.dir, evil)
		x.filters(filepath.Join(evil, "config"))
		x.write(filepath.Join(x.dir, ".git", "worktrees", "linked", "commondir"), evil+"\n")
		x.write(filepath.Join(linked, ".gitattributes"), "*.go filter=x\n")
		x.touch(filepath.Join(linked, "a.go"))
		return linked
	},
	"objects of another repository": func(x *trap, config string) string {
		clone := filepath.Join(x.outside, "clone")
		x.git(x.dir, "clone", "-q", "--shared", x.dir, clone)
		x.filters(config)
		x.append(config, "[core]\n\talternateRefsCommand = "+x.command+"\n")
		return clone
	},
	"configuration in the environment": func(x *trap, config string) string {
		x.filters(config)
		for name, value := range map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "filter.x.clean", "GIT_CONFIG_VALUE_0": x.command,
			"GIT_EXTERNAL_DIFF": x.command, "GIT_PAGER": x.command, "GIT_SSH_COMMAND": x.command, "GIT_DIR": filepath.Join(x.dir, ".git"),
			"GIT_WORK_TREE": x.outside} {
			x.t.Setenv(name, value)
		}
		return x.dir
	},
}

// lose removes the object of a file, as a partial clone never had it.
func (x *trap) lose(name string) {
	x.t.Helper()
	x.git(x.dir, "repack", "-adq")
	hash := x.git(x.dir, "rev-parse", "HEAD:"+name)
	packs, _ := filepath.Glob(filepath.Join(x.dir, ".git", "objects", "pack", "*.pack"))
	for _, pack := range packs {
		moved := filepath.Join(x.t.TempDir(), "pack")
		if err := os.Rename(pack, moved); err != nil {
			x.t.Fatal(err)
		}
		os.Remove(strings.TrimSuffix(pack, ".pack") + ".idx")
		in, err := os.Open(moved)
		if err != nil {
			x.t.Fatal(err)
		}
		c := exec.Command("git", "-C", x.dir, "unpack-objects", "-q")
		c.Stdin = in
		if out, err := c.CombinedOutput(); err != nil {
			x.t.Fatalf("%v: %s", err, out)
		}
		in.Close()
	}
	if err := os.Remove(filepath.Join(x.dir, ".git", "objects", hash[:2], hash[2:])); err != nil {
		x.t.Fatal(err)
	}
}

func TestRepositoryRunsNothing(t *testing.T) {
	for name, prepare := range traps {
		t.Run(name, func(t *testing.T) {
			x := newTrap(t)
			dir := prepare(x, filepath.Join(x.dir, ".git", "config"))
			os.Remove(x.mark) // what the author's own commands ran
			answers := x.ask(t.Context(), dir)
			if _, err := os.Stat(x.mark); err == nil {
				t.Errorf("a command of the repository ran")
			}
			if n := x.requests.Load(); n > 0 {
				t.Errorf("%d connections", n)
			}
			if strings.Contains(answers, "secret]") {
				t.Errorf("a line of a file outside:\n%s", answers)
			}
			t.Log(answers)
		})
	}
}

// TestSpecialFiles: what is no regular file, or has no end, is an error or is not there.
func TestSpecialFiles(t *testing.T) {
	for _, name := range []string{".git/config", ".git/HEAD", ".git/packed-refs", ".git/index", ".git/shallow", ".git/refs/heads/main",
		".gitattributes", ".mailmap", ".gitignore",
		".git/objects/info/alternates", ".git/objects/pack/pack-1234567890123456789012345678901234567890.idx", ".git"} {
		for _, kind := range []string{"fifo", "zero"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				x := newTrap(t)
				path := filepath.Join(x.dir, filepath.FromSlash(name))
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				err := error(nil)
				if kind == "fifo" {
					err = syscall.Mkfifo(path, 0o600)
				} else {
					err = os.Symlink("/dev/zero", path)
				}
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				done := make(chan string, 1)
				go func() { done <- x.ask(ctx, x.dir) }()
				select {
				case answers := <-done:
					t.Log(answers)
				case <-time.After(20 * time.Second):
					t.Error("no answer within 20 s, though the context ended after one")
				}
			})
		}
	}
}
