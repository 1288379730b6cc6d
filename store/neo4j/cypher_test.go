package neo4j

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/test/storetest"
)

// TestCypher runs users' own Cypher.
// TestJudgingMetric expects the metric of profiles in Go and in Cypher.
func TestJudgingMetric(t *testing.T) {
	s := opened(t, fresh(t, Shared))
	for _, f := range storetest.Judged() {
		mustPut(t, s, store.Refuse, f)
	}
	list, err := s.Profiles(t.Context(), store.Query{})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, p := range list {
		alone, err := s.Profiles(t.Context(), store.Query{Profiles: []store.ProfileID{p.ID}})
		if err != nil || !slices.Equal(alone[0].Metrics, p.Metrics) {
			t.Errorf("%s of %s alone has %v, %v", p.Type.Name, p.Run.Key, alone[0].Metrics, err)
		}
		want := "[<nil> <nil>]"
		if m, ok := p.Metric(); ok {
			want = fmt.Sprint([]any{m.Mean, m.Unit})
		}
		answer, err := s.Cypher(t.Context(), "MATCH (p:Profile {key: $key}) RETURN p.metricMean, p.metricUnit", map[string]any{"key": string(p.ID)})
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range answer.Rows {
			if got := fmt.Sprint(row); err != nil || got != want {
				t.Errorf("%s of %s: %s, %v; in Go %s", p.Type.Name, p.Run.Key, got, err, want)
			}
		}
	}
}

func TestCypher(t *testing.T) {
	where := fresh(t, Shared)
	s := opened(t, where)
	mustPut(t, s, store.Refuse, storetest.File("g", "b", "r1", profile.CPUSamples, "A  A\nB  C"))
	read := func(cypher string, params map[string]any) (list []string, err error) {
		answer, err := s.Cypher(t.Context(), cypher, params)
		if err != nil {
			return nil, err
		}
		list = append(list, strings.Join(answer.Columns, " "))
		for row, err := range answer.Rows {
			if err != nil {
				return list, err
			}
			list = append(list, fmt.Sprint(row...))
		}
		return list, nil
	}
	for _, c := range []struct {
		cypher string
		params map[string]any
		want   string
	}{
		{"MATCH (f:Function) RETURN f.name AS name ORDER BY name", nil, "name A B C"},
		{"MATCH (f:Function {name: $name}) RETURN 1 AS a, 2 AS b", map[string]any{"name": "B"}, "a b 1 2"},
		{"RETURN 'LOAD CSV' AS csv // LOAD CSV", nil, "csv LOAD CSV"},
		{"RETURN $list[1] AS x", map[string]any{"list": []any{"a", "b'`\n"}}, "x b'`\n"},
		{"UNWIND range(1, 0) AS none RETURN none", nil, "none"},
		{"CALL db.labels() YIELD label WHERE label = 'Function' RETURN label", nil, "label Function"},
		{"CALL () { MATCH (f:Function) RETURN count(f) AS n } RETURN n // CALL dbms.listConfig()", nil, "n 3"},
	} {
		if got, err := read(c.cypher, c.params); err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s answers %q, %v", c.cypher, got, err)
		}
	}
	for _, c := range []struct{ cypher, want string }{
		{"CREATE (:X)", "cannot be written"},
		{"MATCH (p:Profile) SET p.samples = 0 RETURN p", "cannot be written"},
		{"MATCH (n) DETACH DELETE n", "cannot be written"},
		{"DROP CONSTRAINT dendro_profile_key", "cannot be written"},
		{"LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line", "LOAD CSV is refused"},
		{"load /* x */ csv WITH HEADERS FROM 'http://127.0.0.1/' AS line RETURN line", "LOAD CSV is refused"},
		{`L\u004fAD C\u0053V FROM 'file:///etc/passwd' AS line RETURN line`, "LOAD CSV is refused"},
		{"CALL { LOAD CSV FROM 'file:///x' AS line RETURN line } RETURN line", "LOAD CSV is refused"},
		{"CALL dbms.killConnection('bolt-0')", "the procedure dbms.killConnection is refused"},
		{"MATCH (f:Function) CALL () { CALL `dbms`.listConnections() YIELD connectionId AS c RETURN c } RETURN f, c", "the procedure dbms.listConnections is refused"},
		{"CALL dbms.listConnections() YIELD connectionId AS c MATCH (f:Function {id: size(c)}) RETURN f, c", "the procedure dbms.listConnections is refused"},
		{"MATCH (a:Function {id: 1}), (b:Function {id: 2}) CALL dbms.listConnections() YIELD connectionId AS c MATCH (f:Function {id: size(c)}) RETURN f", "the procedure dbms.listConnections is refused"},
		{"LOAD CSV FROM 'file:///x' AS line MATCH (f:Function {id: size(line)}) RETURN f", "LOAD CSV is refused"},
		{`C\u0041LL db.clearQueryCaches()`, "the procedure db.clearQueryCaches is refused"},
		{"TERMINATE TRANSACTIONS 'neo4j-transaction-0'", "TERMINATE TRANSACTIONS is refused"},
		{"CREATE USER mallory SET PASSWORD 'mallory-mallory'", "cannot be written"},
		{"RETRUN 1", "Invalid input 'RETRUN'"},
		{"RETURN $nothing", "nothing"},
		{"RETURN 1/0", "zero"},
	} {
		if got, err := read(c.cypher, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s answers %q, %v; want an error with %q", c.cypher, got, err, c.want)
		}
	}
	if n := count(t, where, "MATCH (p:Profile) RETURN sum(p.samples)"); n != 2 {
		t.Errorf("the profile has %d samples", n)
	}
	answer, err := s.Cypher(t.Context(), "UNWIND range(1, 1000000) AS i RETURN i", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range answer.Rows {
		break
	}
}
