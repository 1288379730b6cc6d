// Package secret says whether a secret may go to a server over a connection that is not
// encrypted: a token over HTTP, a password over Bolt or PostgreSQL's protocol.
//
// It may go to this machine itself, and to hosts that the environment of the user names for
// networks that encrypt on their own. Whether it belongs to that server at all is decided by
// those who read the configuration. The package sends nothing and reads no secrets.
package secret

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
)

// ClearVariable is the environment variable with the hosts, separated by commas, to which
// secrets may go unencrypted.
const ClearVariable = "DENDRO_CLEARTEXT_HOSTS"

// Loopback reports whether a host is this machine, as far as its name tells: localhost, or an
// address of the loopback interface.
func Loopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(strings.Trim(host, "[]")).IsLoopback()
}

// InClear returns an error if a secret (what: "the token") must not go to a host without
// encryption. Instead says what to write in the address of the server to have it encrypted.
func InClear(what, host, instead string) error {
	if Loopback(host) {
		return nil
	}
	for name := range strings.SplitSeq(os.Getenv(ClearVariable), ",") {
		if name = strings.TrimSpace(name); name != "" && strings.EqualFold(name, host) {
			return nil
		}
	}
	return fmt.Errorf("%s is not sent to %s in clear text, which others in the network can read: write %s, or name %s in %s if its network is encrypted by other means",
		what, host, instead, host, ClearVariable)
}

// variables are the environment variables with the secrets of a store, of a lake's catalog and
// storage, of a server, and of the pipeline that runs the program.
var variables = []string{"DENDRO_TOKEN", "DENDRO_NEO4J_PASSWORD", "DENDRO_NEO4J_PASSWORD_FILE", "DENDRO_HTTP_TOKEN", "DENDRO_READ_TOKEN",
	"DENDRO_AGENT_TOKEN",
	"PGPASSWORD", "PGPASSFILE", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_CONNECTION_STRING",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"}

// Without returns an environment for a program that has no business with the store, as a
// benchmark: without the variables that have secrets. Hide is for those of this process.
func Without(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(variables, name)
	})
}
