package bolt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/store"
)

// The server's codes that this program handles.
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
	CodeAccessMode    = "Neo.ClientError.Statement.AccessMode"
	codeReadOnly      = "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase"
	codeReadOnlyOther = "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase"
)

// codes returns the server's codes in an error, including those of all attempts
// of a transaction.
func codes(err error) []string {
	var list []string
	if limit, ok := errors.AsType[*driver.TransactionExecutionLimit](err); ok {
		for _, e := range limit.Errors {
			list = append(list, codes(e)...)
		}
	}
	if server, ok := errors.AsType[*driver.Neo4jError](err); ok {
		list = append(list, server.Code)
	}
	return list
}

// HasCode reports whether the server's error has one of some codes.
func HasCode(err error, code ...string) bool {
	return slices.ContainsFunc(codes(err), func(c string) bool { return slices.Contains(code, c) })
}

// OutOfMemory is the error of a transaction that was too large for the server's
// memory. It does not unwrap to the driver's error, which calls it transient, so that
// nothing repeats it.
type OutOfMemory struct{ What, Detail string }

// Error describes what the transaction did and how to give it more memory.
func (e *OutOfMemory) Error() string {
	return fmt.Sprintf("%s needs more memory than the server allows for transactions: increase server.memory.heap.max_size "+
		"(transactions can use most of it) or dbms.memory.transaction.total.max, and db.memory.transaction.max if it is set, then try again. The server reports: %s", e.What, e.Detail)
}

// final turns errors that the driver would repeat in vain into errors that it does
// not repeat.
func final(what string, err error) error {
	if HasCode(err, codeMemoryPool, codeMemoryLimit, codeHeap) {
		return &OutOfMemory{what, Message(err)}
	}
	return err
}

// Message returns what the server or the network reported, without the driver's
// envelope.
func Message(err error) string {
	if limit, ok := errors.AsType[*driver.TransactionExecutionLimit](err); ok && len(limit.Errors) > 0 {
		return Message(limit.Errors[len(limit.Errors)-1])
	}
	if server, ok := errors.AsType[*driver.Neo4jError](err); ok {
		return strings.TrimSpace(server.Msg)
	}
	if network, ok := errors.AsType[*driver.ConnectivityError](err); ok && network.Inner != nil {
		return network.Inner.Error()
	}
	return err.Error()
}

// UnknownCommit reports whether the connection broke during a commit: the caller finds
// out whether it succeeded.
func UnknownCommit(err error) bool {
	return driver.IsConnectivityError(err) && !driver.IsRetryable(err)
}

// Explain adds to errors of the driver and the server what to do. Errors of this
// package and of contexts stay as they are.
func (g *DB) Explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	at := g.Address
	say := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s (%s)", at, fmt.Sprintf(format, args...), Message(err))
	}
	switch {
	case HasCode(err, codeUnauthorized):
		if !g.authenticated {
			return say("the server requires a password: set %s, or name a file with %s", PasswordEnv, PasswordFileEnv)
		}
		return say("user %q or the password is wrong: check the user in the address and %s", at.user, PasswordEnv)
	case HasCode(err, codeExpired):
		return say("the password of user %q has to be changed before it can be used", at.user)
	case HasCode(err, codeAuthRate):
		return say("too many wrong passwords: wait some seconds and try again with the right one")
	case HasCode(err, codeNoDatabase):
		return say("there is no database %q: check the end of the address; the server lists its databases with SHOW DATABASES", at.database)
	case HasCode(err, codeStopped):
		return say("the database is stopped or still starting: START DATABASE, or try again later")
	case HasCode(err, codeForbidden):
		return say("user %q may not do this", at.user)
	case HasCode(err, codeReadOnly, codeReadOnlyOther):
		return fmt.Errorf("%w: %s accepts no writes (%s)", store.ErrReadOnly, at, Message(err))
	case strings.Contains(err.Error(), "server responded HTTP"):
		return fmt.Errorf("%s is an HTTP port: name the Bolt port, 7687 unless changed", at)
	case isDown(err):
		return say("no Neo4j server answers: is it running, and is this its Bolt port (7687 unless changed)?")
	}
	if server, ok := errors.AsType[*driver.Neo4jError](err); ok {
		return fmt.Errorf("%s: %s (%s)", at, strings.TrimSpace(server.Msg), server.Code)
	}
	return err
}

// isDown reports whether no server could be reached; a transaction that was given
// up is down if all of its attempts were.
func isDown(err error) bool {
	if limit, ok := errors.AsType[*driver.TransactionExecutionLimit](err); ok {
		return len(limit.Errors) > 0 && !slices.ContainsFunc(limit.Errors, func(e error) bool { return !isDown(e) })
	}
	var network *driver.ConnectivityError
	return errors.As(err, &network)
}
