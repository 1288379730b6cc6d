package normalize_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
)

const (
	unknown = profile.KindUnknown
	java    = profile.KindJava
	native  = profile.KindNative
	cpp     = profile.KindCPP
	class   = profile.KindClass
	golang  = profile.KindGo
	rust    = profile.KindRust
	stub    = profile.KindStub
	kernel  = profile.KindKernel
)

// one is a name with its normal form; `=` stands for "stays".
type one struct {
	raw  string
	kind profile.Kind
	want string
}

func TestNames(t *testing.T) {
	for _, group := range []struct {
		name  string
		names []one
	}{
		{"lambda classes", []one{
			{"shop/Cart$$Lambda$123.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop/Cart$$Lambda$12.0x00007f101105f708.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop/Cart$$Lambda.0x00007f101105f708.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop/Cart$$Lambda/0x00007f101105f708.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop/Cart$$Lambda$14/0x00007f101105f708.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop/Cart$$Lambda$15/321142942.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop/Cart$$Lambda+0x00007f101105f708/123.apply", java, "shop.Cart$$Lambda.apply"},
			{"shop.Cart$$Lambda$14+0x00007f101105f708.apply", unknown, "shop.Cart$$Lambda.apply"},
			{"shop.Cart$$Lambda$1217", unknown, "shop.Cart$$Lambda"},
			{"shop.Cart$$Lambda$*", unknown, "shop.Cart$$Lambda"},
			{"shop.Cart$$Lambda$*.apply", unknown, "shop.Cart$$Lambda.apply"},
			{"java/util/regex/Pattern$$Lambda$19.0x800000029.is", java, "java.util.regex.Pattern$$Lambda.is"},
			{"shop.Cart$$Lambda$7.test", native, "shop.Cart$$Lambda.test"}, // dots without a suffix are guessed native
			{"java.util.Comparator$$Lambda$27.0x00007f101105f708", class, "java.util.Comparator$$Lambda"},
			{"java.util.Comparator$$Lambda$27.0x00007f101105f708", kernel, "java.util.Comparator$$Lambda"},
			{"shop.Cart$$Lambda$12.0x00007f101105f708[]", class, "shop.Cart$$Lambda[]"},
			{"shop/Cart$$Lambda$108.0x00007f782016df48.<init>", java, "shop.Cart$$Lambda.<init>"},
			{"shop.Cart$$Lambda.apply", java, "="},
			{"shop.Cart$$Lambda$7cef5db1f0.apply", java, "="}, // a native image's digest is stable
			{"-$$Lambda$Main$Xy1Z.run", unknown, "="},         // Android's too
			{"shop.Cart.lambda$price$3", java, "="},
			{"shop.Cart$$ExternalSyntheticLambda0.run", java, "="},
		}},
		{"other hidden classes", []one{
			{"java/lang/invoke/LambdaForm$MH.0x00007f07ac001000.invoke", java, "java.lang.invoke.LambdaForm$MH.invoke"},
			{"java/lang/invoke/LambdaForm$DMH.0x00000000591d5000.invokeSpecial", java, "java.lang.invoke.LambdaForm$DMH.invokeSpecial"},
			{"java/lang/invoke/LambdaForm$MH/0x0000000800c03000.invoke", java, "java.lang.invoke.LambdaForm$MH.invoke"},
			{"java.lang.invoke.LambdaForm$MH/1826771953.linkToTargetMethod", unknown, "java.lang.invoke.LambdaForm$MH.linkToTargetMethod"},
			{"java.lang.invoke.LambdaForm$Kind.<clinit>", java, "="},
			{"java.lang.invoke.LambdaForm$MH.invoke", java, "="},
			{"java/lang/String$$StringConcat.0x00000000080d4000.concat", java, "java.lang.String$$StringConcat.concat"},
			{"com.acme.Rule/0x00007f12ab34cd00.eval", java, "com.acme.Rule.eval"},
			{"com.acme.Rule+0x00007f12ab34cd00/1234.eval", java, "com.acme.Rule.eval"},
			{"com.acme.Rule.0x00007f12ab34cd00.eval", native, "com.acme.Rule.eval"},
			{"Foo<0x123456>", unknown, "="},
			{"Foo<0x123456>::bar", cpp, "="},
			{"com.acme.Color.0xff", java, "="},                     // five digits or fewer
			{"com.acme.Key.0x1234567zz", java, "="},                // a word
			{"libfoo.so+0x123456", unknown, "="},                   // an offset
			{"memcpy+0x123456", native, "="},                       // an offset
			{"I2C/C2I adapters(0xbbebebe)", java, "="},             // a fingerprint of types
			{"I2C/C2I adapters(0xb)", stub, "="},                   //
			{"sha256_block_data_order_0x1234567", native, "="},     //
			{"Foo$Bar.0x123456_x", java, "="},                      //
			{".0x1234567", unknown, "="},                           // nothing would be left
			{"a/b/C.0x00007f1011.m(I)V", java, "a.b.C.m"},          // all at once
			{"a/b/C$1.0x00007f1011.0x00007f1012", java, "a.b.C$1"}, //
		}},
		{"accessors and proxies", []one{
			{"jdk/internal/reflect/GeneratedMethodAccessor12.invoke", java, "jdk.internal.reflect.GeneratedMethodAccessor.invoke"},
			{"jdk.internal.reflect.GeneratedConstructorAccessor3.newInstance", java, "jdk.internal.reflect.GeneratedConstructorAccessor.newInstance"},
			{"sun.reflect.GeneratedSerializationConstructorAccessor1.newInstance", native, "sun.reflect.GeneratedSerializationConstructorAccessor.newInstance"},
			{"GeneratedMethodAccessor7", class, "GeneratedMethodAccessor"},
			{"shop.MyGeneratedMethodAccessor7.invoke", java, "="},
			{"shop.GeneratedMethodAccessor7x.invoke", java, "="},
			{"jdk.internal.reflect.DirectMethodHandleAccessor.invoke", java, "="},
			{"com/sun/proxy/$Proxy12.compareTo", java, "jdk.proxy.$Proxy.compareTo"},
			{"com.sun.proxy.$Proxy12.compareTo", java, "jdk.proxy.$Proxy.compareTo"},
			{"com/sun/proxy/$Proxy12", class, "jdk.proxy.$Proxy"},
			{"com.sun.proxy.Factory.create", java, "="},
			{"jdk.proxy2.$Proxy31.compareTo", java, "jdk.proxy.$Proxy.compareTo"},
			{"jdk/proxy2/$Proxy31.compareTo", java, "jdk.proxy.$Proxy.compareTo"},
			{"$Proxy4.run", native, "$Proxy.run"},
			{"com.acme.$Proxy4[]", class, "com.acme.$Proxy[]"},
			{"com.acme.Bean$Proxy4.run", java, "="}, // an inner class of the program
			{"com.acme.$Proxy.run", java, "="},
			{"com.acme.$ProxyFactory12.run", java, "="},
			{"jdk.proxy2.Other.run", java, "="},
		}},
		{"ByteBuddy and what is built on it", []one{
			{"shop.Shop$Handler$$sw$auxiliary$815cqm1.call", java, "shop.Shop$Handler$$sw$auxiliary.call"},
			{"shop.Shop$Handler.$sw$original$handle$eq1kks1", java, "="}, // the same in every run
			{"shop.Shop$Handler.$sw$original$handle$eq1kks1$accessor$$sw$kspurn1", java, "="},
			{"shop/Cart$ByteBuddy$x1Y2aB3c.total", java, "shop.Cart$ByteBuddy.total"},
			{"shop/Cart$ByteBuddy$x1Y2aB3c$auxiliary$Zz9Yy8Xx.call", java, "shop.Cart$ByteBuddy$auxiliary.call"},
			{"net.bytebuddy.ByteBuddy$EnumerationImplementation.intercept", java, "="},
			{"shop.Order$HibernateProxy$kRt1Qw9Z.getId", java, "shop.Order$HibernateProxy.getId"},
			{"shop.Mailer$MockitoMock$1839466104.send", java, "shop.Mailer$MockitoMock.send"},
			{"shop.Mailer$MockitoMock$1839466104$auxiliary$kRt1Qw9Z.call", java, "shop.Mailer$MockitoMock$auxiliary.call"},
		}},
		{"CGLIB and Javassist", []one{
			{"shop.Cart$$EnhancerBySpringCGLIB$$1a2b3c4d.total", java, "shop.Cart$$EnhancerBySpringCGLIB.total"},
			{"shop.Cart$$EnhancerByCGLIB$$1a2b3c4d_2.total", java, "shop.Cart$$EnhancerByCGLIB.total"},
			{"shop.Cart$$FastClassBySpringCGLIB$$fe12.invoke", java, "shop.Cart$$FastClassBySpringCGLIB.invoke"},
			{"shop/Cart$$EnhancerBySpringCGLIB$$1a2b$$FastClassBySpringCGLIB$$3c4d.invoke", java, "shop.Cart$$EnhancerBySpringCGLIB$$FastClassBySpringCGLIB.invoke"},
			{"shop.Cart$$EnhancerByGuice$$12345.total", java, "shop.Cart$$EnhancerByGuice.total"},
			{"shop.Cart$$SpringCGLIB$$0.total", java, "shop.Cart$$SpringCGLIB.total"},
			{"shop.Cart$$SpringCGLIB$$FastClass$$1.invoke", java, "shop.Cart$$SpringCGLIB$$FastClass.invoke"},
			{"shop.Cart$$EnhancerBySpringCGLIB$$xyz.total", java, "="},
			{"shop.Cart_$$_jvst1a2_3.total", java, "shop.Cart_$$_jvst.total"},
			{"shop.Cart_$$_javassist_12.total", java, "shop.Cart_$$_javassist.total"},
			{"shop.Cart_$$_WeldClientProxy.total", java, "="},
		}},
		{"Groovy, Kotlin, Scala, Clojure: names that do not change", []one{
			{"java_util_List$iterator$7.call", java, "java_util_List$iterator.call"},
			{"shop.Cart$total$3.callCurrent", java, "shop.Cart$total.callCurrent"},
			{"shop.Cart$total$3.call", java, "="}, // may as well be a Callable in Kotlin
			{"shop.Cart$_closure12.doCall", java, "="},
			{"shop.Cart$_run_closure1$_closure2.doCall", java, "="},
			{"Script1.run", java, "="},
			{"shop.CartKt$main$1.invoke", java, "="},
			{"shop.Cart$total$1.invokeSuspend", java, "="},
			{"shop/Cart.plus-impl", java, "shop.Cart.plus-impl"},
			{"shop/CartTest.adds one (or more) items", java, "shop.CartTest.adds one (or more) items"},
			{"shop.Cart$$anonfun$total$1.apply$mcV$sp", java, "="},
			{"scala/collection/immutable/List$.apply", java, "scala.collection.immutable.List$.apply"},
			{"clojure/core$map$fn__5851.invoke", java, "clojure.core$map$fn__5851.invoke"},
			{"shop.Cart$1.run", java, "="},
			{"shop.Cart$Item$1$2.run", java, "="},
			{"java.lang.invoke.BoundMethodHandle$Species_LL.make", java, "="},
		}},
		{"slashes and signatures", []one{
			{"java/lang/Thread.run", java, "java.lang.Thread.run"},
			{"java/lang/Thread.run", unknown, "java.lang.Thread.run"},
			{"java.lang.Thread.run", java, "="},
			{"java/lang/String.indexOf(II)I", java, "java.lang.String.indexOf"},
			{"java.lang.String.indexOf(II)I", native, "java.lang.String.indexOf"},
			{"java/util/Map.of(Ljava/lang/Object|Ljava/lang/Object|)Ljava/util/Map|", java, "java.util.Map.of"},
			{"java/util/Map.of(Ljava/lang/Object;[[J)Ljava/util/Map;", java, "java.util.Map.of"},
			{"shop/Cart.<init>()V", java, "shop.Cart.<init>"},
			{"shop/Cart.<clinit>", unknown, "shop.Cart.<clinit>"},
			{"com/acme/a.b", java, "com.acme.a.b"}, // obfuscated, under a root that Go does not have
			{"sun/nio/ch/EPoll.wait", unknown, "sun.nio.ch.EPoll.wait"},
			{"shop/bench/Suite.main", java, "shop.bench.Suite.main"},
			{"größe/Maß.ändern", java, "größe.Maß.ändern"},
			{"Main.main", java, "="},
			{"foo(int)", native, "="},
			{"shop.Cart.total(int, long)", java, "="},
			{"shop.Cart.total(I", java, "="},
			{"shop.Cart.total()", java, "="},
			{"shop.Cart.total(X)V", java, "="},
			{"shop.Cart.total(L;)V", java, "="},
		}},
		{"Go, as its profiles and as folded text guess it", []one{
			{"github.com/x/y.F", golang, "="},
			{"github.com/x/y.F", java, "="},
			{"github.com/BurntSushi/Toml.Decode", java, "="},
			{"encoding/json.Marshal", java, "="},
			{"encoding/json.structEncoder.encode", java, "="},
			{"encoding/json.(*Decoder).Decode", unknown, "="},
			{"net/http.HandlerFunc.ServeHTTP", java, "="},
			{"internal/runtime/maps.h1", java, "="},
			{"gopkg.in/yaml%2ev3.Unmarshal", java, "="},
			{"main.init.func7", unknown, "="},
			{"main.main.func1.gowrap2", native, "="},
			{"pkg.F[...]", unknown, "="},
			{"slices.SortFunc[go.shape.[]github.com/x/y.T,go.shape.struct { A/b.c int }]", java, "="},
			{"sync/atomic.(*Pointer[go.shape.struct { internal/sync.node = 0x123456 }]).Load", unknown, "="},
			{"myapp/store.open", java, "="},
			{"glob..func1", golang, "="},
		}},
		{"C++ and the rest", []one{
			{"Foo::operator()(int)", cpp, "="},
			{"Vec operator/(Vec const&, Vec const&)", cpp, "="},
			{"operator/", native, "="},
			{"std::function<void (int)>::operator()(int) const", cpp, "="},
			{"AccessInternal::PostRuntimeDispatch<G1BarrierSet::AccessBarrier<1335398ul, G1BarrierSet>, (AccessInternal::BarrierType)1, 1335398ul>::oop_access_barrier", cpp, "="},
			{"parse(ClassFileStream const*, JavaThread*) [clone .part.0]", native, "="},
			{"finish_task_switch.isra.0", kernel, "="},
			{"memset@plt", native, "="},
			{"src/Cart.js", unknown, "="},
			{"src/components/Cart.tsx", java, "src.components.Cart.tsx"}, // believed when the reader says so
			{"I/O", java, "="},
			{"GET /api/v1/Users.list", unknown, "="},
			{"/home/shop/Foo.bar", java, "="},
			{"java.base/java.lang.Thread.run", java, "="}, // a reader of thread dumps takes the module off
			{"System.Threading!Thread.Run", unknown, "="},
			{`App\Cart::total`, profile.KindPHP, "="},
			{"thread;with;semicolons", unknown, "="},
			{"$", unknown, "="}, {"$$", java, "="}, {"/", java, "="}, {"(", java, "="}, {"+", java, "="}, {"a/", java, "="}, {"a/.b", java, "="},
		}},
		{"hashes of compilers", []one{
			{"core::ops::function::FnOnce::call_once::h0123456789abcdef", cpp, "core::ops::function::FnOnce::call_once"},
			{"<alloc::vec::Vec<T> as Drop>::drop::hfedcba9876543210", rust, "<alloc::vec::Vec<T> as Drop>::drop"},
			{"mycrate[317d481089b8c8fe]::parse", rust, "mycrate::parse"},
			{"<mycrate[317d481089b8c8fe]::A as core[846817f741e54dfd]::fmt::Debug>::fmt", native, "<mycrate::A as core::fmt::Debug>::fmt"},
			{"parse.llvm.10294850234958", native, "parse"},
			{"parse(int) (.llvm.10294850234958)", cpp, "parse(int)"},
			{"parse(int) [clone .llvm.10294850234958]", cpp, "parse(int)"},
			{"a::b::h0123456789abcdef.llvm.77", rust, "a::b"},
			{"a::h0123456789abcde", rust, "="},
			{"a::h0123456789abcdeg", rust, "="},
			{"a::hash", rust, "="},
			{"::h0123456789abcdef", rust, "="},
			{"T [16]::f", cpp, "="},
			{"f[deadbeef]::g", cpp, "="}, // eight digits: an array, perhaps
			{"com.acme.a::h0123456789abcdef", golang, "="},
		}},
		{"classes at the leaf of allocation profiles", []one{
			{"java/lang/String", class, "java.lang.String"},
			{"java/lang/String", java, "java.lang.String"},
			{"java/lang/String", unknown, "java.lang.String"},
			{"java.lang.String", class, "="},
			{"java/util/HashMap$Node[]", class, "java.util.HashMap$Node[]"},
			{"byte[]", class, "="},
			{"[B", class, "byte[]"},
			{"[[J", class, "long[][]"},
			{"[Ljava/lang/String;", class, "java.lang.String[]"},
			{"[Ljava.lang.String|", class, "java.lang.String[]"},
			{"[B", java, "="},
			{"a/b/c", class, "a.b.c"},
			{"usr/bin", unknown, "="},
		}},
		{"mangled symbols", []one{
			{"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", unknown, "core::ptr::drop_in_place"},
			{"_ZN4core3ptr13drop_in_place17hfedcba9876543210E", native, "core::ptr::drop_in_place"},
			{"core::ptr::drop_in_place::h0123456789abcdef", unknown, "core::ptr::drop_in_place"},
			{"__ZN4core3ptr13drop_in_place17hfedcba9876543210E", native, "core::ptr::drop_in_place"},
			{"_RNvCs9ltgdHTiPiY_7mycrate3foo", profile.KindRust, "mycrate::foo"},
			{"_ZN4shop5priceERKSs", profile.KindCPP, "shop::price(std::string const&)"},
			{"_ZN10JavaThread3runEv", profile.KindVM, "JavaThread::run()"},
			{"_ZL4workv.isra.0", native, "work() [clone .isra.0]"},
			{"_ZN", native, "="},
			{"_Z", native, "="},
			{"_Zebra", native, "="},
			{"_Read", native, "="},
			{"_ZN4shop5priceERKSs", profile.KindJS, "="},
			{"_Z(x)", native, "="},
		}},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.names {
				want := c.want
				if want == "=" {
					want = c.raw
				}
				if got := name(c.raw, c.kind); got != want {
					t.Errorf("%s (%s)\n got %s\nwant %s", c.raw, c.kind, got, want)
				}
			}
		})
	}
}

