package cli

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/app/internal/server/api"
	"github.com/dendroprof/dendro/store/engines"
)

// TestScriptServed runs the same scripts against a server: a command whose store is
// another Dendro prints the same as with a file of its own. Lines about the file itself
// stand behind [!served]. Commands run in this process, as most of the time of one is its start, for which
// TestScript runs each as a program.
func TestScriptServed(t *testing.T) {
	params := scriptParams()
	params.UpdateScripts = false // they are those of TestScript
	var variables []string
	params.Dir, variables = hereScripts(t, params.Dir)
	ownVariables(t)
	params.Cmds["here"] = func(ts *testscript.TestScript, neg bool, args []string) {
		status, err := runHere(ts, variables, args)
		ts.Check(err)
		if neg == (status == exitFine) {
			ts.Fatalf("status %d", status)
		}
	}
	alone, conditions := params.Setup, params.Condition
	params.Condition = func(cond string) (bool, error) {
		if cond == "served" {
			return true, nil
		}
		return conditions(cond)
	}
	params.Setup = func(e *testscript.Env) error {
		if err := alone(e); err != nil {
			return err
		}
		st, err := engines.Open(t.Context(), filepath.Join(e.WorkDir, "served.duckdb"), engines.Write)
		if err != nil {
			return err
		}
		s, err := server.New(server.Options{}, api.Part(api.Options{Store: st, Version: "test", SQL: true}))
		if err != nil {
			return err
		}
		http := httptest.NewServer(s.Handler())
		e.Defer(func() {
			http.Close()
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		e.Values[servedStore{}] = st
		e.Setenv("DENDRO_STORE", http.URL)
		return nil
	}
	testscript.Run(t, params)
}

// servedStore is the key of the store behind the server of a script.
type servedStore struct{}

var (
	startLine = regexp.MustCompile(`^((?:\[!?\w+\] )?(?:! )?)exec dendro `)
	envLine   = regexp.MustCompile(`(?m)^(?:\[!?\w+\] )?env (.*)$`)
)

// hereScripts copies scripts, with the command here in the place of programs that read no stdin, which scripts keep to
// themselves. It returns the copies, and the names of the variables that any of them sets.
func hereScripts(t *testing.T, dir string) (copies string, variables []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	copies = t.TempDir()
	for _, name := range files {
		text := read(t, name)
		for _, m := range envLine.FindAllStringSubmatch(text, -1) {
			for _, word := range strings.Fields(m[1]) {
				variable, _, _ := strings.Cut(word, "=")
				variables = append(variables, variable)
			}
		}
		lines := strings.SplitAfter(text, "\n")
		for i := range lines {
			if i == 0 || !strings.HasPrefix(lines[i-1], "stdin ") {
				lines[i] = startLine.ReplaceAllString(lines[i], "${1}here ")
			}
		}
		write(t, filepath.Join(copies, filepath.Base(name)), strings.Join(lines, ""))
	}
	return copies, append(variables, "PATH", "HOME", "TMPDIR", "NO_COLOR", "DENDRO_STORE", "XDG_CONFIG_HOME")
}

// oneHere is held by the script whose folder and variables are those of the process.
var oneHere sync.Mutex

// runHere runs a command in the folder and with the variables of a script. Only what differs from the process is set, and
// set back: other scripts start meanwhile, and find their programs by the PATH of the process.
func runHere(ts *testscript.TestScript, variables, args []string) (status int, err error) {
	oneHere.Lock()
	defer oneHere.Unlock()
	folder, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	for _, name := range variables {
		before, value := os.Getenv(name), ts.Getenv(name)
		if before == value {
			continue
		}
		err = errors.Join(err, setVariable(name, value))
		defer func() { err = errors.Join(err, setVariable(name, before)) }()
	}
	if err = errors.Join(err, os.Chdir(ts.MkAbs("."))); err == nil {
		status = Main(args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
	}
	return status, errors.Join(err, os.Chdir(folder))
}

// setVariable sets a variable of the process; a script cannot tell one that is empty from one that is not set.
func setVariable(name, value string) error {
	if value == "" {
		return os.Unsetenv(name)
	}
	return os.Setenv(name, value)
}

// ownVariables takes the variables of the process away until the end of a test, but those that scripts are started with.
func ownVariables(t *testing.T) {
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PATH" || name == "HOME" || name == "TMPDIR" {
			continue
		}
		t.Cleanup(func() {
			if err := os.Setenv(name, value); err != nil {
				t.Error(err)
			}
		})
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}
