package graphql

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"skywalking.apache.org/repo/goapi/query"

	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/traceprof"
	"github.com/dendroprof/dendro/traceprof/ids"
)

// general is the layer of services without a layer.
const general = "GENERAL"

// generalLevel is the menu level of all layers.
const generalLevel = 3

// late is the maximum delay, in ms, until the store has that an instance was seen.
const late = traceprof.Minute

// layer returns the layer of an instance.
func layer(i *traceprof.Instance) string { return cmp.Or(i.Layer, general) }

type rosterKey struct{}

// withRoster returns a context in which the fields of one document read all instances at
// most once: pages request the services of some forty layers in one document.
func (r *resolver) withRoster(ctx context.Context) context.Context {
	return context.WithValue(ctx, rosterKey{}, sync.OnceValues(func() ([]traceprof.Instance, error) {
		return r.Store.Instances(ctx, "", 0)
	}))
}

// roster returns all instances, read-only. The context is from withRoster.
func roster(ctx context.Context) ([]traceprof.Instance, error) {
	return ctx.Value(rosterKey{}).(func() ([]traceprof.Instance, error))()
}

// services returns all services that a condition selects, by name.
func (r *resolver) services(ctx context.Context, selects func(*query.Service) bool) ([]*query.Service, error) {
	instances, err := roster(ctx)
	if err != nil {
		return nil, err
	}
	all := []*query.Service{}
	for i := range instances { // by service
		name := instances[i].Service
		if n := len(all); n == 0 || all[n-1].Name != name {
			all = append(all, service(name))
		}
		s := all[len(all)-1]
		if l := layer(&instances[i]); !slices.Contains(s.Layers, l) {
			s.Layers = append(s.Layers, l)
		}
	}
	return slices.DeleteFunc(all, func(s *query.Service) bool { return !selects(s) }), nil
}

// service converts a service, without layers.
func service(name string) *query.Service {
	group, short, grouped := strings.Cut(name, "::")
	if !grouped {
		group, short = "", name
	}
	return &query.Service{ID: ids.Service(name), Name: name, Group: group, ShortName: short, Layers: []string{}, Normal: new(true)}
}

// ListLayers answers Query.listLayers.
func (r *resolver) ListLayers(ctx context.Context) ([]string, error) {
	layers := []string{general}
	_, err := r.services(ctx, func(s *query.Service) bool {
		layers = append(layers, s.Layers...)
		return false
	})
	slices.Sort(layers)
	return slices.Compact(layers), err
}

// ListLayerLevels answers Query.listLayerLevels.
func (r *resolver) ListLayerLevels(ctx context.Context) ([]*query.LayerLevel, error) {
	layers, err := r.ListLayers(ctx)
	list := column.Of(layers, func(l string) *query.LayerLevel { return &query.LayerLevel{Layer: l, Level: generalLevel} })
	return list, err
}

// ListServices answers Query.listServices.
func (r *resolver) ListServices(ctx context.Context, layer string) ([]*query.Service, error) {
	return r.services(ctx, func(s *query.Service) bool { return layer == "" || slices.Contains(s.Layers, layer) })
}

// GetAllServices answers Query.getAllServices.
func (r *resolver) GetAllServices(ctx context.Context, _ query.Duration, group string) ([]*query.Service, error) {
	return r.services(ctx, func(s *query.Service) bool { return group == "" || s.Group == group })
}

