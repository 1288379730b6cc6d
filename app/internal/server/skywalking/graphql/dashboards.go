package graphql

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"skywalking.apache.org/repo/goapi/query"
)

// Booster, SkyWalking's UI until version 10, has widgets but no pages: the menu and the
// dashboards come from the server. Those below have what Dendro has data for: lists that lead
// from page to page, traces, trace profiling, async-profiler, pprof.
//
//	menu ─▶ Services ─▶ Service ─┬▶ Instance
//	                             └▶ Endpoint

// Names of the dashboards of each layer. Booster has them in addresses, so they have no spaces.
const (
	servicesPage = "Services"
	servicePage  = "Service"
	instancePage = "Instance"
	endpointPage = "Endpoint"
)

// dashboard is the configuration of a page.
type dashboard struct {
	Name     string   `json:"name"`
	Layer    string   `json:"layer"`
	Entity   string   `json:"entity"` // what the page is about: the selectors above it
	IsRoot   bool     `json:"isRoot"` // the page of the layer's menu item
	Children []widget `json:"children"`
}

// widget is a part of a page. Its place is in 24 columns, and in rows of 20 pixels.
type widget struct {
	X        int      `json:"x"`
	Y        int      `json:"y"`
	W        int      `json:"w"`
	H        int      `json:"h"`
	I        string   `json:"i"` // unique in the page or tab
	Type     string   `json:"type"`
	Heading  *heading `json:"widget,omitempty"`
	Graph    *graph   `json:"graph,omitempty"`
	Children []tab    `json:"children,omitempty"`
}

type heading struct {
	Title string `json:"title"`
}

// graph is what a list shows, and the page that its rows lead to.
type graph struct {
	Type          string `json:"type"`
	DashboardName string `json:"dashboardName"`
	FontSize      int    `json:"fontSize"`
	ShowGroup     bool   `json:"showGroup,omitempty"`
}

type tab struct {
	Name     string   `json:"name"`
	Children []widget `json:"children"`
}

// pageHeight is the height of a page's only widget, in rows.
const pageHeight = 42

// whole returns a widget that takes all of a page or tab.
func whole(typ string) widget { return widget{W: 24, H: pageHeight, I: "0", Type: typ} }

// list returns a list whose rows lead to a page.
func list(title, typ, page string) widget {
	w := whole("Widget")
	w.Heading, w.Graph = &heading{title}, &graph{Type: typ, DashboardName: page, FontSize: 12, ShowGroup: typ == "ServiceList"}
	return w
}

// dashboards returns the pages of a layer. The first tab of a page is one that can wait until
// the page has selected its service: Booster's traces, async-profiler and pprof report an error.
func dashboards(layer string) []dashboard {
	tabs := func(list ...tab) []widget {
		w := whole("Tab")
		w.H += 4 // the names of the tabs
		w.Children = list
		return []widget{w}
	}
	instances := tab{"Instances", []widget{list("Instances", "InstanceList", instancePage)}}
	endpoints := tab{"Endpoints", []widget{list("Endpoints", "EndpointList", endpointPage)}}
	traces := tab{"Traces", []widget{whole("Trace")}}
	requests := tab{"Trace profiling", []widget{whole("Profile")}}
	jvm := tab{"async-profiler", []widget{whole("AsyncProfiling")}}
	golang := tab{"pprof", []widget{whole("Pprof")}}
	return []dashboard{
		{servicesPage, layer, "All", true, []widget{list("Services", "ServiceList", servicePage)}},
		{servicePage, layer, "Service", false, tabs(instances, endpoints, traces, requests, jvm, golang)},
		{instancePage, layer, "ServiceInstance", false, tabs(requests, traces, jvm, golang)},
		{endpointPage, layer, "Endpoint", false, tabs(requests, traces)},
	}
}

// maxMenu is the maximum number of layers in the menu. SkyWalking itself has some fifty.
const maxMenu = 100

// layerName matches the layers in the menu: Booster makes a pattern of addresses of each, which
// other names might break.
var layerName = regexp.MustCompile(`^[A-Z0-9_]{1,64}$`)

// menu returns the layers in the menu, that of agents first.
func (r *resolver) menu(ctx context.Context) ([]string, error) {
	layers, err := r.ListLayers(ctx)
	layers = slices.DeleteFunc(layers, func(l string) bool { return !layerName.MatchString(l) })
	if i := slices.Index(layers, general); i > 0 {
		copy(layers[1:], layers[:i])
		layers[0] = general
	}
	return layers[:min(len(layers), maxMenu)], err
}

// GetMenuItems answers Query.getMenuItems.
func (r *resolver) GetMenuItems(ctx context.Context) ([]*query.MenuItem, error) {
	layers, err := r.menu(ctx)
	items := make([]*query.MenuItem, len(layers))
	for i, l := range layers {
		title, icon, text := "Services", "general_service", "Services that report to Dendro: their instances, endpoints, traces and profiling tasks."
		if l != general {
			title += " of " + l
		}
		items[i] = &query.MenuItem{Title: title, Icon: &icon, Layer: l, Activate: true, Description: &text, SubItems: []*query.MenuItem{}}
	}
	return items, err
}

// GetAllTemplates answers Query.getAllTemplates.
func (r *resolver) GetAllTemplates(ctx context.Context) ([]*query.DashboardConfiguration, error) {
	layers, err := r.menu(ctx)
	all := []*query.DashboardConfiguration{}
	for _, l := range layers {
		for i, d := range dashboards(l) {
			text, err := json.Marshal(d)
			if err != nil {
				return nil, err
			}
			all = append(all, &query.DashboardConfiguration{ID: "dendro-" + l + "-" + strconv.Itoa(i), Configuration: string(text)})
		}
	}
	return all, err
}

// GetTemplate answers Query.getTemplate.
func (r *resolver) GetTemplate(ctx context.Context, id string) (*query.DashboardConfiguration, error) {
	all, err := r.GetAllTemplates(ctx)
	for _, d := range all {
		if d.ID == id {
			return d, nil
		}
	}
	return nil, err
}