// name returns the normal form of a name without attributes.
func name(raw string, kind profile.Kind) string {
	return normalize.New(nil).Function(profile.Function{Name: raw, Kind: kind}).Name
}

func TestNamesWithAttributes(t *testing.T) {
	for _, c := range []struct {
		f    profile.Function
		want string
	}{
		{profile.Function{Name: "0x7f12ab34cd56", Module: "/usr/lib/x86_64-linux-gnu/libc.so.6"}, "[libc.so.6]"},
		{profile.Function{Name: "0x7f12ab34cd56"}, "[unknown]"},
		{profile.Function{Name: "0xFFFFFFFF81000000", Module: "[kernel.kallsyms]", Kind: kernel}, "[kernel.kallsyms]"},
		{profile.Function{Name: "[unknown]", Module: "/opt/shop/libshop.so (deleted)"}, "[libshop.so]"},
		{profile.Function{Name: "[unknown]"}, "[unknown]"},
		{profile.Function{Name: "", Module: `C:\Windows\System32\ntdll.dll`}, "[ntdll.dll]"},
		{profile.Function{Name: "0x1", Module: "/tmp/perf-4711.map"}, "[perf.map]"},
		{profile.Function{Name: "0x1", Module: "/tmp/jitted-4711-12.so"}, "[jitted.so]"},
		{profile.Function{Name: "0x1", Module: "//anon"}, "[anon]"},
		{profile.Function{Name: "0x1", Module: "/"}, "[unknown]"},
		{profile.Function{Name: "0x", Module: "a.so"}, "0x"},
		{profile.Function{Name: "0xyz", Module: "a.so"}, "0xyz"},
		{profile.Function{Name: "main", Module: "/usr/bin/shop"}, "main"},
		{profile.Function{Name: "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", Kind: native}, "[libz.so.1.2.13]"},
		{profile.Function{Name: "/usr/lib/wine/x86_64-windows/ntdll.dll", Kind: native}, "[ntdll.dll]"},
		{profile.Function{Name: "/usr/lib/jvm/bin/java", Kind: native}, "/usr/lib/jvm/bin/java"},
		{profile.Function{Name: "[break_deopt]", Module: "libjvm.so"}, "[break_deopt]"},

		{profile.Function{Name: "(anonymous)", File: "src/cart.js", StartLine: 7, Kind: profile.KindJS}, "(anonymous) (src/cart.js)"},
		{profile.Function{Name: "render", File: "src/cart.js", Kind: profile.KindJS}, "render (src/cart.js)"},
		{profile.Function{Name: "(garbage collector)", Kind: profile.KindJS}, "(garbage collector)"},
		{profile.Function{Name: "hot_loop", File: "shop.py", Kind: profile.KindPython}, "hot_loop (shop.py)"},
		{profile.Function{Name: "hot_loop", File: "shop.py"}, "hot_loop (shop.py)"}, // a format without kinds
		{profile.Function{Name: "encode.<locals>.<listcomp>", File: "shop.py", Kind: profile.KindPython}, "encode.<locals>.<listcomp> (shop.py)"},
		{profile.Function{Name: "each", File: "cart.rb", Kind: profile.KindRuby}, "each (cart.rb)"},
		{profile.Function{Name: "{closure}", File: "src/cart.phtml.inc"}, "{closure} (src/cart.phtml.inc)"},
		{profile.Function{Name: "$Proxy12", File: "proxy.js", Kind: profile.KindJS}, "$Proxy12 (proxy.js)"},
		// Pyroscope's SDK for Node.js:
		{profile.Function{Name: "./src/cart.js:render:12", SystemName: "render", File: "/app/src/cart.js"}, "render (/app/src/cart.js)"},
		{profile.Function{Name: "./src/cart.js:(anonymous:L#12:C#3):12", SystemName: "(anonymous:L#12:C#3)", File: "/app/src/cart.js"},
			"(anonymous) (/app/src/cart.js)"},
		{profile.Function{Name: "node:internal/util:get:615", SystemName: "get", File: "node:internal/util"}, "get (node:internal/util)"},
		{profile.Function{Name: ":(idle):0", SystemName: "(idle)"}, "(idle)"},
		{profile.Function{Name: "a:render:x", SystemName: "render", File: "a.js"}, "a:render:x (a.js)"},
		{profile.Function{Name: "ns::render:12", SystemName: "_ZN2ns6renderE", Kind: cpp}, "ns::render:12"},
		{profile.Function{Name: "main.main", File: "/src/main.go", Kind: golang}, "main.main"},
		{profile.Function{Name: "main.main", File: "/src/main.go"}, "main.main"},
		{profile.Function{Name: "a.b.C.m", File: "C.java", Kind: java}, "a.b.C.m"},
	} {
		if got := normalize.New(nil).Function(c.f).Name; got != c.want {
			t.Errorf("%+v\n got %s\nwant %s", c.f, got, c.want)
		}
	}
}

