package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/dendroprof/dendro/internal/secret"
	"github.com/dendroprof/dendro/store/engines"
)

// A secret belongs to an address. Those of the environment and of --token-file belong to the
// store that the user has named: with --store, DENDRO_STORE, an argument, or in the user's own
// configuration. That file may have secrets of further addresses. An address that only a
// repository's .dendro/config.json names gets no other.

// secretFile returns the file with the secret of an address in the user's configuration;
// empty: it has none.
func secretFile(where string) (string, error) {
	c, name, err := readUserConfig()
	if err != nil {
		return "", err
	}
	for address, file := range c.Secrets {
		if origin(address) == "" {
			return "", fmt.Errorf("config file %s: secrets: %q is not an address, as https://host:port", name, address)
		}
		if origin(address) == origin(where) {
			if !filepath.IsAbs(file) {
				file = filepath.Join(filepath.Dir(name), file)
			}
			return file, nil
		}
	}
	return "", nil
}

// defaultPorts are the ports of addresses without one.
var defaultPorts = map[string]string{"http": "80", "https": "443", "neo4j": "7687", "bolt": "7687"}

// origin returns the scheme, host and port of an address, which a secret belongs to; empty:
// it has none.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	scheme, _, _ := strings.Cut(u.Scheme, "+")
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), defaultPorts[scheme])
}

// token returns the token for the server at an address; empty: none.
func (e *Env) token(where string) (token string, err error) {
	file, err := secretFile(where)
	if err != nil {
		return "", err
	}
	switch given := e.TokenFile != "" || os.Getenv("DENDRO_TOKEN") != ""; {
	case e.foreign(where) && file == "" && given:
		return "", fmt.Errorf("the token is not sent to %w", e.unnamed(where))
	case e.foreign(where):
	case e.TokenFile != "":
		file = e.TokenFile
	case file == "":
		token = os.Getenv("DENDRO_TOKEN")
	}
	if file != "" {
		if token, err = ReadSecret("token", file); err != nil {
			return "", err
		}
	}
	if u, err := url.Parse(where); err == nil && token != "" && u.Scheme == "http" {
		return token, secret.InClear("the token", u.Hostname(), "https://")
	}
	return token, nil
}

// foreign reports whether only a repository's configuration names an address.
func (e *Env) foreign(where string) bool {
	return e.repositoryStore != "" && where == e.repositoryStore
}

// unnamed is the error of an address that only a repository's configuration names.
func (e *Env) unnamed(where string) error {
	config := "your own configuration"
	if name, err := userConfigFile(); err == nil {
		config = name
	}
	return fmt.Errorf("%s, which only %s names: name it with --store or DENDRO_STORE, or add its secret to %s (docs/config.md#secrets)", where, repositoryConfig, config)
}

// Credentials returns what a database at an address may be sent.
func (e *Env) Credentials(where string) (engines.Secret, error) {
	own, err := secretFile(where)
	if err != nil {
		return engines.Secret{}, err
	}
	if e.foreign(where) && own == "" && engines.IsDatabase(where) {
		return engines.Secret{}, fmt.Errorf("no connection to %w", e.unnamed(where))
	}
	return engines.Secret{File: own, Ask: e.password()}, nil
}

// userConfigFile returns the name of the user's own configuration.
func userConfigFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err == nil && !filepath.IsAbs(dir) {
		err = errors.New("the configuration directory is not absolute")
	}
	return filepath.Join(dir, "dendro", "config.json"), err
}

// ReadSecret reads a token or a password from a file: its first line.
func ReadSecret(what, name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "", fmt.Errorf("%s: %s is empty", what, name)
	}
	return line, nil
}
