package graphql

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/traceprof"
)

// pages asks for the menu and the dashboards as Booster does.
func (b *bench) pages() (menu []string, all map[string]dashboard) {
	b.Helper()
	var data struct {
		Data struct {
			GetMenuItems    []struct{ Title, Layer string }
			GetAllTemplates []struct{ ID, Configuration string }
		}
	}
	r := b.ask("{ getMenuItems { title layer } getAllTemplates { id configuration } }", "null")
	b.must(json.Unmarshal([]byte(r.body), &data))
	for _, m := range data.Data.GetMenuItems {
		menu = append(menu, m.Layer+": "+m.Title)
	}
	all = map[string]dashboard{}
	for _, t := range data.Data.GetAllTemplates {
		var d dashboard
		b.must(json.Unmarshal([]byte(t.Configuration), &d))
		key := d.Layer + "_" + d.Entity + "_" + d.Name // how Booster finds it
		if _, twice := all[key]; twice {
			b.Errorf("%s is there twice", key)
		}
		all[key] = d
		var one struct {
			Data struct {
				GetTemplate *struct{ Configuration string }
			}
		}
		b.must(json.Unmarshal([]byte(b.ask(fmt.Sprintf("{ getTemplate(id: %q) { configuration } }", t.ID), "null").body), &one))
		if one.Data.GetTemplate == nil || one.Data.GetTemplate.Configuration != t.Configuration {
			b.Errorf("getTemplate(%s): %+v", t.ID, one.Data.GetTemplate)
		}
	}
	return menu, all
}

// leadsTo returns what the lists of a page lead to, with the entity of their rows.
func leadsTo(widgets []widget) (to []string) {
	entities := map[string]string{"ServiceList": "Service", "InstanceList": "ServiceInstance", "EndpointList": "Endpoint"}
	for _, w := range widgets {
		if w.Graph != nil {
			to = append(to, entities[w.Graph.Type]+"_"+w.Graph.DashboardName)
		}
		for _, t := range w.Children {
			to = append(to, leadsTo(t.Children)...)
		}
	}
	return to
}

// TestDashboards: each layer that services have is in the menu and has one root page, from
// which lists lead to all other pages of the layer.
func TestDashboards(t *testing.T) {
	b := newBench(t)
	if menu, all := b.pages(); !slices.Equal(menu, []string{"GENERAL: Services"}) || len(all) != 4 {
		t.Errorf("without services: menu %v, %d pages", menu, len(all))
	}
	b.seed()
	menu, all := b.pages()
	if want := []string{"GENERAL: Services", "FAAS: Services of FAAS"}; !slices.Equal(menu, want) {
		t.Errorf("menu %v, want %v", menu, want)
	}
	for _, layer := range []string{"GENERAL", "FAAS"} {
		reached := map[string]bool{}
		var follow func(key string)
		follow = func(key string) {
			d, ok := all[key]
			if !ok || reached[key] {
				t.Errorf("a list leads to %s, there: %v", key, ok)
				return
			}
			reached[key] = true
			for _, to := range leadsTo(d.Children) {
				follow(layer + "_" + to)
			}
		}
		for key, d := range all {
			if d.Layer == layer && d.IsRoot {
				follow(key)
			}
			if strings.ContainsAny(d.Name, " /") {
				t.Errorf("Booster cannot have %q in an address", d.Name)
			}
		}
		if len(reached) != 4 {
			t.Errorf("%s: the menu leads to %v", layer, reached)
		}
	}
}

// TestHostileLayers: the name of a layer becomes a pattern of addresses in Booster; one that
// may break it, or too many of them, are not in the menu. Lists of layers have them all.
func TestHostileLayers(t *testing.T) {
	b := newBench(t)
	for i := range 2 * maxMenu {
		b.must(b.store.PutInstances(t.Context(), traceprof.Instance{Service: fmt.Sprint("s", i), Name: "i", Layer: fmt.Sprintf("L%03d", i)}))
	}
	for i, name := range []string{"/:a(", "<img src=x>", "lower case", strings.Repeat("A", 65), "*"} {
		b.must(b.store.PutInstances(t.Context(), traceprof.Instance{Service: fmt.Sprint("h", i), Name: "i", Layer: name}))
	}
	menu, all := b.pages()
	if len(menu) != maxMenu || menu[0] != "GENERAL: Services" || menu[1] != "L000: Services of L000" || len(all) != 4*maxMenu {
		t.Errorf("%d items, %v …, %d pages", len(menu), menu[:2], len(all))
	}
	var data struct{ Data struct{ ListLayers []string } }
	b.must(json.Unmarshal([]byte(b.ask("{ listLayers }", "null").body), &data))
	if n := len(data.Data.ListLayers); n != 2*maxMenu+6 {
		t.Errorf("%d layers", n)
	}
}