func TestFunctionKeepsAttributes(t *testing.T) {
	f := profile.Function{Name: "a/b/C$$Lambda$1.m(I)V", SystemName: "s", Module: "m", File: "f", StartLine: 1, Column: 2, Language: "l",
		Kind: java}
	got := normalize.New(nil).Function(f)
	f.Name = "a.b.C$$Lambda.m"
	if diff := cmp.Diff(f, got); diff != "" {
		t.Error(diff)
	}
}

func TestLongNames(t *testing.T) {
	long := strings.Repeat("ж", 3000) // 6,000 bytes
	a, b := name(long+"a", java), name(long+"b", java)
	switch {
	case a == b:
		t.Error("two long names became one")
	case len(a) > 4000 || !utf8.ValidString(a):
		t.Errorf("%d bytes, valid: %v", len(a), utf8.ValidString(a))
	case name(a, java) != a:
		t.Error("a cut name changed again")
	}
	exact := strings.Repeat("x", 4000)
	if name(exact, native) != exact {
		t.Error("a name of exactly the limit was cut")
	}
	// The hash is that of the normal form: cut or not, runs agree.
	tail := strings.Repeat("a", 4000)
	if x, y := name("C$$Lambda$1."+tail, java), name("C$$Lambda$2/0x123456."+tail, java); x != y {
		t.Errorf("%s\n%s", x[3900:], y[3900:])
	}
	over := exact + "x"
	sum := sha256.Sum256([]byte(over))
	if got, want := name(over, native), over[:4000-len("…#")-32]+"…#"+hex.EncodeToString(sum[:16]); got != want {
		t.Errorf("…%s, want …%s", got[len(got)-40:], want[len(want)-40:])
	}
}

