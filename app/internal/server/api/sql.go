package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/dendroprof/dendro/app/internal/transfer"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
)

// sqlMistake makes an error of a query the caller's, unless the store failed.
func sqlMistake(err error) error {
	if err == nil || transfer.KindOf(err) != "" || errors.Is(err, store.ErrReorganised) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return mistake(err)
}

// sqlBytes bounds a user's query, whose parsed form takes a thousand times as much memory.
const sqlBytes = 512 << 10

// sql runs a user's query, which is the body.
func (a *api) sql(w http.ResponseWriter, r *http.Request) error {
	var request query.SQLRequest
	if err := readAddress(r, &request, &struct{}{}); err != nil {
		return err
	}
	if !a.SQL {
		return notHere("this server answers no SQL (it was started with --sql=false)")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, sqlBytes))
	if err != nil {
		return err
	}
	answer, err := query.SQL(r.Context(), a.Store, &request, string(text))
	if errors.Is(err, query.ErrNoSQL) {
		return notHere(err.Error())
	}
	if err != nil {
		return sqlMistake(err)
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 32<<10) // an error before it is full still has its status
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	member := func(before string, v any) {
		buf.Reset()
		abortOn(enc.Encode(v))
		out.WriteString(before) // errors of bufio stay
		out.Write(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
	}
	member(`{"columns":`, answer.Columns)
	member(`,"types":`, answer.Types)
	if len(answer.Notes) > 0 {
		member(`,"notes":`, answer.Notes)
	}
	n, cut := 0, false
	before := `,"rows":[`
	for row, err := range answer.Rows {
		abortOn(sqlMistake(err))
		if cut = request.Rows > 0 && n == request.Rows; cut {
			break
		}
		n++
		for i := range row {
			row[i] = cell(row[i])
		}
		member(before, row)
		before = ","
	}
	if n == 0 {
		out.WriteString(before)
	}
	member(`],"complete":`, !cut)
	out.WriteString("}\n")
	abortOn(out.Flush())
	return nil
}

// cell returns a value of SQL as JSON has it.
func cell(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprint(v)
		}
	case []byte:
		return fmt.Sprintf("%x", v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return v
}
