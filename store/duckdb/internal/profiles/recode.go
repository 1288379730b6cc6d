package profiles

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/store/duckdb/internal/driver"
)

// RecodeVectors rewrites the vectors of schema 3 as those of schema 4, 256 profiles at
// a time.
func RecodeVectors(ctx context.Context, c *driver.Conn) error {
	limit, err := c.Number(ctx, "SELECT (coalesce(max(id), -1) + 1)::BIGINT FROM call_path")
	if err != nil {
		return err
	}
	for _, table := range []string{"tree", "tree_mode"} {
		if err := recodeTable(ctx, c, table, int(limit)); err != nil {
			return err
		}
	}
	return nil
}

func recodeTable(ctx context.Context, c *driver.Conn, table string, limit int) error {
	last, err := c.Number(ctx, "SELECT coalesce(max(profile), -1)::BIGINT FROM "+table)
	if err == nil {
		err = c.Exec(fmt.Sprintf("CREATE TABLE recoded AS FROM %s LIMIT 0", table))
	}
	var encoder vectorEncoder
	for from := int64(0); err == nil && from <= last; from += 256 {
		sql := fmt.Sprintf("SELECT * FROM %s WHERE profile BETWEEN %d AND %d ORDER BY ALL", table, from, from+255)
		err = c.Query(ctx, sql, nil, func(ch driver.Chunk) error {
			columns := []any{slices.Clone(driver.Column[int32](ch, 0))}
			if table == "tree_mode" {
				columns = append(columns, slices.Clone(driver.Column[uint8](ch, 1)))
			}
			var list [][]byte
			for _, blob := range driver.Column[driver.Text](ch, len(columns)) {
				v, err := decodeVarintVector(blob.Bytes(), limit)
				if err != nil {
					return err
				}
				list = append(list, encoder.encode(v.Nodes, v.Self))
			}
			return c.Append("", "recoded", len(list), append(columns, list)...)
		})
	}
	if err != nil {
		return err
	}
	c.DropAppenders() // or the table cannot be renamed
	return c.Exec(fmt.Sprintf("DROP TABLE %s; ALTER TABLE recoded RENAME TO %s", table, table))
}

// decodeVarintVector decodes a vector of schemas 1 to 3: n, g, n path ids less their
// predecessors and 1, and n zigzag values divided by g, all as varints.
func decodeVarintVector(blob []byte, limit int) (v calltree.Vector, err error) {
	rest := blob
	next := func() uint64 {
		u, size := binary.Uvarint(rest)
		if size <= 0 {
			err, size = driver.Corruptf("a call tree of %d bytes cannot be read", len(blob)), 0
		}
		rest = rest[size:]
		return u
	}
	n, g := next(), int64(next())
	for path := int64(-1); n > 0 && err == nil; n-- {
		u := next()
		if path += int64(u) + 1; u > math.MaxInt32 || path >= int64(limit) {
			return v, driver.Corruptf("a call tree has a path that the forest has not")
		}
		v.Nodes = append(v.Nodes, int32(path))
	}
	if err != nil {
		return v, err
	}
	for range v.Nodes {
		u := next()
		v.Self = append(v.Self, g*(int64(u>>1)^-int64(u&1)))
	}
	if err == nil && len(rest) > 0 {
		err = driver.Corruptf("a call tree of %d bytes cannot be read", len(blob))
	}
	return v, err
}
