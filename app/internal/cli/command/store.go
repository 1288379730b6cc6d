package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dendroprof/dendro/app/internal/client"
	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

const defaultStore = "dendro.duckdb"

// A command waits for another process to leave the store: most imports end within lockPatience,
// and after lockNote it says that it waits.
const (
	lockPatience = 10 * time.Second
	lockNote     = time.Second
)

// Location returns where the store is: flag, environment, config file, default.
func (e *Env) Location() (string, error) {
	if e.Store != "" {
		return e.Store, nil
	}
	if s := os.Getenv("DENDRO_STORE"); s != "" {
		return s, nil
	}
	c, err := readConfig()
	if err != nil {
		return "", err
	}
	if c.Store != "" {
		if c.repository {
			e.repositoryStore = c.Store
		}
		return c.Store, nil
	}
	return defaultStore, nil
}

// config is the content of the config file.
type config struct {
	Store string   `json:"store"`
	Own   []string `json:"own"` // packages or source directories of the user's own code
	// Selections are selection flags by a name for --selection: {"nightly": {"branch": "main", "last": 5}}.
	Selections map[string]map[string]any `json:"selections"`
	// Secrets are the files with the token or password of a server by its address. Only the
	// user's own configuration may have them.
	Secrets map[string]string `json:"secrets"`

	repository bool // it is the working directory's
}

// maxConfig bounds the files of a working directory that commands read, in bytes.
const maxConfig = 1 << 20

// repositoryConfig is the configuration that a repository brings with it.
var repositoryConfig = filepath.Join(".dendro", "config.json")

// readConfig reads .dendro/config.json of the working directory, else
// dendro/config.json of the user's configuration directory.
func readConfig() (config, error) {
	c, err := readConfigFile(repositoryConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c, _, err = readUserConfig()
		return c, err
	case err == nil && len(c.Secrets) > 0:
		err = fmt.Errorf("config file %s: secrets belong into your own configuration (docs/config.md#secrets)", repositoryConfig)
	}
	c.repository = true
	return c, err
}

// readUserConfig reads the user's own configuration, and returns the name of its file. It is
// empty if there is none.
func readUserConfig() (c config, name string, err error) {
	if name, err = userConfigFile(); err != nil {
		return c, "", nil
	}
	if c, err = readConfigFile(name); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, name, err
}

func readConfigFile(name string) (c config, err error) {
	data, err := plainfile.Read(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		err = fmt.Errorf("config file %s: %w", name, err)
	}
	return c, err
}

// OwnCode returns the packages or directories of the user's own code: those of the config
// file, else the module of the working directory's go.mod. Empty: package own decides.
func OwnCode() ([]string, error) {
	c, err := readConfig()
	if err != nil || len(c.Own) > 0 {
		return c.Own, err
	}
	data, err := plainfile.Read("go.mod", maxConfig)
	if err != nil {
		return nil, nil // not a Go module
	}
	for line := range strings.Lines(string(data)) {
		if module, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return []string{strings.Trim(strings.TrimSpace(module), `"`)}, nil
		}
	}
	return nil, nil
}

// Open opens the store for questions, or for changes too. A store that is only
// asked must exist.
func (e *Env) Open(ctx context.Context, access engines.Access) (store.Store, error) {
	where, err := e.Location()
	if err != nil {
		return nil, err
	}
	return e.OpenAt(ctx, where, access)
}

// Dial connects to a server.
func (e *Env) Dial(ctx context.Context, where string) (*client.Client, error) {
	token, err := e.token(where)
	if err != nil {
		return nil, err
	}
	var said sync.Map
	return client.Open(ctx, where, client.Options{Token: token, Missing: func(text string) {
		if _, again := said.LoadOrStore(text, true); !again {
			fmt.Fprintf(e.Err, "warning: the answer is not complete: %s\n", words.Clean(text))
		}
	}})
}

// OpenAt opens the store at a place, as open does.
func (e *Env) OpenAt(ctx context.Context, where string, access engines.Access) (store.Store, error) {
	if engines.IsServer(where) {
		return nil, Usagef("this needs a store, and --store %s is a server: run it on the server's machine", where)
	}
	if access == engines.Write {
		keepPrivate(where)
	}
	secret, err := e.Credentials(where)
	if err != nil {
		return nil, err
	}
	st, err := engines.OpenAsking(ctx, where, access, secret)
	noted := false
	for began := time.Now(); errors.Is(err, store.ErrLocked) && time.Since(began) < lockPatience && ctx.Err() == nil; {
		if owned := ownedBy(where, err); owned != err { // it is the same or another
			return nil, owned // a server does not end
		}
		if !noted && time.Since(began) > lockNote {
			noted = true
			e.Notes([]string{fmt.Sprintf("waiting for another process that uses the store, at most %v", lockPatience)})
		}
		time.Sleep(50 * time.Millisecond)
		st, err = engines.OpenAsking(ctx, where, access, secret)
	}
	if access == engines.Read && errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(where, engines.LakeScheme) {
		return nil, fmt.Errorf("there is no store at %s yet: `dendro import` creates it, --store names another", where)
	}
	if access == engines.Read && err == nil {
		e.Notes(unfinishedNote(where))
	}
	return st, err
}

// Origin opens what profiles are copied from: a store, or a server.
func (e *Env) Origin(ctx context.Context, where string) (store.Origin, func() error, error) {
	if engines.IsServer(where) {
		c, err := e.Dial(ctx, where)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
	st, err := e.OpenAt(ctx, where, engines.Read)
	if err != nil {
		return nil, nil, err
	}
	return store.Here(st), st.Close, nil
}

// DestinationAt opens what profiles are put into: a store, or a server.
func (e *Env) DestinationAt(ctx context.Context, where string, access engines.Access) (store.Destination, func() error, error) {
	if access == engines.Write {
		e.Interrupted = "; profiles stored so far are kept"
	}
	if engines.IsServer(where) {
		c, err := e.Dial(ctx, where)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
	st, err := e.OpenAt(ctx, where, access)
	if err != nil {
		return nil, nil, err
	}
	return st, st.Close, nil
}

// Unfinished names the file beside a store that is there from the first profile of a copy until
// the copy has ended; empty: the store is not a file.
func Unfinished(where string) string {
	if strings.Contains(where, ":") || where == "mem" {
		return ""
	}
	return where + ".copying"
}

// unfinishedNote returns a note if an earlier copy into the store was not finished.
func unfinishedNote(where string) []string {
	info, err := os.Stat(Unfinished(where))
	if err != nil {
		return nil
	}
	return []string{fmt.Sprintf("a copy into this store, started at %s, was interrupted: profiles may be missing. Repeat dendro copy to continue it, or delete %s", words.Instant(info.ModTime().UnixMilli()), words.Clean(Unfinished(where)))}
}

// AcknowledgedFile lists the changes that are known and accepted.
var AcknowledgedFile = filepath.Join(".dendro", "acknowledged.json")
