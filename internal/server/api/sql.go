package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/dendroprof/dendro/internal/transfer"
	"github.com/dendroprof/dendro/store"
)

// speaker returns the engine's SQL.
func (a *api) speaker() (store.SQLSpeaker, error) {
	if !a.SQL {
		return nil, notHere("this server answers no SQL (it was started with --sql=false)")
	}
	s, ok := a.Store.(store.SQLSpeaker)
	if !ok {
		return nil, notHere("this store does not speak SQL")
	}
	return s, nil
}

// sqlMistake makes an error of a query the caller's, unless the store failed.
func sqlMistake(err error) error {
	if err == nil || transfer.KindOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return mistake(err)
}

// sqlBytes bounds a user's query.
const sqlBytes = 1 << 20

// sqlRequest are the parameters of a user's own query.
type sqlRequest struct {
	Rows int `param:"rows" min:"0" default:"100000" help:"maximum number of rows (0: all)"`
}

// sql runs a user's query, which is the body.
func (a *api) sql(w http.ResponseWriter, r *http.Request) error {
	var request sqlRequest
	if err := readAddress(r, &request, &struct{}{}); err != nil {
		return err
	}
	speaker, err := a.speaker()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, sqlBytes))
	if err != nil {
		return err
	}
	answer, err := speaker.SQL(r.Context(), string(text))
	if err != nil {
		return sqlMistake(err)
	}
	d := newDocument(w)
	d.member("columns", answer.Columns)
	d.member("types", answer.Types)
	n, cut := 0, false
	d.stream("rows", func(yield func(any) bool) {
		for row, err := range answer.Rows {
			abortOn(sqlMistake(err))
			if cut = request.Rows > 0 && n == request.Rows; cut {
				return
			}
			n++
			cells := make([]any, len(row))
			for i := range row {
				cells[i] = cell(row[i])
			}
			if !yield(cells) {
				return
			}
		}
	})
	d.member("complete", !cut)
	d.close()
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
