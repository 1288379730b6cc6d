package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
	"github.com/dendroprof/dendro/table"
)

// cypherOptions are the flags of `dendro cypher`.
type cypherOptions struct {
	file   string
	params []string
	rows   int
	output command.Format
}

func newCypher(e *command.Env) *cobra.Command {
	var o cypherOptions
	c := &cobra.Command{
		Use:   "cypher [flags] QUERY|-",
		Short: "Run a read-only Cypher query on a Neo4j store",
		Long: `Run one read-only query on a Neo4j store, and print rows as they arrive. docs/graph.md
has queries for both models of the graph; docs/schema/neo4j.md lists nodes,
relationships and properties. Queries that write are refused, and so are LOAD CSV,
TERMINATE, and procedures other than those that describe or search the graph.

--param name=value sets the parameter $name of the query. A value that is not JSON is a
string.`,
		Example: `  dendro cypher "MATCH (b:Benchmark)-[:HAS_PROFILE]->(p) RETURN b.name AS benchmark, count(p) AS profiles"
  dendro cypher --param 'f=java.util.HashMap.get' "MATCH (f:Function {name: \$f})<-[r:RAN]-(p) RETURN p.key, r.total" -o csv
  dendro cypher -f series.cypher --param 'profile_keys=["4f1c…", "90ab…"]' --param window_size=10
  dendro cypher - < question.cypher`,
		Args: command.Takes(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			query, err := o.query(e, args)
			if err != nil {
				return err
			}
			return o.run(c.Context(), e, query)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.file, "file", "f", "", "read the query from this `file`")
	f.StringArrayVar(&o.params, "param", nil, "parameter of the query, `name=value`; repeatable")
	f.IntVar(&o.rows, "rows", 100_000, "stop after `n` rows (0: never)")
	o.output.AddFlag(c, "text", "json", "md", "tsv", "csv")
	return c
}

// query returns the text of the query: of the argument, a file or stdin.
func (o *cypherOptions) query(e *command.Env, args []string) (string, error) {
	switch {
	case o.file != "" && len(args) > 0:
		return "", command.Usagef("two queries: give QUERY or --file %s, not both", o.file)
	case o.file == "" && len(args) == 0:
		return "", command.Usagef("no query: give it as an argument, with --file, or - for stdin")
	case o.file == "" && args[0] != "-":
		return args[0], nil
	}
	if o.file == "" || o.file == "-" {
		return readQuery(e.In)
	}
	f, err := os.Open(o.file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	query, err := readQuery(f)
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.file, err)
	}
	return query, nil
}

func (o *cypherOptions) run(ctx context.Context, e *command.Env, query string) (err error) {
	params, err := cypherParams(o.params)
	if err != nil {
		return err
	}
	st, err := e.Open(ctx, engines.Read)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	speaker, ok := store.As[store.CypherSpeaker](st)
	if !ok {
		return fmt.Errorf("cypher: the store is not in Neo4j: use --store neo4j://user@host:7687")
	}
	answer, err := speaker.Cypher(ctx, query, params)
	if err != nil {
		return err
	}
	return o.print(e, answer)
}

// print writes the rows as they arrive. An answer without rows is an error if the query
// has names that the graph does not have: it could find nothing.
func (o *cypherOptions) print(e *command.Env, answer *store.CypherAnswer) error {
	t := &table.Table{}
	for _, name := range answer.Columns {
		t.Columns = append(t.Columns, table.Column{Name: name, Whole: e.Width() == 0})
	}
	empty := true
	err := t.Stream(e.Rendering(o.output), func(yield func([]any, error) bool) {
		for row, err := range answer.Rows {
			empty = empty && err != nil
			if !yield(row, err) {
				return
			}
		}
	}, o.rows)
	if err != nil || answer.Notes == nil {
		return err
	}
	notes := answer.Notes()
	if empty && len(notes) > 0 {
		return fmt.Errorf("cypher: no rows: %s (docs/schema/neo4j.md lists the names of the graph)", strings.Join(words.CleanAll(notes), "; "))
	}
	e.Notes(notes)
	return nil
}

// cypherParams parses name=value; a value that is not JSON is a text.
func cypherParams(texts []string) (map[string]any, error) {
	params := map[string]any{}
	for _, pair := range texts {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, command.Usagef("--param %q is not key=value", pair)
		}
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var v any
		err := dec.Decode(&v)
		if err != nil || len(bytes.TrimSpace([]byte(text)[dec.InputOffset():])) > 0 {
			params[strings.TrimPrefix(name, "$")] = text
			continue
		}
		if params[strings.TrimPrefix(name, "$")], err = cypherValue(v); err != nil {
			return nil, command.Usagef("--param %s: %w", name, err)
		}
	}
	return params, nil
}

// cypherValue makes JSON's numbers integers where they are written as such.
func cypherValue(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		if !strings.ContainsAny(v.String(), ".eE") {
			return nil, fmt.Errorf("%s has more than 63 bits", v)
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = cypherValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = cypherValue(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
