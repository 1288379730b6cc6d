package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/columnar"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/table"
)

// sqlOptions are the flags of `dendro sql`.
type sqlOptions struct {
	request query.SQLRequest
	output  command.Destination
}

func newSQL(e *command.Env) *cobra.Command {
	var o sqlOptions
	c := &cobra.Command{
		Use:   "sql [flags] QUERY|-",
		Short: "Run a read-only SQL query on a DuckDB store",
		Long: `Run one read-only query on a DuckDB store, and print rows as they arrive.
docs/schema/duckdb.md describes the views: profiles, functions, function_sample, node,
invokes, recurs and others. A query cannot change the store, read files or use the
network.

With --service or --labels, the views have pushed profiles in place of runs: a run is a
block of time of a service, a benchmark what it pushed of one type.

-o parquet and -o arrow (an IPC stream) write all rows with their types: integers of 64
bits, times in UTC with microseconds, decimals as doubles, lists and maps as text.`,
		Example: `  dendro sql "SELECT benchmark, count(*) FROM profiles GROUP BY ALL"
  dendro sql "SELECT code_path, sum(base_samples) s FROM function_node GROUP BY ALL ORDER BY s DESC LIMIT 10" -o csv
  dendro sql "FROM function_sample" -o functions.parquet
  dendro sql --service checkout --since 24h "SELECT function, sum(self) FROM function_sample GROUP BY ALL"
  dendro sql - < question.sql`,
		Args: command.Takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, e, args[0]) },
	}
	command.AddRequest(c, &o.request)
	c.Flags().Lookup("rows").Usage += "; default of parquet and arrow"
	o.output.AddFlag(c, "text", "json", "md", "tsv", "csv", "parquet", "arrow")
	return c
}

func (o *sqlOptions) run(c *cobra.Command, e *command.Env, text string) error {
	ctx := c.Context()
	typed := o.output.Format == "parquet" || o.output.Format == "arrow"
	if typed && o.output.File == "" && command.Terminal(e.Out) {
		return command.Usagef("%s is not for a terminal: give -o FILE.%s, or redirect the output", o.output.Format, o.output.Format)
	}
	if typed && !c.Flags().Changed("rows") {
		o.request.Rows = 0
	}
	if text == "-" {
		var err error
		if text, err = readQuery(e.In); err != nil {
			return err
		}
	}
	answer, done, err := o.ask(ctx, e, text)
	if err != nil {
		return err
	}
	defer done()
	e.Notes(answer.Notes)
	if typed {
		return o.output.Write(e, func(e *command.Env) error { return o.columns(ctx, e, answer) })
	}
	return o.output.Stream(e, func(e *command.Env) error { return o.table(e, answer) })
}

// ask runs the query at the store, or at the server; done closes it.
func (o *sqlOptions) ask(ctx context.Context, e *command.Env, text string) (answer *store.SQLAnswer, done func() error, err error) {
	where, err := e.Location()
	if err != nil {
		return nil, nil, err
	}
	if engines.IsServer(where) {
		c, err := e.Dial(ctx, where)
		if err != nil {
			return nil, nil, err
		}
		r := o.request
		if r.Rows > 0 {
			r.Rows++ // whether there are more
		}
		answer, err = c.SQL(ctx, &r, text)
		return answer, c.Close, err
	}
	st, err := e.OpenAt(ctx, where, engines.Read)
	if err != nil {
		return nil, nil, err
	}
	if answer, err = query.SQL(ctx, st, &o.request, text); err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return answer, st.Close, nil
}

// columns writes an answer as Parquet or Arrow.
func (o *sqlOptions) columns(ctx context.Context, e *command.Env, answer *store.SQLAnswer) error {
	more, err := columnar.Write(ctx, e.Out, string(o.output.Format), answer, o.request.Rows)
	if more {
		fmt.Fprintf(e.Err, "dendro: stopped after %d rows (--rows)\n", o.request.Rows)
	}
	return err
}

// table writes an answer as text.
func (o *sqlOptions) table(e *command.Env, answer *store.SQLAnswer) error {
	t := &table.Table{}
	for i, name := range answer.Columns {
		number := strings.Contains("TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE DECIMAL", answer.Types[i])
		t.Columns = append(t.Columns, table.Column{Name: name, Right: number, Whole: e.Width() == 0})
	}
	return t.Stream(e.Rendering(o.output.Format), answer.Rows, o.request.Rows)
}

// queryLimit is how many bytes a query may have.
const queryLimit = 16 << 20

// readQuery reads the text of a query.
func readQuery(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, queryLimit+1))
	if err == nil && len(data) > queryLimit {
		err = fmt.Errorf("the query is longer than %d bytes", queryLimit)
	}
	return string(data), err
}
