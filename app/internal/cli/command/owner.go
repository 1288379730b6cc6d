package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/dendroprof/dendro/internal/plainfile"
	"github.com/dendroprof/dendro/store"
)

// owner is what a server notes beside the file that it owns, so that commands
// which find the file locked can say where to ask instead.
type owner struct {
	PID     int    `json:"pid"`
	Address string `json:"address"` // for --store; empty if it does not speak HTTP
}

// ownerNote is the name of the note beside a store.
func ownerNote(where string) string { return where + ".serve" }

// ClaimStore notes the owner of a store, and the address at which it answers, in a file, and returns what removes the
// note. Stores elsewhere have no locks to explain. The note is a convenience: what
// goes wrong with it is no error.
func ClaimStore(where, address string) (release func()) {
	if _, err := os.Stat(where); err != nil {
		return func() {}
	}
	data, err := json.Marshal(owner{os.Getpid(), address})
	if err != nil || writeNote(ownerNote(where), append(data, '\n')) != nil {
		return func() {}
	}
	return func() { os.Remove(ownerNote(where)) }
}

// writeNote writes a new file in place of what a killed server has left under the name. A
// link is replaced, and not followed.
func writeNote(name string, data []byte) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// ownedBy explains why a store is locked: if it is by a server, by which one, and
// how it is asked. A note that a killed server left names another process than the
// one that has the lock.
func ownedBy(where string, locked error) error {
	data, err := plainfile.Read(ownerNote(where), maxConfig)
	if err != nil {
		return locked
	}
	var o owner
	if json.Unmarshal(data, &o) != nil || o.PID == 0 || !strings.Contains(locked.Error(), fmt.Sprintf("process %d ", o.PID)) {
		return locked
	}
	if o.Address == "" {
		return fmt.Errorf("%s: %w: `dendro serve` (process %d) has it open and does not speak HTTP: end it, or start it with --http-listen", where, store.ErrLocked, o.PID)
	}
	return fmt.Errorf("%s: %w: `dendro serve` (process %d) has it open; use --store %s", where, store.ErrLocked, o.PID, o.Address)
}