// pieces are what the property test builds names of: every marker, everything
// that may stand behind one, and what separates them.
var pieces = []string{
	"$$Lambda", "$14", "$*", "/321142942", ".0x123456", "/0x00007f101105f708", "+0x123456", "0x12", "LambdaForm$MH", "LambdaForm$", "DMH",
	"GeneratedMethodAccessor", "12", "$Proxy", "jdk.proxy", "jdk/proxy2/", "$auxiliary", "$ByteBuddy", "$x1Y2", "$MockitoMock",
	"$HibernateProxy",
	"$$SpringCGLIB", "$$0", "$$FastClass", "$$EnhancerByCGLIB", "$$1a2b", "_2", "_$$_jvst", "1a2_3", "_$$_javassist", "_3",
	"java_util_List", "$add", ".call", ".callStatic", "a/b/", "a.b.", "C", "c", ".m", "(I)V", "(Lj/l/S|)I", "()", "[]", "[B", "[Lj/S;",
	"<init>",
	"::", "::h0123456789abcdef", "[0123456789abcdef]::", ".llvm.", " (.llvm.7)", " [clone .llvm.7]", "/usr/lib/libz.so", ".so", "[", "]",
	"[unknown]",
	" (x.js)", "…#", "0123456789abcdef0123456789abcdef", "é", "\xff", " ", ";", "$", "/", ".",
}

