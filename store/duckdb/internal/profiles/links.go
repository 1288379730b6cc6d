package profiles

import (
	"context"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// metaLink begins the key of table meta for a link.
const metaLink = "link/"

// KeepLink implements store.LinkKeeper. It changes no answer, so that the version stays.
func (s *Store) KeepLink(ctx context.Context, address string, maximum int) error {
	if err := store.CheckLink(address); err != nil {
		return err
	}
	id := store.LinkID(address)
	return s.writing(ctx, "keep a link", func(c *driver.Conn) error {
		stored, err := c.Meta(ctx, metaLink+id)
		if err != nil {
			return err
		}
		n, err := c.Number(ctx, "SELECT count(*) FROM meta WHERE starts_with(key, '"+metaLink+"')")
		if err != nil {
			return err
		}
		isNew, err := store.NewLink(address, stored, int(n), maximum)
		if !isNew {
			return err
		}
		return c.WriteTx(func() error { return c.SetMeta(ctx, metaLink+id, address) })
	})
}

// Link implements store.LinkKeeper.
func (s *Store) Link(ctx context.Context, id string) (address string, err error) {
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		address, err = c.Meta(ctx, metaLink+id)
		return err
	})
	return address, err
}
