package neo4j

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/store"
)

// The server's codes that this package tells apart.
const (
	codeUnauthorized  = "Neo.ClientError.Security.Unauthorized"
	codeAuthRate      = "Neo.ClientError.Security.AuthenticationRateLimit"
	codeForbidden     = "Neo.ClientError.Security.Forbidden"
	codeExpired       = "Neo.ClientError.Security.CredentialsExpired"
	codeNoDatabase    = "Neo.ClientError.Database.DatabaseNotFound"
	codeStopped       = "Neo.TransientError.Database.DatabaseUnavailable"
	codeMemoryPool    = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
	codeMemoryLimit   = "Neo.ClientError.General.TransactionOutOfMemoryError"
	codeHeap          = "Neo.TransientError.General.OutOfMemoryError"
	codeConstraint    = "Neo.ClientError.Schema.ConstraintValidationFailed"
	codeNoEntity      = "Neo.ClientError.Statement.EntityNotFound"
	codeAccessMode    = "Neo.ClientError.Statement.AccessMode"
	codeReadOnly      = "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase"
	codeReadOnlyOther = "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase"
)

// codes returns the server's codes in an error, those of the tries of a
// transaction that was given up included.
func codes(err error) []string {
	var list []string
	var limit *driver.TransactionExecutionLimit
	if errors.As(err, &limit) {
		for _, e := range limit.Errors {
			list = append(list, codes(e)...)
		}
	}
	var server *driver.Neo4jError
	if errors.As(err, &server) {
		list = append(list, server.Code)
	}
	return list
}

func hasCode(err error, code ...string) bool {
	return slices.ContainsFunc(codes(err), func(c string) bool { return slices.Contains(code, c) })
}

// exhausted is a transaction that was too large for the server's memory. It does
// not unwrap to the driver's error, which calls it transient, so that nothing
// tries it again.
type exhausted struct{ what, detail string }

func (e *exhausted) Error() string {
	return fmt.Sprintf("%s needs more memory than the server gives to transactions: raise server.memory.heap.max_size "+
		"(transactions may take 70 %% of it) or dbms.memory.transaction.total.max, and db.memory.transaction.max if it is set, then try again. The server says: %s", e.what, e.detail)
}

// final turns errors that the driver would try again in vain into ones that it
// does not.
func final(what string, err error) error {
	if hasCode(err, codeMemoryPool, codeMemoryLimit, codeHeap) {
		return &exhausted{what, message(err)}
	}
	return err
}

// message returns what the server or the network said, without the driver's
// envelope.
func message(err error) string {
	var limit *driver.TransactionExecutionLimit
	if errors.As(err, &limit) && len(limit.Errors) > 0 {
		return message(limit.Errors[len(limit.Errors)-1])
	}
	var server *driver.Neo4jError
	if errors.As(err, &server) {
		return strings.TrimSpace(server.Msg)
	}
	var network *driver.ConnectivityError
	if errors.As(err, &network) && network.Inner != nil {
		return network.Inner.Error()
	}
	return err.Error()
}

// unknownCommit reports whether the connection broke while a transaction
// committed: whether it did is for the caller to look up.
func unknownCommit(err error) bool {
	return driver.IsConnectivityError(err) && !driver.IsRetryable(err)
}

// explain gives the driver's and the server's errors words that say what to do.
// Errors of this package and of contexts pass unchanged.
func (g *graph) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	at := g.address
	say := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s (%s)", at, fmt.Sprintf(format, args...), message(err))
	}
	switch {
	case hasCode(err, codeUnauthorized):
		if !g.authenticated {
			return say("the server wants a password: set %s, or name a file with %s", PasswordEnv, PasswordFileEnv)
		}
		return say("user %q or the password is wrong: check the user in the address and %s", at.user, PasswordEnv)
	case hasCode(err, codeExpired):
		return say("the password of user %q has to be changed before it can be used", at.user)
	case hasCode(err, codeAuthRate):
		return say("too many wrong passwords: wait some seconds and try again with the right one")
	case hasCode(err, codeNoDatabase):
		return say("there is no database %q: check the end of the address; the server lists its databases with SHOW DATABASES", at.database)
	case hasCode(err, codeStopped):
		return say("the database is stopped or still starting: START DATABASE, or try again later")
	case hasCode(err, codeForbidden):
		return say("user %q may not do this", at.user)
	case hasCode(err, codeReadOnly, codeReadOnlyOther):
		return fmt.Errorf("%w: %s takes no writes (%s)", store.ErrReadOnly, at, message(err))
	case strings.Contains(err.Error(), "server responded HTTP"):
		return fmt.Errorf("%s is an HTTP port: name the Bolt port, 7687 unless changed", at)
	case isDown(err):
		return say("no Neo4j server answers: is it running, and is this its Bolt port (7687 unless changed)?")
	}
	var server *driver.Neo4jError
	if errors.As(err, &server) {
		return fmt.Errorf("%s: %s (%s)", at, strings.TrimSpace(server.Msg), server.Code)
	}
	return err
}

// isDown reports whether no server could be reached; a transaction that was given
// up is so if all of its tries were.
func isDown(err error) bool {
	var limit *driver.TransactionExecutionLimit
	if errors.As(err, &limit) {
		return len(limit.Errors) > 0 && !slices.ContainsFunc(limit.Errors, func(e error) bool { return !isDown(e) })
	}
	var network *driver.ConnectivityError
	return errors.As(err, &network)
}