func anyFunction() *rapid.Generator[profile.Function] {
	return rapid.Custom(func(t *rapid.T) profile.Function {
		f := profile.Function{
			Name:   strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "name"), ""),
			Kind:   profile.Kind(rapid.IntRange(0, int(class)+1).Draw(t, "kind")),
			Module: rapid.SampledFrom([]string{"", "/usr/lib/libc.so.6", "[vdso]", "x.0x123456", "0x12", "[", "]"}).Draw(t, "module"),
			File:   rapid.SampledFrom([]string{"", "", "x.js", "C.java"}).Draw(t, "file"),
		}
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			f.Name = strings.Repeat("é", rapid.IntRange(1900, 2010).Draw(t, "times")) + f.Name
		}
		return f
	})
}

func TestNormalFormsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkStable(t, anyFunction().Draw(t, "function")) })
}

// checkStable verifies what holds for every name.
func checkStable(t interface{ Fatalf(string, ...any) }, f profile.Function) {
	n := normalize.New(nil)
	once := n.Function(f)
	switch twice := n.Function(once); {
	case twice != once:
		t.Fatalf("%q (%s)\n once %q\ntwice %q", f.Name, f.Kind, once.Name, twice.Name)
	case once.Name == "":
		t.Fatalf("%q became empty", f.Name)
	case len(once.Name) > 4000:
		t.Fatalf("%d bytes", len(once.Name))
	case utf8.ValidString(f.Name+" "+f.Module+" "+f.File) && !utf8.ValidString(once.Name):
		t.Fatalf("%q became invalid: %q", f.Name, once.Name)
	}
}

