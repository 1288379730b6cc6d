package neo4j

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/store/neo4j/internal/bolt"
)

// statements collects what is sent to a server, with the parameters of one time.
type statements struct {
	mu  sync.Mutex
	all map[string]map[string]any
}

func newStatements() *statements { return &statements{all: map[string]map[string]any{}} }

// of makes a Store say what it sends, unless nobody collects it.
func (s *statements) of(opened *Store) *Store {
	if s == nil {
		return opened
	}
	opened.db.Driver = recordingDriver{opened.db.Driver, s}
	return opened
}

func (s *statements) add(statement string, params map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.all[statement]; !ok {
		s.all[statement] = params
	}
}

type recordingDriver struct {
	driver.Driver
	to *statements
}

func (d recordingDriver) NewSession(ctx context.Context, c driver.SessionConfig) driver.Session {
	return recordingSession{d.Driver.NewSession(ctx, c), d.to}
}

type recordingSession struct {
	driver.Session
	to *statements
}

func (s recordingSession) ExecuteRead(ctx context.Context, work driver.ManagedTransactionWork, c ...func(*driver.TransactionConfig)) (any,
	error) {
	return s.Session.ExecuteRead(ctx, s.recorded(work), c...)
}

func (s recordingSession) ExecuteWrite(ctx context.Context, work driver.ManagedTransactionWork, c ...func(*driver.TransactionConfig)) (any,
	error) {
	return s.Session.ExecuteWrite(ctx, s.recorded(work), c...)
}

func (s recordingSession) recorded(work driver.ManagedTransactionWork) driver.ManagedTransactionWork {
	return func(tx driver.ManagedTransaction) (any, error) { return work(recordingTransaction{tx, s.to}) }
}

type recordingTransaction struct {
	driver.ManagedTransaction
	to *statements
}

func (t recordingTransaction) Run(ctx context.Context, statement string, params map[string]any) (driver.Result, error) {
	t.to.add(statement, params)
	return t.ManagedTransaction.Run(ctx, statement, params)
}

// checkPlans expects plans that are good whatever the database held when the server
// made them: it keeps them for a while, and the first profile may be followed by
// thousands. A plan may look through all nodes or relationships of a kind once, but
// not again for each row. Fill puts so many stacks into a database.
func (s *statements) checkPlans(t *testing.T, m Model, fill func(st *Store, stacks int)) {
	t.Run("Plans", func(t *testing.T) {
		where := server(t)
		if len(s.all) == 0 {
			t.Fatal("no statement was seen")
		}
		for _, stacks := range []int{0, 1, 100} {
			wipe(t, dialed(t, where), "") // and the schema, with what is known about the indexes
			st := opened(t, fresh(t, m))
			if stacks > 0 {
				fill(st, stacks)
			}
			for _, statement := range slices.Sorted(maps.Keys(s.all)) {
				if strings.Contains(statement, ":Doomed") {
					continue // profiles that wait for their deletion: one, or none
				}
				for _, n := range []int{1, 1000} {
					p := plan(t, st.db, statement, grown(s.all[statement], n))
					if scans := repeatedScans(p, false); scans != nil {
						t.Errorf("after %d stacks, with lists of %d, for each row %s:\n%s\n%s", stacks, n, strings.Join(scans, ", "), statement, draw(p, 1))
					}
				}
			}
		}
	})
}

// grown repeats what is in the lists among parameters.
func grown(params map[string]any, n int) map[string]any {
	out := maps.Clone(params)
	for name, value := range params {
		switch list := value.(type) {
		case []int64:
			out[name] = slices.Repeat(list, n)
		case []string:
			out[name] = slices.Repeat(list, n)
		}
	}
	return out
}

// plan has the server make a plan, whatever it may have kept.
func plan(t *testing.T, g *bolt.DB, statement string, params map[string]any) driver.Plan {
	t.Helper()
	session := g.Session(t.Context(), driver.AccessModeWrite)
	defer session.Close(t.Context())
	result, err := session.Run(t.Context(), "CYPHER replan=force EXPLAIN "+statement, params)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	summary, err := result.Consume(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return summary.Plan()
}

// repeatedScans returns the operators that look through everything of a kind and may
// do so more than once.
func repeatedScans(p driver.Plan, repeated bool) (scans []string) {
	if p == nil {
		return nil // of a command that has no plan
	}
	name, _, _ := strings.Cut(p.Operator(), "@")
	if repeated && strings.Contains(name, "Scan") {
		scans = append(scans, name)
	}
	for i, below := range p.Children() {
		scans = append(scans, repeatedScans(below, repeated || i > 0)...)
	}
	return scans
}

// draw writes a plan as lines.
func draw(p driver.Plan, depth int) string {
	details, _ := p.Arguments()["Details"].(string)
	text := fmt.Sprintf("%*s%s %s\n", depth, "", p.Operator(), details)
	for _, below := range p.Children() {
		text += draw(below, depth+1)
	}
	return text
}
