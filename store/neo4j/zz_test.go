package neo4j
import ("testing";"context";"fmt";"time";"sort";"github.com/dendroprof/dendro/store")
func TestZZ(t *testing.T) {
	s := opened(t, fresh(t, Thesis))
	h := newHistory(2, 10_000)
	cpu, took, n := map[string]time.Duration{}, map[string]time.Duration{}, map[string]int{}
	on := false
	Hook = func(st string) func() { c, w := serverCPU(), time.Now(); return func() { if on { cpu[st]+=serverCPU()-c; took[st]+=time.Since(w); n[st]++ } } }
	defer func(){Hook=nil}()
	var total, wall time.Duration; nodes:=0
	var ptotal, pwall time.Duration; pnodes := 0
	newp := 0
	for i := range 30 {
		on = i >= 10
		f := h.next()
		c, w := serverCPU(), time.Now()
		before := 0
		if i>0 { _ = before }
		out, err := s.Put(context.Background(), []*store.File{f}, store.PutOptions{Rules:"b"})
		if err != nil || out[0].Err != nil { t.Fatal(err, out) }
		if on { total += serverCPU()-c; wall += time.Since(w); nodes += f.Records[0].Forest.Cut(f.Records[0].Self.Nodes).Len() }
	}
	_ = newp
	g2 := dialed(t, server(t))
	for _, st := range []string{constraint("Paper","key"), index("Paper","codePath"), index("Paper","profileKey")} { g2.schema(context.Background(), st) }
	tb := testing.B{}
	for i := range 20 { on = i >= 5
		f := h.next()
		c, w := serverCPU(), time.Now()
		n := importAsPaper(&tb, g2, f)
		if on { ptotal += serverCPU()-c; pwall += time.Since(w); pnodes += n } }
	fmt.Printf("paper total %.2f cpu %.2f wall µs/node, %d nodes\n", float64(ptotal.Microseconds())/float64(pnodes), float64(pwall.Microseconds())/float64(pnodes), pnodes)
	var keys []string
	for k := range cpu { keys = append(keys,k) }
	sort.Slice(keys, func(a,b int) bool { return cpu[keys[a]]>cpu[keys[b]] })
	for _, k := range keys { fmt.Printf("%8.2f µs/node cpu %8.2f wall %4d  %.70q\n", float64(cpu[k].Microseconds())/float64(nodes), float64(took[k].Microseconds())/float64(nodes), n[k], k) }
	fmt.Printf("total %.2f cpu %.2f wall µs/node, %d nodes\n", float64(total.Microseconds())/float64(nodes), float64(wall.Microseconds())/float64(nodes), nodes)
	g := dialed(t, server(t)); g.read(context.Background(), func(tx *tx) error { r,_ := tx.one("MATCH (c:CallPath) RETURN count(c), 0",nil); fmt.Println(r); return nil })
}
