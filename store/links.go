package store

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/profile"
)

// LinkKeeper is implemented by engines that keep addresses of pages under short ids, so that
// a link to a selection of many runs is short. An id follows from its address: the same view
// has one link, and none is ever changed. Links belong to no profile: they stay when profiles
// are deleted, and a copy of a store begins without.
type LinkKeeper interface {
	// KeepLink stores the address of a page under LinkID, if it is not stored yet. With
	// maximum links stored it fails with ErrManyLinks.
	KeepLink(ctx context.Context, address string, maximum int) error
	// Link returns the address of an id; empty: it is not stored.
	Link(ctx context.Context, id string) (address string, err error)
}

// ErrManyLinks: the store has the maximum number of links.
var ErrManyLinks = errors.New("the store keeps no more links")

// maxLink is the maximum length of an address in bytes.
const maxLink = 8 << 10

// pageAddress matches the address of a page: a name, and parameters as a browser encodes them.
var pageAddress = regexp.MustCompile(`^/[a-z-]*(\?[!$-;=?-\[\]-~]*)?$`)

// CheckLink returns an error for an address that no engine stores: only pages of this program
// have links, so that none leads to another server.
func CheckLink(address string) error {
	switch {
	case len(address) > maxLink:
		return fmt.Errorf("%w: an address of %d bytes; the maximum is %d", profile.ErrMalformed, len(address), maxLink)
	case !pageAddress.MatchString(address):
		return fmt.Errorf("%w: %.60q is not the address of a page, like /diff?benchmark=checkout", profile.ErrMalformed, address)
	}
	return nil
}

// LinkID returns the id of an address: 10 letters and digits. Two of ten thousand addresses
// have the same with a probability of 4e-8; the later one is refused.
func LinkID(address string) string {
	sum := sha256.Sum256([]byte(address))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:10]
}

// NewLink returns whether an address has to be added to n links, given what is stored under
// its id: empty is nothing.
func NewLink(address, stored string, n, maximum int) (bool, error) {
	switch {
	case stored == address:
		return false, nil
	case stored != "":
		return false, fmt.Errorf("%w: another address has the id %s", ErrConflict, LinkID(address))
	case n >= maximum:
		return false, fmt.Errorf("%w: the maximum is %d (raise it with --max-links)", ErrManyLinks, maximum)
	}
	return true, nil
}