func FuzzFunction(f *testing.F) {
	for i := range pieces {
		f.Add(pieces[i]+pieces[(i*7+3)%len(pieces)]+pieces[(i*13+5)%len(pieces)], uint8(i%17), "/usr/lib/libc.so.6", "")
	}
	f.Add("(anonymous)", uint8(profile.KindJS), "", "src/cart.js")
	f.Fuzz(func(t *testing.T, name string, kind uint8, module, file string) {
		checkStable(t, profile.Function{Name: name, Kind: profile.Kind(kind), Module: module, File: file})
	})
}

// TestRepeatedNames repeats pieces to 256 KiB: a quadratic rule would take minutes, not milliseconds.
func TestRepeatedNames(t *testing.T) {
	for _, p := range pieces {
		long := strings.Repeat(p, 256<<10/len(p))
		for _, kind := range []profile.Kind{unknown, java, class, rust} {
			checkStable(t, profile.Function{Name: long, Kind: kind})
		}
	}
}

func TestOrdinaryNamesDoNotAllocate(t *testing.T) {
	n := normalize.New(nil)
	for _, f := range []profile.Function{
		{Name: "java.util.concurrent.ThreadPoolExecutor.runWorker", Kind: java},
		{Name: "java.util.concurrent.ThreadPoolExecutor$Worker.run", Kind: java},
		{Name: "encoding/json.(*decodeState).object", Kind: golang},
		{Name: "CompileBroker::compiler_thread_loop", Kind: cpp},
		{Name: "std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, std::vector<int> > >", Kind: native},
	} {
		if a := testing.AllocsPerRun(10, func() { n.Function(f) }); a != 0 {
			t.Errorf("%s: %v allocations", f.Name, a)
		}
	}
}

