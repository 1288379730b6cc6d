package neo4j

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
	"github.com/dendroprof/dendro/store/neo4j/internal/gate"
	"github.com/dendroprof/dendro/store/neo4j/internal/traces"
)

// schema is the version of what this engine writes into a database.
const schema = 1

// Model is one of the two representations of trees in the graph.
type Model string

// The models.
const (
	Shared Model = "shared" // one forest of paths for all profiles
	Thesis Model = "thesis" // one tree of nodes per profile
)

// ParseModel returns the model of a name.
func ParseModel(name string) (Model, error) {
	switch m := Model(name); m {
	case Shared, Thesis:
		return m, nil
	}
	return "", fmt.Errorf("there is no model %q: choose shared or thesis", name)
}

// InitOptions defines how Init prepares a database.
type InitOptions struct {
	Model Model // empty: Shared
	// Potentials is the highest degree of the subtree potentials that each node of
	// the model Thesis gets as arrays, at most MaxPotentials; 0: none.
	Potentials int
	// Consent allows a database with other data, which stays unchanged. Labels that
	// Dendro needs must be unused.
	Consent bool
	Options // of the connection; its Model is not looked at
}

// Init prepares a database for a store: its constraints, its indexes and the node that
// records the model. Repeating it changes nothing, also from several processes at
// once. It returns an error, and changes nothing, if the database has another model or
// version, or holds other data without consent.
func Init(ctx context.Context, where string, opts InitOptions) error {
	if opts.ReadOnly {
		return fmt.Errorf("%w: a read-only store cannot be initialised", store.ErrReadOnly)
	}
	db, err := bolt.Dial(ctx, where, opts.connection())
	if err != nil {
		return err
	}
	_, err = prepare(ctx, db, opts)
	return errors.Join(err, db.Close())
}

// mark is the node (:Dendro), which describes the database.
type mark struct {
	model  Model
	schema int64
	rules  string
	ready  bool // the schema is complete

	potentials int // as in InitOptions
}

// trees returns the model of a mark that passed check.
func (m mark) trees() model {
	if m.model == Thesis {
		return thesis{m.potentials}
	}
	return models[m.model]
}

// readMark returns the mark, zero if there is none.
func readMark(ctx context.Context, db *bolt.DB) (m mark, err error) {
	err = db.Read(ctx, func(t *bolt.Tx) error {
		m = mark{}
		return t.Each("MATCH (d:Dendro {id: 'dendro'}) RETURN d {.model, .schema, .rules, .ready, .potentials}", nil, func(r bolt.Row) error {
			d := r.Props(0)
			ready, _ := d["ready"].(bool)
			m = mark{Model(d.Text("model")), d.Int("schema"), d.Text("rules"), ready, int(d.Int("potentials"))}
			return nil
		})
	})
	return m, err
}

// fits returns an error if a marked database is not what the caller requested.
func (m mark) fits(a bolt.Address, want InitOptions) error {
	if err := m.check(a, want.Model); err != nil {
		return err
	}
	if want.Potentials > 0 && want.Potentials != m.potentials {
		return fmt.Errorf("%s has potentials up to degree %d, not %d: they cannot be changed later; choose another database (`dendro copy` copies the content)",
			a, m.potentials, want.Potentials)
	}
	return nil
}

// check returns an error if this program cannot use a marked database.
func (m mark) check(a bolt.Address, want Model) error {
	switch {
	case m.schema > schema:
		return fmt.Errorf("%w: %s has schema %d, this version of Dendro knows %d: use a newer one", store.ErrNewer, a, m.schema, schema)
	case m.schema < schema:
		return fmt.Errorf("%w: %s has schema %d, which no version of Dendro wrote", store.ErrCorrupt, a, m.schema)
	case models[m.model] == nil:
		return fmt.Errorf("%w: %s has the model %q, which this version of Dendro does not know", store.ErrNewer, a, m.model)
	case want != "" && want != m.model:
		return fmt.Errorf("%s has the model %s, not %s: open it without a model, or choose another database (`dendro copy` copies the content)", a, m.model, want)
	}
	return nil
}

