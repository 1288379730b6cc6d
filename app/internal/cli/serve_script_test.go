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

// runHere runs a command in the folder and with the variables of a script.
func runHere(ts *testscript.TestScript, variables, args []string) (status int, err error) {
	oneHere.Lock()
	defer oneHere.Unlock()
	before := os.Environ()
	folder, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	os.Clearenv()
	for _, name := range variables {
		if value := ts.Getenv(name); value != "" {
			err = errors.Join(err, os.Setenv(name, value))
		}
	}
	if err = errors.Join(err, os.Chdir(ts.MkAbs("."))); err == nil {
		status = Main(args, strings.NewReader(""), ts.Stdout(), ts.Stderr())
	}
	os.Clearenv()
	for _, variable := range before {
		name, value, _ := strings.Cut(variable, "=")
		err = errors.Join(err, os.Setenv(name, value))
	}
	return status, errors.Join(err, os.Chdir(folder))
}
