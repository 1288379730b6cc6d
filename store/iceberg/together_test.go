package iceberg

import (
	"sync"
	"testing"
)

// TestOpenTogether: publishers that begin at the same time all open the catalog that one of
// them creates.
func TestOpenTogether(t *testing.T) {
	for range 100 {
		dir := t.TempDir()
		var work sync.WaitGroup
		for range 16 {
			work.Go(func() {
				c, err := openFile(dir, true)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.db.Close()
				if err := c.db.Ping(); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
	}
}