func BenchmarkFunction(b *testing.B) {
	for _, c := range []struct {
		name string
		f    profile.Function
	}{
		{"dots", profile.Function{Name: "java.util.concurrent.ThreadPoolExecutor.runWorker", Kind: java}},
		{"slashes", profile.Function{Name: "java/util/concurrent/ThreadPoolExecutor.runWorker", Kind: java}},
		{"inner", profile.Function{Name: "java.util.concurrent.ThreadPoolExecutor$Worker.run", Kind: java}},
		{"lambda", profile.Function{Name: "org/apache/lucene/index/TermStates$$Lambda.0x00000000170f0fc8.call", Kind: java}},
		{"go", profile.Function{Name: "encoding/json.(*decodeState).object", Kind: golang}},
		{"cpp", profile.Function{Name: "CompileBroker::compiler_thread_loop", Kind: cpp}},
		{"script", profile.Function{Name: "render", File: "src/cart.js", Kind: profile.KindJS}},
	} {
		b.Run("name="+c.name, func(b *testing.B) {
			n := normalize.New(nil)
			b.ReportAllocs()
			for b.Loop() {
				n.Function(c.f)
			}
		})
	}
}

func Example() {
	n := normalize.New(nil)
	for _, raw := range []string{"shop/Cart$$Lambda$14/0x00007f101105f708.apply", "shop/Cart.total(I)J", "encoding/json.Marshal"} {
		fmt.Println(n.Function(profile.Function{Name: raw}).Name)
	}
	fmt.Println(normalize.ThreadName("[pool-2-thread-17 tid=4711]"))
	// Output:
	// shop.Cart$$Lambda.apply
	// shop.Cart.total
	// encoding/json.Marshal
	// pool-*-thread-*
}
