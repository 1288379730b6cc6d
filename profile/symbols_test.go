package profile

import "testing"

func TestPackage(t *testing.T) {
	for _, x := range []struct{ name, want string }{
		{"github.com/acme/shop/cart.(*Service).Total", "github.com/acme/shop/cart."},
		{"com.acme.shop.Cart.total", "com.acme.shop.Cart."},
		{"com/acme/shop/Cart.total", "com/acme/shop/Cart."},
		{"std::vector<a::b>::push_back(int)", "std::vector<a::b>::"},
		{"ns::f(std::string, v1.2)", "ns::"},
		{"ns::Class::operator->()", "ns::Class::"},
		{"ns::Class::operator<(ns::Class const&)", "ns::Class::"},
		{"(anonymous namespace)::parse(int)", "(anonymous namespace)::"},
		{"<shop::Cart as core::fmt::Display>::fmt", "<shop::Cart as core::fmt::Display>::"},
		{"shop::parse::{{closure}}", "shop::parse::"},
		{"github.com/acme/pipe.work[go.shape.*github.com/acme/x.T]", "github.com/acme/pipe."},
		{"ns::Class::method(other::Type const&)", "ns::Class::"},
		{"main", ""},
		{"(anonymous)", ""},
		{"render (src/a.js)", ""},
		{"finish_task_switch.isra.0", ""},
		{"com.acme.Shop.pay.part.1.cold", "com.acme.Shop."},
		{"main.func1.2", "main.func1."}, // closures are no clones
	} {
		if got := (&Function{Name: x.name}).Package(); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
	if got := (&Function{Name: "runtime.gcBgMarkWorker.func1", Kind: KindGoRuntime}).Package(); got != "runtime." {
		t.Errorf("a closure of Go: %q", got)
	}
}