// prepare is Init on an open connection.
func prepare(ctx context.Context, db *bolt.DB, opts InitOptions) (mark, error) {
	want := opts
	opts.Model = cmp.Or(opts.Model, Shared)
	if _, err := ParseModel(string(opts.Model)); err != nil {
		return mark{}, err
	}
	if err := checkPotentials(opts.Model, opts.Potentials); err != nil {
		return mark{}, err
	}
	m, err := readMark(ctx, db)
	if err != nil {
		return mark{}, err
	}
	if m.ready {
		return m, m.fits(db.Address, want)
	}
	if m.model == "" {
		if err := checkForeign(ctx, db, opts); err != nil {
			return mark{}, err
		}
	}
	// The mark comes first: of several processes that make the database ready
	// with different models, one wins and the others notice.
	if err := db.Schema(ctx, bolt.Constraint("Dendro", "id")); err != nil {
		return mark{}, err
	}
	var potentials any // null is no property
	if opts.Potentials > 0 {
		potentials = opts.Potentials
	}
	err = db.Write(ctx, "the mark of the database", func(t *bolt.Tx) error {
		return t.Do(`MERGE (d:Dendro {id: 'dendro'})
			ON CREATE SET d.model = $model, d.schema = $schema, d.rules = '', d.epoch = 1, d.attributes = 0, d.code = 0, d.ready = false, d.potentials = $potentials`,
			map[string]any{"model": string(opts.Model), "schema": schema, "potentials": potentials})
	})
	if err != nil {
		return mark{}, db.Explain(err)
	}
	if m, err = readMark(ctx, db); err != nil {
		return mark{}, err
	}
	if err := m.fits(db.Address, want); err != nil {
		return mark{}, err
	}
	for _, statement := range slices.Concat(commonSchema, models[m.model].schema()) {
		if err := db.Schema(ctx, statement); err != nil {
			return mark{}, err
		}
	}
	err = db.Write(ctx, "the mark of the database", func(t *bolt.Tx) error {
		if err := t.Do("CALL db.awaitIndexes(300)", nil); err != nil {
			return err
		}
		if err := t.Do("UNWIND range(0, $last) AS id MERGE (g:DendroGate {id: id}) ON CREATE SET g.passed = 0",
			map[string]any{"last": gate.Slots - 1}); err != nil {
			return err
		}
		return t.Do("MATCH (d:Dendro {id: 'dendro'}) SET d.ready = true", nil)
	})
	if err != nil {
		return mark{}, db.Explain(err)
	}
	m.ready = true
	return m, nil
}

// commonSchema is what both models have.
var commonSchema = []string{
	bolt.Constraint("DendroGate", "id"),
	bolt.Constraint("BenchmarkGroup", "name"),
	bolt.Constraint("Benchmark", "key"),
	bolt.Constraint("TestRun", "key"),
	bolt.Constraint("Measurement", "id"),
	bolt.Constraint("Profile", "key"),
	bolt.Constraint("Profile", "seq"),
	bolt.Constraint("RawName", "id"),
	bolt.Constraint("Accepted", "finding"),
}

// labels are those that a store uses, in either model.
var labels = append([]string{"Dendro", "DendroGate", "BenchmarkGroup", "Benchmark", "TestRun", "Measurement", "Profile",
	"Function", "CallPath", "CodePath", "RawName", "ModeVector", "Source", "Accepted", "Verdict", "Doomed"}, traces.Labels...)

// found describes the content of a database without a mark, and lists its labels that
// a store needs. It returns nothing if there is a mark in the meantime: the counted
// nodes may belong to the store of another process.
func found(ctx context.Context, db *bolt.DB) (what string, clash []string, err error) {
	err = db.Read(ctx, func(t *bolt.Tx) error {
		what, clash = "", nil
		r, err := t.One("MATCH (n) RETURN count(n)", nil)
		if err != nil {
			return err
		}
		nodes := r.Int(0)
		r, err = t.One("CALL db.labels() YIELD label WITH label ORDER BY label RETURN collect(label)", nil)
		if err != nil || nodes == 0 {
			return err
		}
		inUse := r.Texts(0)
		for _, label := range labels {
			n, err := t.One("MATCH (n:"+label+") RETURN count(n)", nil)
			if err != nil {
				return err
			}
			if n.Int(0) > 0 {
				clash = append(clash, label)
			}
		}
		if more := len(inUse) - 8; more > 0 {
			inUse = append(inUse[:8], fmt.Sprintf("and %d more", more))
		}
		// Last, because each statement sees what was committed before it: if the nodes
		// of another process were counted, its mark is seen here.
		marks, err := t.One("MATCH (d:Dendro {id: 'dendro'}) RETURN count(d)", nil)
		if err != nil {
			return err
		}
		if marks.Int(0) > 0 {
			clash = nil
			return nil
		}
		what = fmt.Sprintf("%d nodes with the labels %s", nodes, strings.Join(inUse, ", "))
		return nil
	})
	return what, clash, err
}

// checkEmpty returns an error if a database without a mark holds anything.
func checkEmpty(ctx context.Context, db *bolt.DB) error {
	what, _, err := found(ctx, db)
	if err != nil || what == "" {
		return err
	}
	return fmt.Errorf("%w: the database %s holds %s", store.ErrNotStore, db.Address, what)
}

// checkForeign returns an error if a database without a mark must not be used.
func checkForeign(ctx context.Context, db *bolt.DB, opts InitOptions) error {
	what, clash, err := found(ctx, db)
	switch {
	case err != nil || what == "":
		return err
	case len(clash) > 0:
		return fmt.Errorf("%w: the database %s holds %s: a store needs the labels %s; choose another database",
			store.ErrNotStore, db.Address, what, strings.Join(clash, ", "))
	case !opts.Consent:
		return fmt.Errorf("%w: the database %s holds %s: choose an empty one, or share the database with `dendro store init --force`",
			store.ErrNotStore, db.Address, what)
	}
	return nil
}
