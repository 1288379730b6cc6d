package bolt

import (
	"context"
	"fmt"
	"strings"
	"time"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"
)

// Tx is a transaction. Values reach statements as parameters only.
type Tx struct {
	Ctx context.Context
	tx  driver.ManagedTransaction
	DB  *DB
}

// Each calls f with every row of the result.
func (t *Tx) Each(statement string, params map[string]any, f func(r Row) error) error {
	result, err := t.tx.Run(t.Ctx, statement, params)
	if err != nil {
		return err
	}
	for result.Next(t.Ctx) {
		if err := f(Row(result.Record().Values)); err != nil {
			return err
		}
	}
	return result.Err()
}

// One returns the only row of the result.
func (t *Tx) One(statement string, params map[string]any) (only Row, err error) {
	n := 0
	err = t.Each(statement, params, func(r Row) error { only = r; n++; return nil })
	if err == nil && n != 1 {
		err = fmt.Errorf("%d rows instead of one: %s", n, statement)
	}
	return only, err
}

// Do runs a statement whose result is not needed.
func (t *Tx) Do(statement string, params map[string]any) error {
	return t.Each(statement, params, func(Row) error { return nil })
}

// Row is a row of a result. Its methods return a column, the zero value for null.
type Row []any

// Text returns a text.
func (r Row) Text(i int) string { s, _ := r[i].(string); return s }

// Int returns a number.
func (r Row) Int(i int) int64 { n, _ := r[i].(int64); return n }

// Has reports whether a column is not null.
func (r Row) Has(i int) bool { return r[i] != nil }

// List returns a list.
func (r Row) List(i int) []any { l, _ := r[i].([]any); return l }

// Props returns a map.
func (r Row) Props(i int) Props { m, _ := r[i].(map[string]any); return m }

// Ints returns a list of numbers.
func (r Row) Ints(i int) []int64 { return Column[int64](r[i]) }

// Texts returns a list of texts.
func (r Row) Texts(i int) []string { return Column[string](r[i]) }

// Floats returns a list of floating-point numbers.
func (r Row) Floats(i int) []float64 { return Column[float64](r[i]) }

// PropsList returns a list of maps.
func (r Row) PropsList(i int) []Props {
	list := make([]Props, 0, len(r.List(i)))
	for _, m := range Column[map[string]any](r[i]) {
		list = append(list, m)
	}
	return list
}

// Column returns a list value as a slice.
func Column[T any](v any) []T {
	list, _ := v.([]any)
	out := make([]T, len(list))
	for i, x := range list {
		out[i], _ = x.(T)
	}
	return out
}

// Props are the properties of a node. Its methods return a property, the zero value
// if it does not exist.
type Props map[string]any

// Text returns a text.
func (p Props) Text(k string) string { s, _ := p[k].(string); return s }

// Int returns a number.
func (p Props) Int(k string) int64 { n, _ := p[k].(int64); return n }

// Texts returns a list of texts.
func (p Props) Texts(k string) []string { return Column[string](p[k]) }

// Time returns a date in UTC.
func (p Props) Time(k string) time.Time {
	t, ok := p[k].(time.Time)
	if !ok {
		return time.Time{}
	}
	return t.UTC()
}

// Set adds a property unless it is the zero value, which is not stored.
func Set[T comparable](p Props, key string, value T) {
	var zero T
	if value != zero {
		p[key] = value
	}
}

// SetText sets a property of an index. Indexes have no room for long texts: they
// hold StoredName of the text, and a second property holds the complete text.
func (p Props) SetText(key, text string) {
	stored := StoredName(text)
	p[key] = stored
	if stored != text {
		p[key+wholeSuffix] = text
	}
}

// WholeText is the reverse of SetText.
func (p Props) WholeText(key string) string {
	if whole, ok := p[key+wholeSuffix].(string); ok {
		return whole
	}
	return p.Text(key)
}

const wholeSuffix = "Whole"

// Constraint returns the statement that makes a property the key of a label.
func Constraint(label, property string) string {
	return fmt.Sprintf("CREATE CONSTRAINT dendro_%s_%s IF NOT EXISTS FOR (n:%s) REQUIRE n.%s IS UNIQUE",
		strings.ToLower(label), strings.ToLower(property), label, property)
}

// Index returns the statement that indexes a property of a label.
func Index(label, property string) string {
	return fmt.Sprintf("CREATE INDEX dendro_%s_%s IF NOT EXISTS FOR (n:%s) ON (n.%s)",
		strings.ToLower(label), strings.ToLower(property), label, property)
}