// FindService answers Query.findService.
func (r *resolver) FindService(ctx context.Context, name string) (*query.Service, error) {
	list, err := r.services(ctx, func(s *query.Service) bool { return s.Name == ids.ServiceName(name) })
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// SearchService answers Query.searchService.
func (r *resolver) SearchService(ctx context.Context, code string) (*query.Service, error) {
	return r.FindService(ctx, code)
}

// ListInstances answers Query.listInstances.
func (r *resolver) ListInstances(ctx context.Context, d query.Duration, serviceID string) ([]*query.ServiceInstance, error) {
	during, err := spanOf(&d)
	if err != nil {
		return nil, err
	}
	name, err := ids.ParseService(serviceID)
	if err != nil {
		return nil, err
	}
	instances, err := r.Store.Instances(ctx, name, during.from-late)
	if err != nil {
		return nil, err
	}
	list := []*query.ServiceInstance{}
	for i := range instances {
		if instances[i].FirstSeen <= during.to {
			list = append(list, instance(&instances[i]))
		}
	}
	return list, nil
}

// instance converts an instance. Its properties become attributes, except the language;
// all addresses become one.
func instance(i *traceprof.Instance) *query.ServiceInstance {
	id := ids.Instance(i.Service, i.Name)
	out := &query.ServiceInstance{ID: id, Name: i.Name, InstanceUUID: id, Language: query.LanguageUnknown, Attributes: []*query.Attribute{}}
	if l := query.Language(strings.ToUpper(i.Language)); l.IsValid() {
		out.Language = l
	}
	var addresses []string
	for _, p := range i.Properties {
		switch p.Key {
		case "language":
		case "ipv4":
			addresses = append(addresses, p.Value)
		default:
			out.Attributes = append(out.Attributes, &query.Attribute{Name: p.Key, Value: p.Value})
		}
	}
	if addresses != nil {
		out.Attributes = append(out.Attributes, &query.Attribute{Name: "ipv4s", Value: strings.Join(addresses, ",")})
	}
	return out
}

// maxEndpoints is the maximum number of endpoints in a list.
const maxEndpoints = 10_000

// FindEndpoint answers Query.findEndpoint.
func (r *resolver) FindEndpoint(ctx context.Context, keyword, serviceID string, limit int, d *query.Duration) ([]*query.Endpoint, error) {
	during, err := spanOf(d)
	if err != nil {
		return nil, err
	}
	name, err := ids.ParseService(serviceID)
	if err != nil {
		return nil, err
	}
	list := []*query.Endpoint{}
	if limit = min(limit, maxEndpoints); limit <= 0 {
		return list, nil
	}
	asked := limit
	if d != nil {
		asked = 0 // the store does not select by time
	}
	endpoints, err := r.Store.Endpoints(ctx, name, keyword, asked)
	if err != nil {
		return nil, err
	}
	for i := range endpoints {
		if e := &endpoints[i]; len(list) < limit && e.LastSeen >= during.from {
			list = append(list, &query.Endpoint{ID: ids.Endpoint(name, e.Name), Name: e.Name})
		}
	}
	return list, nil
}

// GetService answers Query.getService.
func (r *resolver) GetService(ctx context.Context, id string) (*query.Service, error) {
	name, err := ids.ParseService(id)
	if err != nil {
		return nil, err
	}
	return r.FindService(ctx, name)
}

// GetInstance answers Query.getInstance.
func (r *resolver) GetInstance(ctx context.Context, id string) (*query.ServiceInstance, error) {
	service, name, err := ids.ParseInstance(id)
	if err != nil {
		return nil, err
	}
	instances, err := r.Store.Instances(ctx, service, 0)
	for i := range instances {
		if instances[i].Name == name {
			return instance(&instances[i]), nil
		}
	}
	return nil, err
}

// GetEndpointInfo answers Query.getEndpointInfo.
func (r *resolver) GetEndpointInfo(_ context.Context, id string) (*query.EndpointInfo, error) {
	service, name, err := ids.ParseEndpoint(id)
	if err != nil {
		return nil, err
	}
	return &query.EndpointInfo{ID: ids.Endpoint(service, name), Name: name, ServiceID: ids.Service(service), ServiceName: service}, nil
}

// ListInstancesByName answers Query.listInstancesByName.
func (r *resolver) ListInstancesByName(ctx context.Context, d query.Duration, service query.ServiceCondition) ([]*query.ServiceInstance,
	error) {
	return r.ListInstances(ctx, d, ids.Service(service.ServiceName))
}

// FindEndpointByName answers Query.findEndpointByName.
func (r *resolver) FindEndpointByName(ctx context.Context, keyword string, service query.ServiceCondition, limit int,
	d *query.Duration) ([]*query.Endpoint, error) {
	return r.FindEndpoint(ctx, keyword, ids.Service(service.ServiceName), limit, d)
}
