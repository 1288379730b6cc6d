package bolt

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/internal/secret"
)

// Schemes are the accepted schemes of URLs: neo4j routes to the members
// of a cluster, bolt connects to one server; +s encrypts, +ssc also without
// checking the certificate.
var Schemes = []string{"neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"}

// The environment variables with the password, and with a file that holds it.
const (
	PasswordEnv     = "DENDRO_NEO4J_PASSWORD"
	PasswordFileEnv = "DENDRO_NEO4J_PASSWORD_FILE"
)

// IsURL reports whether a location is the URL of a Neo4j database.
func IsURL(where string) bool {
	scheme, _, ok := strings.Cut(where, "://")
	return ok && slices.Contains(Schemes, scheme)
}

// Address is the parsed URL of a database.
type Address struct {
	server   string // scheme and host, for the driver
	user     string
	database string // empty: the user's home database
}

// parseAddress parses `neo4j://user@host:7687/database`. Errors never contain the address,
// which may have a password.
func parseAddress(where string) (Address, error) {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || !slices.Contains(Schemes, u.Scheme) {
		return Address{}, fmt.Errorf("not the address of a Neo4j server; write neo4j://user@host:7687/database")
	}
	// A name or a password with a / or a ? ends the host early, and what
	// follows would be shown as the name of a database or as options.
	if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return Address{}, fmt.Errorf("not the address of a Neo4j server: there is an @ after the host; write neo4j://user@host:7687/database, and percent-encode / and ? in the user's name")
	}
	a := Address{user: "neo4j"}
	if u.User != nil {
		if _, ok := u.User.Password(); ok {
			return Address{}, fmt.Errorf("the address of %s contains a password, which other users can read: remove it and set %s, or name a file with %s",
				u.Host, PasswordEnv, PasswordFileEnv)
		}
		a.user = u.User.Username()
	}
	a.database = strings.Trim(u.Path, "/")
	if strings.Contains(a.database, "/") || u.Fragment != "" {
		return Address{}, fmt.Errorf("%q is not the name of a database; write neo4j://user@host:7687/database", u.Path)
	}
	server := url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}
	a.server = server.String()
	return a, nil
}

// Local reports whether the server runs on this machine, as far as its name tells.
func (a Address) Local() bool {
	u, err := url.Parse(a.server)
	return err == nil && secret.Loopback(u.Hostname())
}

// inClear returns an error if a password must not go to the server, because the connection
// is not encrypted.
func (a Address) inClear() error {
	u, err := url.Parse(a.server)
	if err != nil || strings.Contains(u.Scheme, "+") {
		return err
	}
	return secret.InClear("the password", u.Hostname(), u.Scheme+"+s:// or "+u.Scheme+"+ssc://")
}

// String returns the address without the user.
func (a Address) String() string {
	if a.database == "" {
		return a.server
	}
	server, query, ok := strings.Cut(a.server, "?")
	if ok {
		query = "?" + query
	}
	return server + "/" + a.database + query
}

// password returns the password of the environment, a file or the caller, and
// whether there is one.
func (a Address) password(ctx context.Context, opts Options) (string, bool, error) {
	if text, ok := os.LookupEnv(PasswordEnv); ok && opts.PasswordFile == "" {
		return text, true, nil
	}
	file := opts.PasswordFile
	if file == "" {
		file = os.Getenv(PasswordFileEnv)
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			// Not wrapped: that this file does not exist says nothing about the store.
			return "", false, fmt.Errorf("the password of %s: %v (%s names the file)", a, err, PasswordFileEnv)
		}
		return strings.TrimRight(string(text), "\r\n"), true, nil
	}
	if opts.Password != nil {
		text, err := opts.Password(ctx, a.user, a.String())
		if err != nil {
			return "", false, fmt.Errorf("the password of %s: %w", a, err)
		}
		return text, true, nil
	}
	return "", false, nil
}
