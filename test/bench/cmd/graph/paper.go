package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	driver "github.com/neo4j/neo4j-go-driver/v6/neo4j"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/test/bench/product"
	"github.com/dendroprof/dendro/test/neo4j/server"
)

// paper imports as chapter 4.2 of the paper ends: a transaction per profile, nodes by
// UNWIND and CREATE, then relationships by UNWIND, two MATCH and CREATE.
type paper struct {
	ctx    context.Context
	server *server.Server
	driver driver.Driver
	stored func(frame string) string
	done   int // profiles
	nodes  int // that it has
}

// newPaper starts a server of its own, so that the store files of the other are Dendro's.
func newPaper(ctx context.Context) (*paper, error) {
	s, err := server.Start(ctx, server.Options{Heap: heap, PageCache: pageCache})
	if err != nil {
		return nil, err
	}
	d, err := driver.NewDriver("bolt://"+s.Address(), driver.BasicAuth(server.User, server.Password, ""))
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	p := &paper{ctx: ctx, server: s, driver: d, stored: product.Names()}
	for _, key := range []string{"Paper.key", "PaperBenchmark.key", "PaperRun.key", "PaperProfile.key"} {
		label, property, _ := strings.Cut(key, ".")
		if err := p.do(fmt.Sprintf("CREATE CONSTRAINT IF NOT EXISTS FOR (n:%s) REQUIRE n.%s IS UNIQUE", label, property), nil); err != nil {
			return nil, err
		}
	}
	for _, property := range []string{"codePath", "profileKey"} {
		if err := p.do(fmt.Sprintf("CREATE INDEX IF NOT EXISTS FOR (n:Paper) ON (n.%s)", property), nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *paper) close() error { return errors.Join(p.driver.Close(p.ctx), p.server.Close()) }

// do runs a statement in a transaction of its own.
func (p *paper) do(statement string, params map[string]any) error {
	return p.write(func(tx driver.ManagedTransaction) error { return run(p.ctx, tx, statement, params) })
}

func (p *paper) write(f func(tx driver.ManagedTransaction) error) error {
	session := p.driver.NewSession(p.ctx, driver.SessionConfig{})
	defer session.Close(p.ctx) //nolint:errcheck // the transaction has ended
	_, err := session.ExecuteWrite(p.ctx, func(tx driver.ManagedTransaction) (any, error) { return nil, f(tx) })
	return err
}

func run(ctx context.Context, tx driver.ManagedTransaction, statement string, params map[string]any) error {
	result, err := tx.Run(ctx, statement, params)
	if err == nil {
		_, err = result.Consume(ctx)
	}
	return err
}

// put imports profiles.
func (p *paper) put(batch []ingest.Source) error {
	for _, s := range batch {
		text, err := content(s)
		if err != nil {
			return err
		}
		if err := p.profile(s.Label.Group+"/"+s.Label.Benchmark, s.Label.Run.Key, parse(text, p.stored)); err != nil {
			return err
		}
	}
	return nil
}

func content(s ingest.Source) (string, error) {
	r, err := s.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

// node is a call node of a profile.
type node struct {
	name        string
	parent      int
	depth       int
	self, total int64
	recurs      int // the nearest ancestor of the same name
}

// parse makes a tree of folded text, parents before children.
func parse(text string, stored func(string) string) []node {
	type key struct {
		parent int
		name   string
	}
	var nodes []node
	at := map[key]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[space+1:], 10, 64)
		if err != nil || space < 0 {
			continue
		}
		parent := -1
		for depth, frame := range strings.Split(line[:space], ";") {
			k := key{parent, stored(frame)}
			i, ok := at[k]
			if !ok {
				i = len(nodes)
				recurs := parent
				for recurs >= 0 && nodes[recurs].name != k.name {
					recurs = nodes[recurs].parent
				}
				nodes = append(nodes, node{name: k.name, parent: parent, depth: depth, recurs: recurs})
				at[k] = i
			}
			nodes[i].total += n
			parent = i
		}
		if parent >= 0 {
			nodes[parent].self += n
		}
	}
	return nodes
}

func (p *paper) profile(benchmark, runKey string, nodes []node) error {
	p.done++
	profile := fmt.Sprintf("%08d", p.done)
	whole := 0.0
	for _, n := range nodes {
		whole += float64(n.self)
	}
	keyOf := func(i int) string { return fmt.Sprintf("%s%06x", profile, i) }
	var functions, invocations, recursions []map[string]any
	for i, n := range nodes {
		functions = append(functions, map[string]any{"key": keyOf(i), "codePath": n.name, "depth": int64(n.depth), "baseSamples": n.self,
			"totalSamples": n.total,
			"base":         float64(n.self) / whole, "total": float64(n.total) / whole})
		if n.parent >= 0 {
			invocations = append(invocations, map[string]any{"from": keyOf(n.parent), "to": keyOf(i)})
		}
		if n.recurs >= 0 {
			recursions = append(recursions, map[string]any{"from": keyOf(n.recurs), "to": keyOf(i),
				"distance": int64(n.depth - nodes[n.recurs].depth)})
		}
	}
	return p.write(func(tx driver.ManagedTransaction) error {
		for _, s := range []struct {
			statement string
			params    map[string]any
		}{
			{`MERGE (b:PaperBenchmark {key: $benchmark}) MERGE (r:PaperRun {key: $run})
				CREATE (b)-[:HAS_PROFILE]->(p:PaperProfile {key: $profile})<-[:HAS_PROFILE]-(r)`, map[string]any{"benchmark": benchmark, "run": runKey, "profile": profile}},
			{`UNWIND $functions AS f CREATE (fn:Paper {key: f.key, profileKey: $profile, codePath: f.codePath, depth: f.depth,
				baseSamples: f.baseSamples, totalSamples: f.totalSamples, base: f.base, total: f.total})`, map[string]any{"functions": functions, "profile": profile}},
			{"UNWIND $list AS i MATCH (a:Paper {key: i.from}) MATCH (b:Paper {key: i.to}) CREATE (a)-[:INVOKES]->(b)", map[string]any{"list": invocations}},
			{"UNWIND $list AS i MATCH (a:Paper {key: i.from}) MATCH (b:Paper {key: i.to}) CREATE (a)-[:RECURS {distance: i.distance}]->(b)", map[string]any{"list": recursions}},
		} {
			if err := run(p.ctx, tx, s.statement, s.params); err != nil {
				return err
			}
		}
		return nil
	})
}
