package ids

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/traceprof"
)

func TestIDs(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"service", Service("e2e-service-provider"), "ZTJlLXNlcnZpY2UtcHJvdmlkZXI=.1"},
		{"instance", Instance("e2e-service-provider", "provider1"), "ZTJlLXNlcnZpY2UtcHJvdmlkZXI=.1_cHJvdmlkZXIx"},
		{"endpoint", Endpoint("shop", "GET:/checkout"), "c2hvcA==.1_R0VUOi9jaGVja291dA=="},
		{"blank service", Service(" "), "X2JsYW5r.1"},
		{"blank instance", Instance("", ""), "X2JsYW5r.1_X2JsYW5r"},
		{"long service", Service(strings.Repeat("é", 71)), Service(strings.Repeat("é", 70))},
		{"no UTF-8", Service("a\xff"), Service("a\uFFFD")},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if name := EndpointName(strings.Repeat("a", 200)); len(name) != traceprof.MaxEndpointName {
		t.Errorf("endpoint of %d characters", len(name))
	}
}

func TestWhatIsNoID(t *testing.T) {
	for _, id := range []string{"", "X", ".", "c2hvcA==", "c2hvcA==.2", "c2hvcA==.1.1", "c2hvcA.1", "c2h_.1", "c2hvcA==.1_", "%%%.1"} {
		if _, err := ParseService(id); !errors.Is(err, ErrForm) {
			t.Errorf("service %q: %v", id, err)
		}
	}
	for _, id := range []string{"", "_", "c2hvcA==.1", "c2hvcA==_YQ==", "c2hvcA==.1_YQ", "c2hvcA==.1_YQ==_YQ=="} {
		if _, _, err := ParseInstance(id); !errors.Is(err, ErrForm) {
			t.Errorf("instance %q: %v", id, err)
		}
		if _, _, err := ParseEndpoint(id); !errors.Is(err, ErrForm) {
			t.Errorf("endpoint %q: %v", id, err)
		}
	}
}

// TestThereAndBack: an id gives back the names under which things are kept.
func TestThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.OneOf(rapid.String(), rapid.StringN(0, 200, -1),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		service, other := names.Draw(t, "service"), names.Draw(t, "other")
		if got, err := ParseService(Service(service)); err != nil || got != ServiceName(service) {
			t.Fatalf("%q, %v, want %q", got, err, ServiceName(service))
		}
		if s, i, err := ParseInstance(Instance(service, other)); err != nil || s != ServiceName(service) || i != InstanceName(other) {
			t.Fatalf("%q %q %v", s, i, err)
		}
		if s, e, err := ParseEndpoint(Endpoint(service, other)); err != nil || s != ServiceName(service) || e != EndpointName(other) {
			t.Fatalf("%q %q %v", s, e, err)
		}
		if Service(service) != Service(ServiceName(service)) {
			t.Fatal("cutting twice is not cutting once")
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("c2hvcA==.1_R0VUOi9jaGVja291dA==")
	f.Fuzz(func(t *testing.T, id string) {
		if name, err := ParseService(id); err == nil && ServiceName(name) != name {
			t.Errorf("service %q", name)
		}
		if service, name, err := ParseEndpoint(id); err == nil && (ServiceName(service) != service || EndpointName(name) != name) {
			t.Errorf("endpoint %q of %q", name, service)
		}
	})
}
