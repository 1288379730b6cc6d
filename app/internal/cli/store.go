package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dendroprof/dendro/app/internal/remote"
	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

const defaultStore = "dendro.duckdb"

// lockPatience is how long a command waits for another process to leave the
// store.
const lockPatience = 2 * time.Second

// location returns where the store is: flag, environment, config file, default.
func (e *env) location() (string, error) {
	if e.store != "" {
		return e.store, nil
	}
	if s := os.Getenv("DENDRO_STORE"); s != "" {
		return s, nil
	}
	c, err := readConfig()
	if err != nil {
		return "", err
	}
	if c.Store != "" {
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
}

// maxConfig bounds the files of a working directory that commands read, in bytes.
const maxConfig = 1 << 20

// readConfig reads .dendro/config.json of the working directory, else
// dendro/config.json of the user's configuration directory.
func readConfig() (config, error) {
	names := []string{filepath.Join(".dendro", "config.json")}
	if dir, err := os.UserConfigDir(); err == nil {
		names = append(names, filepath.Join(dir, "dendro", "config.json"))
	}
	for _, name := range names {
		data, err := plainfile.Read(name, maxConfig)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var c config
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			return c, fmt.Errorf("config file %s: %w", name, err)
		}
		return c, nil
	}
	return config{}, nil
}

// ownCode returns the packages or directories of the user's own code: those of the config
// file, else the module of the working directory's go.mod. Empty: package own decides.
func ownCode() ([]string, error) {
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

// open opens the store for questions, or for changes too. A store that is only
// asked must exist.
func (e *env) open(ctx context.Context, access engines.Access) (store.Store, error) {
	where, err := e.location()
	if err != nil {
		return nil, err
	}
	return e.openAt(ctx, where, access)
}

// openServer opens the store of another Dendro. Its token is that of --token-file, else
// of the environment.
func (e *env) openServer(ctx context.Context, where string) (store.Store, error) {
	token := os.Getenv("DENDRO_TOKEN")
	if e.tokenFile != "" {
		var err error
		if token, err = readSecret("token", e.tokenFile); err != nil {
			return nil, err
		}
	}
	st, err := remote.Open(ctx, where, remote.Options{Token: token})
	if err != nil {
		return nil, err // and no store, not one that is a nil pointer
	}
	return st, nil
}

// openAt opens the store at a place, as open does.
func (e *env) openAt(ctx context.Context, where string, access engines.Access) (store.Store, error) {
	if engines.IsServer(where) {
		return e.openServer(ctx, where)
	}
	st, err := engines.OpenAsking(ctx, where, access, e.password())
	// Another command that only asks is done in a moment.
	for until := time.Now().Add(lockPatience); errors.Is(err, store.ErrLocked) && time.Now().Before(until) && ctx.Err() == nil; {
		if owned := ownedBy(where, err); owned != err { // it is the same or another
			return nil, owned // a server is not done in a moment
		}
		time.Sleep(50 * time.Millisecond)
		st, err = engines.OpenAsking(ctx, where, access, e.password())
	}
	if access == engines.Read && errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(where, engines.LakeScheme) {
		return nil, fmt.Errorf("there is no store at %s yet: `dendro import` creates it, --store names another", where)
	}
	return st, err
}
