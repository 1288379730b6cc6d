package app

import (
	"fmt"

	"github.com/spf13/cast"
)

// Row is one line of a configuration or of a table, as a decoder returns it.
type Row map[string]any

func Rows() []Row {
	var rows []Row
	for i := range 200 {
		rows = append(rows, Row{"id": fmt.Sprint(i), "count": float64(i), "active": "true", "name": []byte("item"), "tags": []any{"a", "b", i}})
	}
	return rows
}

// Sum reads typed values of rows.
func Sum(rows []Row) int {
	sum := 0
	for _, r := range rows {
		sum += cast.ToInt(r["id"]) + cast.ToInt(r["count"]) + len(cast.ToString(r["name"])) + len(cast.ToStringSlice(r["tags"]))
		if cast.ToBool(r["active"]) {
			sum++
		}
	}
	return sum
}
