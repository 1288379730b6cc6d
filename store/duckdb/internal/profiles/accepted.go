package profiles

import (
	"context"
	"time"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// acceptedRow is a row of table accepted.
type acceptedRow struct {
	store.Acceptance
	at, until int64 // see micros
}

func (a *acceptedRow) fields() []any {
	return []any{&a.Finding, &a.Benchmark, &a.By, &a.at, &a.until, &a.UpTo, &a.Reason}
}

// Accept implements store.Accepter.
func (s *Store) Accept(ctx context.Context, list ...store.Acceptance) error {
	list, err := store.NormalAcceptances(list)
	if err != nil {
		return err
	}
	return s.changeAccepted(ctx, func(c *driver.Conn) error {
		for _, a := range list {
			if err := removeAccepted(ctx, c, a.Finding); err != nil {
				return err
			}
			row := acceptedRow{a, micros(a.At), micros(a.Until)}
			if err := driver.Insert(c, "", "accepted", []acceptedRow{row}, (*acceptedRow).fields); err != nil {
				return err
			}
		}
		return nil
	})
}

// Withdraw implements store.Accepter.
func (s *Store) Withdraw(ctx context.Context, findings ...string) error {
	return s.changeAccepted(ctx, func(c *driver.Conn) error { return removeAccepted(ctx, c, findings...) })
}

// changeAccepted runs f in a transaction. It changes the version: answers depend on what is
// accepted.
func (s *Store) changeAccepted(ctx context.Context, f func(c *driver.Conn) error) error {
	return s.writing(ctx, "accepted changes", func(c *driver.Conn) error {
		if err := c.WriteTx(func() error { return f(c) }); err != nil {
			return err
		}
		s.catalog.change(func() {})
		return nil
	})
}

func removeAccepted(ctx context.Context, c *driver.Conn, findings ...string) error {
	for _, finding := range findings {
		err := c.Query(ctx, "DELETE FROM accepted WHERE finding = ?", []any{finding}, func(driver.Chunk) error { return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// Accepted implements store.Accepter.
func (s *Store) Accepted(ctx context.Context) (list []store.Acceptance, err error) {
	err = s.file.Look(ctx, func(c *driver.Conn) error {
		list = nil
		var a acceptedRow
		return c.Rows(ctx, "FROM accepted", nil, a.fields(), func() error {
			a.At, a.Until = instant(a.at), instant(a.until)
			list = append(list, a.Acceptance)
			return nil
		})
	})
	store.SortAcceptances(list)
	return list, err
}

// micros returns microseconds since 1970; 0 for no time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
